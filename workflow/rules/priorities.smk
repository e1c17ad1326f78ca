# Which of the jobs that are ready starts first, where each job of a sample takes a small part of the cores
# (profiles/throughput). Included last, for it goes through all rules.
#
# While samples wait, depth first: each core finishes its sample before another is begun, so that files of few samples
# are on the disk at once. The last samples, two for each core, go side by side instead, the earlier step first: the sample with
# most still to do is served first, so that no sample is left over for one core while the others idle. Samples with many
# reads go before small ones, which fill the gaps at the end. What all samples wait for goes before everything.
# Where a job takes much of the machine, Snakemake goes on as ever: depth first would leave most of it idle beside a job of
# one core.
in_order = [rule for rule in workflow.rules if rule in workflow.modifier.rules]


def largest_lane():
    """The wildcards of the job that maps most."""
    lanes = [(sample, unit) for sample in samples for unit in units[sample]]
    sample, unit = max(lanes, key=lambda lane: gigabases(*lane))
    return dict(sample=sample, unit=unit)


def jobs_at_once():
    """How many jobs run side by side: a cluster's, or one a core; 0 where a sample's jobs take much of the machine."""
    machine = workflow.resource_settings
    of_samples = [rule for rule in in_order if {"sample", "callset"} & rule.wildcard_names]
    if machine.nodes or not machine.cores:
        return machine.nodes or 0
    most, lane = widest_in_order(machine.cores), largest_lane()
    return machine.cores if all(resource_of(rule, "_cores", lane) <= most for rule in of_samples) else 0


@functools.cache
def positions():
    """Each sample's position in the order, by the bases of its reads."""
    return {sample: position for position, sample in enumerate(sorted(samples, key=gigabases, reverse=True))}


def priority_of(number, together):
    """The priority of the jobs of rule `number`, where the last samples, `together` of them, go side by side."""

    def priority(wildcards):
        position = positions().get(wildcards.get("sample", wildcards.get("callset")))
        if in_order[number].name in postponed:
            return 0
        if position is None:
            return len(samples) ** 2 * len(in_order)
        after = max(len(samples) - position - together, 0)
        return (after * len(in_order) + len(in_order) - number) * len(samples) - position

    return priority


if workflow.is_main_process and PLANS and (at_once := jobs_at_once()):
    for number, each in enumerate(in_order):
        each.priority = priority_of(number, 2 * at_once)
