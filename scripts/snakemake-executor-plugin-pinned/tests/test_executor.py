"""A workflow that knows nothing of the executor, run with it: what each kind of job gets, and what its record says."""

import os
import re
from pathlib import Path

import pytest
from folders import Folder
from snakemake_executor_plugin_pinned import run_folder

SEEN = "grep Cpus_allowed_list /proc/self/status"
KINDS = f"""
rule all:
    input: expand("{{name}}.txt", name=["a", "b", "script", "run", "shadow", "retry", "sum", "wrapper"])

rule plain:
    output: "{{x}}.txt"
    wildcard_constraints: x="[ab]"
    log: "logs/{{x}}.log"
    shell: "({SEEN}; sleep 0.3) > {{output}} 2> {{log}}"

rule in_script:
    output: "script.txt"
    threads: 2
    script: "here.py"

rule in_run:
    output: "run.txt"
    run:
        shell("{SEEN} > {{output}}")

rule in_shadow:
    output: "shadow.txt"
    shadow: "minimal"
    shell: "{SEEN} > {{output}}"

rule in_wrapper:
    output: "wrapper.txt"
    wrapper: "file:wrapped"

rule tried_again:
    output: "retry.txt"
    retries: 1
    resources: mem_mb=lambda wildcards, attempt: 100 * attempt
    shell: "[ {{resources.mem_mb}} = 200 ] || {{{{ echo 'error: too little' >&2; exit 3; }}}}; {SEEN} > {{output}}"

rule writer:
    output: pipe("numbers")
    shell: "{SEEN} > {{output}}; sleep 0.2"

rule reader:
    input: "numbers"
    output: "sum.txt"
    shell: "cat {{input}} > {{output}}; {SEEN} >> {{output}}"
"""
SCRIPT = """
import os
import re
from snakemake.shell import shell
print(sorted(os.sched_getaffinity(0)), file=open(snakemake.output[0], "w"))
shell("true")
"""


