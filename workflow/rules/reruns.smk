# Results of finished samples are made again only if the user says so: `gpd run` asks for a look at that
# (GPD_AGAIN=refuse) before the first job starts. Snakemake has planned by then, so that the look costs nothing.
import collections

MOST_REASONS = 3  # that are named
MISSING = "output files have to be generated"  # as Snakemake says it
PARAMETERS = "params have changed since last execution"
OF_PARAMETERS = {
    OTHER_FILES: "another file stands where an input stood",
    OTHER_SCRIPTS: "a script of the workflow has changed",
}
GENOMES = {
    "reference": "reference.fasta",
    "annotation": "annotation",
}  # rules of what all samples share, and their keys
FOLLOWS = {"set of input files has changed since last execution", "updated input files"}  # where samples join and leave


def owner_of(job):
    """The sample whose own job it is; none of what is made of several."""
    name = job.wildcards.get("sample", job.wildcards.get("callset"))
    return name if name in units else None


@functools.cache
def kept_results():
    return {place(path) for path in expanded(results)}


def joins(job):
    """Whether it makes for the first time what a sample gives to its cohort."""
    return owner_of(job) and workflow.dag.reason(job).missing_output


def words(reason):
    """Snakemake's words for why a job is planned, but those for what others make of it; ours for parameters of ours."""
    found = set(reason.get_names()) - {"input files updated by another job"}
    if changed := reason.params_changed:
        found -= {PARAMETERS}
        for value in changed.only_old | changed.only_new:  # as Python writes them: a text begins with a quote
            found.add(next((text for begin, text in OF_PARAMETERS.items() if value.startswith(begin, 1)), PARAMETERS))
    return found


@functools.cache
def causes(job):
    """Why a job is planned: its own reasons and those of the planned jobs before it, as (rule, Snakemake's word for it).

    A result that was cut off, forced or never made is no cause, nor is one that was broken and set aside. Which samples
    a cohort has is no cause for what is made of a cohort.
    """
    reason, before = workflow.dag.reason(job), workflow.dag.dependencies[job]
    reasons = set() if reason.forced else words(reason)
    if not any(path in kept_results() and not os.path.exists(f"{path}.broken") for path in reason.missing_output):
        reasons.discard(MISSING)
    if not owner_of(job) and any(map(owner_of, before)):
        before = [one for one in before if not joins(one)]
        reasons -= FOLLOWS
    return {(job.rule.name, name) for name in reasons}.union(
        *(causes(one) for one in before if workflow.dag.needrun(one))
    )


def asks(job):
    """Why a job is planned of itself, and not for what others make of it."""
    reason = workflow.dag.reason(job)
    found = words(reason)
    if not {*map(str, reason.missing_output)} - {*map(str, job.temp_output)}:
        found.discard(MISSING)
    return found


def made_again():
    """The causes for which results that samples have would be made again, by sample.

    Of a sample that has all of them, and lacks what is made of its alignment besides, it is these: a CRAM file does not stand
    for the BAM file that they need.
    """
    found, planned, lacking = collections.defaultdict(set), collections.defaultdict(list), set()
    for job in workflow.dag.needrun_jobs():
        if not (sample := owner_of(job)):
            continue
        planned[sample].append(job)
        kept = [path for path in job.output if path in kept_results()]
        if any(map(os.path.exists, kept)):
            found[sample] |= causes(job)
        reason = workflow.dag.reason(job)
        if not all(map(os.path.exists, kept)) or reason.forced or reason.incomplete_output:  # it goes on
            lacking.add(sample)
    for sample in found.keys() - lacking:
        found[sample] = found[sample] or {(job.rule.name, word) for job in planned[sample] for word in asks(job)}
    return {sample: found[sample] for sample in samples if found[sample]}


def refuse_again():
    """End where samples have results that would be made again, in a line that names them, and why."""
    if not (found := made_again()):
        return
    counts = collections.Counter(cause for of_sample in found.values() for cause in sorted(of_sample))
    why = [f"{rule} ({name})" for (rule, name), _ in counts.most_common()]
    causes = ", ".join(why[:MOST_REASONS]) + ", ..." * (len(why) > MOST_REASONS)
    sys.exit(
        f"would be made again: results that {len(found)} of {len(samples)} samples have ({all_inputs.named([*found])}), "
        f"because of {causes}"
    )


def has_other_input(job):
    """Whether a job would make outputs that are there of another file; where one is newer, Snakemake looks no further."""
    if not words(workflow.dag.reason(job)) & {*FOLLOWS, OF_PARAMETERS[OTHER_FILES]}:
        return False
    return any(workflow.persistence.input_changed(job)) or bool(seen_files.others(map(str, job.input)))


def refuse_other_genome():
    """End where genome or annotation would become others beside results that stay: those of samples of another table."""
    shared = {workflow.modifier.modify_rulename(name): key for name, key in GENOMES.items()}
    changed = [
        shared[job.rule.name] for job in workflow.dag.needrun_jobs() if job.rule.name in shared and has_other_input(job)
    ]
    if changed and (others := all_inputs.strangers(cohort, place)):
        sys.exit(
            f"config: {changed[0]}: another one than that of results which {all_inputs.named(others)} have here, and which "
            "the tables do not name: run in another folder (--directory), or remove those results"
        )
