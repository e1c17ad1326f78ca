# What goes through all jobs: which files of the user changed since they were first seen, and how nodes of a cluster bind them
# to CPUs. Included last, for it goes through all rules; those of a workflow that uses this one as a module are not among them.

for each in workflow.modifier.rules:
    each.set_params(**other_files(each))

# no profile reaches the Snakemake that runs a job on its node: it has the environment of the one that submits
if workflow.resource_settings.nodes:
    for name, value in dict(EVERYWHERE=1, CHECKS=1, RETRIES="useful").items():
        os.environ.setdefault(f"SNAKEMAKE_PINNED_{name}", str(value))
