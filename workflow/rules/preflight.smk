# What is looked at once Snakemake has planned, before the first job: neither while the workflow is read nor in a dry run. A
# module's user calls it from an onstart of his own, for Snakemake runs none of a module. Included last, after what it calls.
disk, preflight = load(source("resources/disk.py")), load(source("checks/preflight.py"))
ours = workflow.modifier.rules
makes_alignments = set(map(workflow.modifier.modify_rulename, all_inputs.FOLDERS[config["pipeline"]]))


def before_first_job():
    """End where results would be lost or the machine can't run this, with a line for each fault; warn of what may fail."""
    if not workflow.is_main_process:
        return
    if not workflow.touch:
        look_at_plan_and_machine()
    seen_files.write()


def look_at_plan_and_machine():
    planned = [job for job in workflow.dag.needrun_jobs() if job.rule in ours]
    refuse_other_genome()
    if os.environ.get("GPD_AGAIN") == "refuse":
        refuse_again()
    if os.environ.get("GPD_PREFLIGHT") == "none":
        return
    jobs = largest(planned)
    if workflow.local_exec and (line := given(jobs)):
        logger.info(line)
    written = [place("results/"), place("logs/"), *([tempfile.gettempdir()] if workflow.local_exec else [])]
    found = [*preflight.folders(written), *of_disks(planned)]
    if workflow.local_exec:
        found += of_process(jobs, planned)
    for finding in found:
        if not finding.is_error:
            logger.warning(f"warning: {finding.line}")
    starts = (line for check in start_checks for line in check())
    if errors := [*missing_tools(planned), *starts, *(finding.line for finding in found if finding.is_error)]:
        sys.exit("\n".join(errors))


def largest(planned):
    """Of each rule, what the job that reads most asks for."""
    jobs = {job.rule.name: job for job in sorted(planned, key=lambda job: gigabases_of(job.wildcards))}
    return [preflight.Job(name, job.threads, job.resources.get("mem_mb", 0)) for name, job in jobs.items()]


def given(jobs):
    """Threads and memory that the steps' jobs get on this machine, in a line; nothing where no step has any."""
    rules = {rule.name: rule for rule in ours}
    of_samples = [job for job in jobs if {"sample", "callset"} & rules[job.rule].wildcard_names]
    steps = [job for job in of_samples if "pinned_step" not in rules[job.rule].resources]
    named = "; ".join(f"{job.rule} {job.threads}, {job.mem_mb}" for job in steps)
    return f"given here (threads, MB): {named}" if steps else ""


def of_process(jobs, planned):
    """What this process may use, against what jobs ask for."""
    granted, limit = limits(), workflow.global_resources.get("mem_mb")
    index_mb = index_bytes() / 1e6 if any(map(maps, planned)) else 0
    yield from preflight.memory(jobs, granted["memory_mib"] * 1.048576, limit and limit.value, workflow.cores, index_mb)
    yield from preflight.cpus(workflow.cores, granted["cpus"])


def of_disks(planned):
    """What is free, against what samples whose alignments are to be made take beside what they have."""
    begun = {owner_of(job) for job in planned if job.rule.name in makes_alignments}
    needs = [disk.of_sample(units[sample].values(), config) for sample in samples if sample in begun]
    made = os.path.exists(place(reference["fai"]))
    left = sum(need.kept for need in needs) + (0 if made else disk.shared(config, genome_bytes(), needs, mapper.disk))
    left -= preflight.held(path for job in workflow.dag.jobs if owner_of(job) in begun for path in job.output)
    results, temporary = place("results/"), tempfile.gettempdir() if workflow.local_exec else ""
    at_once = (workflow.cores if workflow.local_exec else workflow.resource_settings.nodes) or 1
    together = temporary and preflight.share_disk(results, temporary)
    more = [(need.both if together else need.results) - need.kept for need in needs]
    yield from preflight.disk(results, preflight.free(results), max(0, left), more, at_once, disk.WITHIN)
    if temporary and not together:
        more = [need.temporary for need in needs]
        yield from preflight.disk(temporary, preflight.free(temporary), 0, more, at_once, disk.WITHIN)
    if temporary and preflight.in_memory(temporary):
        most = max((need.temporary for need in needs), default=0)
        yield from preflight.files_in_memory(temporary, most, limits()["memory_mib"] * 1.048576)


def maps(job):
    return config["pipeline"] == "germline" and job.rule.name == renamed["map_and_sort"]


def missing_tools(planned):
    """A line for each tool that a planned job calls here and that is missing, broken or too old; conda brings most of them."""
    if not workflow.local_exec:
        return []
    tools = load(source("checks/tools.py"))
    texts = [called_by(rule) for rule in {job.rule for job in planned}]
    table = tools.read_table(workflow.source_path("../tools.tsv"))
    rows = [row for row in table if config["pipeline"] in row["needed_by"]]
    if workflow.deployment_settings.deployment_method:
        rows = [row for row in rows if row["conda"] == "-"]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "snakemake")  # Snakemake's own
    return tools.errors(tools.called(rows, texts), cache / "gpd-tools.json")


def called_by(rule):
    """The text of a rule's command, with the mapper's name, and with the Python that GATK starts for isolation forests."""
    text = (rule.shellcmd or "").replace("{params.bwa}", config["mapper"])
    forests = any(walker in text for walker in ("TrainVariantAnnotationsModel", "ScoreVariantAnnotations"))
    return f"{text}\nvets-python -c" if forests else text


onstart:
    before_first_job()
