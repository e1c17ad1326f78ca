# What every job has unless its rule or a profile says otherwise: how it is bound to CPUs by the executor `pinned`, and which
# files of the user changed since they were first seen. Included last, for it goes through all rules; those of a workflow
# that uses this one as a module are not among them.
bound_as = {
    "pinned_binding" if name == "policy" else f"pinned_{name}": int(value) if isinstance(value, bool) else value
    for name, value in given_binding.items()
}

for each in workflow.modifier.rules:
    for name, value in bound_as.items():
        each.resources.setdefault(name, value)
    each.set_params(**other_files(each))
    for item in [*each.input, *each.params]:
        if callable(function := getattr(item, "callable", item)):
            noted(function)

# no profile reaches the Snakemake that runs a job on its node: it has the environment of the one that submits
if workflow.resource_settings.nodes:
    for name, value in dict(EVERYWHERE=1, CHECKS=1, RETRIES="useful").items():
        os.environ.setdefault(f"SNAKEMAKE_PINNED_{name}", str(value))
