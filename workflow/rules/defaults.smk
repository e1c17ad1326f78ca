# What every job has unless its rule or a profile says otherwise: which attempt it is, and how it is bound to CPUs.
# Included last, for it goes through all rules.

for each in workflow.rules:
    each.resources.setdefault("attempt", lambda wildcards, attempt: attempt)
    each.resources.setdefault("binding", config["binding"]["policy"])
