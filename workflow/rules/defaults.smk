# What every job has unless its rule or a profile says otherwise: which attempt it is, how it is bound to CPUs, where its
# command finds our scripts, which scripts and files of the user changed since they were first seen, and its log:
# logs/STEP/SAMPLE.log where its first output is results/STEP/SAMPLE.bam. Included last, for it goes through all rules;
# those of a workflow that uses this one as a module are not among them.
from snakemake.io import strip_wildcard_constraints

for each in workflow.modifier.rules:
    if each.wildcard_names and not each.log:
        step, _, name = strip_wildcard_constraints(each.output[0]).rpartition("results/")[2].partition("/")
        each.log_modifier = each.output_modifier
        each.set_log(f"logs/{step}/{name[name.index('{') : name.rindex('}') + 1]}.log")
    each.resources.setdefault("attempt", noted(lambda wildcards, attempt: attempt))
    each.resources.setdefault("binding", config["binding"]["policy"])
    each.set_params(exports=exports, python=python, **other_files(each), **other_scripts(each))
    for item in [*each.input, *each.params]:
        if callable(function := getattr(item, "callable", item)):
            noted(function)