@pytest.fixture
def here(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.e2e
def test_each_kind_of_job_has_cpus_of_its_own_and_a_record(here: Folder) -> None:
    (here.folder / "here.py").write_text(SCRIPT)
    (here.folder / "wrapped").mkdir()
    (here.folder / "wrapped" / "wrapper.py").write_text(SCRIPT)
    (here.folder / "wrapped" / "environment.yaml").write_text("channels: [conda-forge]\n")
    done = here.run(KINDS)
    assert done.returncode == 0, done.stderr
    records = {(each["rule"], each["attempt"], *each["wildcards"].values()): each for each in here.records()}
    plain = ("plain", 1, "a"), ("plain", 1, "b")
    alone = [(name, 1) for name in ("in_script", "in_run", "in_shadow", "in_wrapper", "writer", "reader")]
    assert records.keys() == {*plain, *alone, ("tried_again", 1), ("tried_again", 2)}
    assert all(each["cpus"] and each["binding_ok"] for each in records.values())
    assert len(records["in_script", 1]["cpus"].replace("-", ",").split(",")) == min(2, len(os.sched_getaffinity(0)))
    first = records["tried_again", 1]
    assert (first["cause"], first["message"], first["mem_mb"]) == ("tool_error", "error: too little", 100)
    assert "error: too little" in done.stderr  # who looks at the terminal sees it, too
    writer, reader = records["writer", 1], records["reader", 1]
    assert writer["gang"] == reader["gang"] is not None and writer["cpus"] == reader["cpus"]
    checked = here.ledger("check")
    assert checked.returncode == 0, checked.stdout
    assert here.ledger("summary").stdout.splitlines()[0].split()[:3] == ["rule", "attempts", "failed"]
    assert not list((here.folder / ".snakemake" / "pinned").glob(f"*/{run_folder.NOTE}")), "the run's folder is gone"


@pytest.mark.e2e
def test_a_blank_in_the_folders_name_and_outputs_of_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    here = Folder(tmp_path / "a b")
    lost = 'rule all:\n    output: "x.bam"\n    shell: "echo cut > {output}"\n'
    done = here.run(lost, "--pinned-checks", "1")
    assert done.returncode == 1
    assert "all: broken_output: x.bam is cut off" in done.stderr
    assert here.records()[0]["cause"] == "broken_output"
    assert here.run(lost).returncode == 0  # the exit code is enough, unless checks are asked for


@pytest.mark.e2e
def test_a_setting_that_is_none_is_one_line(here: Folder) -> None:
    done = here.run('rule all:\n    output: "x"\n    shell: "touch x"\n', "--pinned-binding", "close")
    assert done.returncode == 1
    assert "pinned: binding: 'close' is not one of " in done.stderr and "Traceback" not in done.stderr


@pytest.mark.e2e
def test_what_snakemake_keeps_private_is_as_the_executor_takes_it() -> None:
    """A new Snakemake that changes it fails here, by name, and not in a run."""
    import inspect

    from snakemake.executors.local import Executor
    from snakemake.jobs import Job
    from snakemake.script import PythonScript
    from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

    methods = ["run_single_job", "run_group_job", "spawn_job", "cached_or_run", "shutdown", "format_job_exec"]
    assert [name for name in methods if not hasattr(Executor, name)] == []
    assert "shell_exec" in inspect.getsource(PythonScript.generate_preamble)
    assert hasattr(Job, "add_aux_resource") and hasattr(ExecutorPluginRegistry, "_instance")


@pytest.mark.e2e
def test_it_stands_in_for_the_executor_of_a_clusters_node(here: Folder) -> None:
    here.environment |= {"SNAKEMAKE_PINNED_EVERYWHERE": "1", "SNAKEMAKE_PINNED_LEDGER": "ledger.jsonl"}
    done = here.run('rule all:\n    output: "x"\n    shell: "touch x"\n', executor="local")
    assert done.returncode == 0, done.stderr
    assert [each["binding_ok"] for each in here.records()] == [True]


PARTS = r"""
import json
names = [f"{number}/3" for number in (1, 2, 3)]
tool = ["sh", "-c", 'grep Cpus_allowed_list /proc/self/status > "$1"; sleep 0.5; [ ! -e fails ] || exit 3', "sh"]
parts = [dict(name=name, commands=[[*tool, name[0]]], output=name[0], log=f"logs/{name[0]}.log") for name in names]
print(json.dumps({"parts": parts, "log": "logs/all.log"}))
"""
IN_PARTS = """
rule all:
    output: "all.txt"
    log: "logs/all.log"
    resources: mem_mb=100
    shell: 'python parts.py > parts.json; eval "$PINNED_LAUNCH spare" > spare; '
        'eval "$PINNED_LAUNCH parts parts.json"; cat 1 2 3 > {output}'
"""


@pytest.mark.e2e
@pytest.mark.parametrize("checks", ["0", "1"])
def test_a_rule_runs_commands_as_parts_of_its_job(here: Folder, checks: str) -> None:
    """With the library of failed writes, which no launcher of a part may be loaded with, and without."""
    (here.folder / "parts.py").write_text(PARTS)
    done = here.run(IN_PARTS, "--pinned-checks", checks)
    assert done.returncode == 0, done.stderr
    *parts, job = here.records()
    assert sorted(each["shard"] for each in parts) == ["1/3", "2/3", "3/3"] and job["shard"] == "gather"
    cpus = min(2, len(os.sched_getaffinity(0)))
    assert (here.folder / "spare").read_text() == f"{cpus}\n"
    assert len({each["cpus"] for each in parts}) == cpus and job["cpus"] in {each["cpus"] for each in parts}
    assert all(each["binding_ok"] for each in here.records())
    checked = here.ledger("check")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.e2e
@pytest.mark.parametrize(("options", "spare"), [(["--resources", "mem_mb=150"], 1), (["--pinned-binding", "none"], 0)])
def test_parts_keep_to_the_runs_memory_and_what_is_not_allocated_nobody_knows(
    here: Folder, options: list[str], spare: int
) -> None:
    (here.folder / "parts.py").write_text(PARTS)
    done = here.run(IN_PARTS, *options)
    assert done.returncode == 0, done.stderr
    assert (here.folder / "spare").read_text() == f"{spare}\n"
    assert len({each["cpus"] for each in here.records()}) == 1


@pytest.mark.e2e
def test_a_part_that_fails_fails_its_job(here: Folder) -> None:
    (here.folder / "parts.py").write_text(PARTS)
    (here.folder / "fails").touch()
    done = here.run(IN_PARTS)
    assert done.returncode == 1
    named = r"part ([12])/3 failed with exit code 3: see logs/\1.log"  # which of those that began at once ends first
    assert re.search(named, (here.folder / "logs/all.log").read_text())
    job = here.records()[-1]
    assert job["cause"] == "tool_error" and re.match("part [12]/3: ", job["message"])
    assert "3/3" not in {each["shard"] for each in here.records()}, "no further one was started"
