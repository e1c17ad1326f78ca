# What every job has unless its rule or a profile says otherwise: which attempt it is, how it is bound to CPUs, where its
# command finds our scripts, and which scripts and files of the user changed since they were first seen. Included last, for
# it goes through all rules; those of a workflow that uses this one as a module are not among them.

for each in workflow.modifier.rules:
    each.resources.setdefault("attempt", noted(lambda wildcards, attempt: attempt))
    each.resources.setdefault("binding", config["binding"]["policy"])
    each.set_params(exports=exports, python=python, **other_files(each), **other_scripts(each))
    for item in [*each.input, *each.params]:
        if callable(function := getattr(item, "callable", item)):
            noted(function)
