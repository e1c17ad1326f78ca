# What of the machine lets a run fail, said before its first job, and how much disk samples will take, noted for who admits
# them (scripts/snakemake_scheduler_plugin_admission). Included last, for it asks rules what they ask for.
disk = load(source("resources/disk.py"))
SORTS = workflow.modifier.modify_rulename("map_and_sort" if config["pipeline"] == "germline" else "align")


def look_ahead():
    """Say what is wrong with the machine, errors apart from warnings; end where there are errors."""
    here = not workflow.resource_settings.nodes
    jobs = {rule.name: job_of(rule) for rule in workflow.modifier.rules if "mem_mb" in rule.resources}
    temporary = tempfile.gettempdir()
    memory = here and preflight.in_memory(temporary)
    reads = disk.measure(units[sample].values() for sample in samples)
    sort_mb = jobs[SORTS].mem_mb
    genome = genome_bytes()
    needs = {sample: disk.predict(of_units, config, sort_mb, genome) for sample, of_units in zip(samples, reads)}
    if memory:
        jobs = {name: with_files(job, needs.values()) for name, job in jobs.items()}
    found = list(preflight.clock(time.time(), read_files(), source("checks/preflight.py").stat().st_mtime))
    if here:
        found += preflight.temporary(temporary, os.environ.get("TMPDIR"))
    if memory:
        most = max(need.temporary for need in needs.values())
        found += preflight.files_in_memory(temporary, most, limits()["memory_mib"] * 1.048576)
    if here:
        found += of_process([job for name, job in jobs.items() if name not in unused()], reads, sort_mb)
    if PREFLIGHT != "machine":
        found += of_disks(needs.values(), temporary if here else "")
    for finding in found:
        if not finding.is_error:
            logger.warning(f"warning: {finding.line}")
    if errors := [finding.line for finding in found if finding.is_error]:
        sys.exit("\n".join(errors))
    if here:
        logger.info(given(jobs))
    if here:
        disk.write(Path(".snakemake/gpd/disk.json"), needs, place("results/"), temporary, memory)


def given(jobs):
    """Threads and memory that jobs of samples get on this machine, the largest of each rule, in a line."""
    of_samples = [each for each in workflow.rules if {"sample", "callset"} & each.wildcard_names]
    steps = [each.name for each in of_samples if "pinned_step" not in each.resources and each.name not in unused()]
    named = [jobs[name] for name in steps if name in jobs]
    return "given here (threads, MB): " + "; ".join(f"{job.rule} {job.threads}, {job.mem_mb}" for job in named)


def job_of(rule):
    """What a job of the rule asks for, with the most reads that one has, whatever Snakemake was told that there is."""
    wildcards = largest(rule)
    threads = rule.expand_resources(wildcards, InputFiles(), 1)["_cores"]
    mem_mb = rule.resources["mem_mb"].evaluate(
        wildcards, input=InputFiles(), threads=threads, attempt=1, rulename=rule.name, async_run=workflow.async_run
    )
    return preflight.Job(rule.name, threads, mem_mb.value)


def with_files(job, needs):
    """The job with what it writes to temporary files, which are in memory here."""
    most = max((need.rules[job.rule].temporary for need in needs if job.rule in need.rules), default=0)
    return preflight.Job(job.rule, job.threads, job.mem_mb, most / 1e6)


def of_process(jobs, reads, sort_mb):
    """What this process may use, against what jobs ask for."""
    granted, given = limits(), workflow.global_resources.get("mem_mb")
    maps = config["pipeline"] == "germline" and SORTS in (job.rule for job in jobs)
    yield from preflight.memory(
        jobs,
        there_mb=granted["memory_mib"] * 1.048576,
        limited=granted["memory_limit_mib"] is not None,
        given_mb=given and given.value,
        cores=workflow.cores or 1,
        index_mb=index_bytes() / 1e6 if maps else 0,
    )
    yield from preflight.cpus(workflow.cores or 1, granted["cpus"])
    yield from preflight.open_files(granted["open_files"], disk.most_files(reads, config, sort_mb))
    yield from preflight.tasks(granted["tasks_left"], workflow.cores or 1)


def of_disks(needs, temporary):
    """What is free, against what all samples take; `temporary` is empty where jobs have another machine's."""
    results = place("results/")
    made = os.path.exists(place(reference["fai"]))
    left = sum(need.kept for need in needs) + (0 if made else disk.shared(config, genome_bytes(), needs, mapper.disk))
    if temporary and preflight.share_disk(results, temporary):
        wanted = [preflight.Wanted(results, left, max(need.peak - need.kept for need in needs))]
    else:
        wanted = [preflight.Wanted(results, left, max(need.results - need.kept for need in needs))]
        wanted += [preflight.Wanted(temporary, 0, max(need.temporary for need in needs))] if temporary else []
    return preflight.disk(wanted, len(needs), preflight.free, preflight.taken)


def require_tools():
    """End where a tool that a planned job calls is missing, broken or too old; not where jobs bring theirs or run elsewhere."""
    brought = workflow.deployment_settings.deployment_method
    if PREFLIGHT == "none" or brought or not workflow.local_exec:
        return
    tools = load(source("checks/tools.py"))
    rules = {job.rule for job in workflow.dag.needrun_jobs()}
    texts = [(rule.shellcmd or "").replace("{params.bwa}", config["mapper"]) for rule in rules]
    table = tools.read_table(workflow.source_path("../tools.tsv"))
    rows = [row for row in table if config["pipeline"] in row["needed_by"]]
    if errors := tools.errors(tools.called(rows, texts)):
        sys.exit("\n".join(errors))


if workflow.is_main_process and PLANS and PREFLIGHT != "none":
    look_ahead()
