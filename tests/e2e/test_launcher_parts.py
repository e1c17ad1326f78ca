"""Scattered steps: how many shards, on which CPUs, what is left of a failure, and what the next attempt does."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from shlex import join
from types import SimpleNamespace

import pytest
from conftest import ROOT
from launcher.free_cpus import WATCH_S, SpareCpus
from launcher.limits import limits
from launcher.processes import descendants
from launcher.system import read_text
from launcher.topology import parse_cpus
from launching import wait_until

pytestmark = pytest.mark.e2e

SCATTER = ROOT / "workflow" / "scripts" / "scatter.py"
PYTHON = [sys.executable, "-S", "-E"]
LARGEST = 2048
USABLE = limits()["cpus"]
needs_two_cpus = pytest.mark.skipif(USABLE < 2, reason="one CPU only: none is ever spare")
N_FREE = "".join(f"chr{number}\t0\t1000\t{number}\t1000\n" for number in range(1, 9))
SHARD = 'cut -f 1 "${regions[1]}" > "$shard"; echo "shard $number" >&2'
EVERY = "".join(f"chr{number}\n" for number in range(1, 9))


def command(text):
    """A tool's words: bash that finds the file to write, and the regions, in variables."""
    first = 'shard=$1 number=${1##*/}; number=${number%%.*}; shift; regions=("$@")\n'
    return ["bash", "-c", f"set -eu; {first}{text}", "tool", "@shard", "@regions"]


class Step:
    """A step over eight contigs, in a folder of its own: its shards list their contigs, which gathering joins."""

    def __init__(self, node):
        self.node = node
        self.log = node.folder / "logs" / "a.log"
        (node.folder / "n_free.bed").write_text(N_FREE)
        with (node.folder / "input").open("wb") as file:
            file.truncate(8 * 2**20)

    def words(self, shards, text=SHARD, options=(), suffix=".txt", gather="lines"):
        words = ["--over", "input", "--intervals", "n_free.bed", "--suffix", suffix, "--out", f"out{suffix}"]
        words += ["--gather", gather, "--shards", str(shards), "--shard-mib", "1", "--log", "logs/a.log", *options]
        return [*PYTHON, str(SCATTER), *words, "--", *command(text)]

    def start(self, shards, text=SHARD, options=(), job=(), first="", then="echo finished >> out.txt", **kind):
        files = ["--outputs", f"out{kind.get('suffix', '.txt')}", "--inputs", "input"]
        told = f"{first}\n{join(self.words(shards, text, options, **kind))}\n{then}"
        return self.node.start(told, *job, *files)

    def run(self, *arguments, **settings):
        """Run it to its end; return its exit code, what it said, and the shards of its records."""
        before = len(self.node.records())
        process = self.start(*arguments, **settings)
        _, output = process.communicate(timeout=60)
        return process.returncode, output.decode(), [record["shard"] for record in self.node.records()[before:]]

    def record(self, shard):
        (found,) = [record for record in self.node.records() if record["shard"] == shard]
        return found

    @property
    def result(self):
        return (self.node.folder / "out.txt").read_text()

    @property
    def shards(self) -> Path:
        return self.node.folder / "out.txt.shards"


@pytest.fixture
def step(node):
    return Step(node)


# ---- whole --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", ["auto", "4"])
def test_without_the_launcher_a_step_is_run_whole(step, shards):
    """Under any executor; by exec, so that nothing stands between the tool and who waits for it."""
    text = 'echo "${regions[@]}" $number $PPID > "$shard"'
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("GPD_", "PINNED_"))}
    words = step.words(shards, text, options=["--regions", "my 'regions'.bed"])
    subprocess.run(words, cwd=step.node.folder, env=plain, check=True, timeout=60)
    assert step.result == f"-L my 'regions'.bed out {os.getpid()}\n"
    assert not step.shards.exists()


def test_a_step_is_run_whole_like_any_job(step):
    whole = 'echo "${regions[@]}" $number > "$shard"'
    assert step.run("none", whole, options=["--regions", "my 'regions'.bed"]) == (0, "", [None])
    assert step.result == "-L my 'regions'.bed out\nfinished\n"
    assert step.run("none", whole, options=["--regions="])[0] == 0
    assert step.result == "out\nfinished\n"
    assert not step.shards.exists()


def threads_seen(step, *options, environment=()):
    words = [*step.words("none", options=options)[:-6], "bash", "-c", 'echo "$1" > out.txt', "tool", "@threads"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GPD_")}
    subprocess.run(words, cwd=step.node.folder, env=plain | dict(environment), check=True, timeout=60)
    return step.result


def test_the_whole_has_the_threads_that_were_granted_or_else_asked_for(step):
    assert threads_seen(step) == "1\n"
    assert threads_seen(step, "--threads", "3") == "3\n"
    assert threads_seen(step, "--threads", "3", environment={"GPD_THREADS": "2"}) == "2\n"


def test_a_command_that_is_not_there_is_one_line(step):
    code, _, _ = step.run("none", then="", text="no-such-tool")
    assert code == 127
    words = [*step.words("none")[:-6], "no-such-tool"]
    done = subprocess.run(words, cwd=step.node.folder, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (127, "scatter.py: no-such-tool: command not found\n")


# ---- in shards ----------------------------------------------------------------------------------------


def test_shards_are_jobs_of_their_own_and_are_gathered_in_the_order_of_the_genome(step):
    code, output, shards = step.run(3)
    assert (code, output, sorted(shards[:-1]), shards[-1]) == (0, "", ["1/3", "2/3", "3/3"], "gather")
    assert step.result == EVERY + "finished\n"
    assert not step.shards.exists()
    assert (step.log.with_name("a.shards") / "2.log").read_text() == "shard 2\n"
    for record in step.node.records():
        assert record["binding_ok"] in (True, None)
        assert (record["threads"], record["wildcards"], record["cause"]) == (1, {"sample": "a"}, None)
    assert not step.node.check()


def test_there_are_no_more_shards_than_n_free_intervals(step):
    code, _, shards = step.run(64)
    assert (code, len(shards), step.result) == (0, 9, EVERY + "finished\n")


@needs_two_cpus
def test_shards_run_on_the_jobs_own_cpu_and_on_spare_ones_each_on_its_own(step):
    cpus = min(8, USABLE)
    code, _, shards = step.run("auto", 'sleep 0.6; touch "$shard"; echo x > "$shard"')
    assert (code, len(shards)) == (0, cpus + 1)
    *made, gather = step.node.records()
    assert len({record["cpus"] for record in made}) == cpus, "side by side, each on a CPU of its own"
    on_own = [record for record in made if record["cpus"] == gather["cpus"]]
    assert [record["gang"] for record in on_own] == [gather["gang"]] == [gather["id"]]
    assert {record["gang"] for record in made if record not in on_own} == {None}
    assert all(record["binding_ok"] for record in [*made, gather])
    assert not step.node.check()


@needs_two_cpus
def test_a_job_of_more_cpus_runs_a_shard_on_each(step):
    at_once = 'touch "$shard.runs"; sleep 0.6; all=("${shard%/*}"/*.runs); echo ${#all[@]} > "$shard"; rm "$shard.runs"'
    code, _, _ = step.run(4, at_once, job=["--threads", "2"], then="")
    *made, gather = step.node.records()
    assert code == 0
    assert max(map(int, step.result.split())) >= 2
    own = [record for record in made if record["gang"]]
    assert {cpu for record in own for cpu in parse_cpus(record["cpus"])} == parse_cpus(gather["cpus"])
    assert not step.node.check()


@needs_two_cpus
def test_a_job_of_more_cpus_without_memory_for_more_shards_runs_one_at_a_time(step):
    at_once = 'touch "$shard.runs"; sleep 0.2; all=("${shard%/*}"/*.runs); echo ${#all[@]} > "$shard"; rm "$shard.runs"'
    step.node.environment["GPD_RUN_MEM_MB"] = "150"
    assert step.run(3, at_once, job=["--threads", "2"], then="")[0] == 0
    assert step.result == "1\n1\n1\n"


SPIN = f"{sys.executable} -S -E -c 'import time\nx = b\"x\" * 200_000_000\nwhile time.process_time() < 0.7: pass'"


def test_what_shards_used_is_theirs_and_not_the_jobs(step):
    """CPU seconds, memory and bytes, and what its CPU did is no contention."""
    (step.node.folder / "read").write_bytes(bytes(30 << 20))
    code, output, _ = step.run(2, f'cat read | wc -c > "$shard"; {SPIN.replace("0.7", "2.0")}')
    assert (code, output) == (0, "")
    for shard in ("1/2", "2/2"):
        record = step.record(shard)
        assert record["cpu_s"] > 0.6 and record["peak_rss_mib"] > 190 and record["read_calls_mib"] > 30
    gather = step.record("gather")
    assert gather["cpu_s"] < 0.6 and gather["peak_rss_mib"] < 150 and gather["read_calls_mib"] < 30
    assert gather["binding_ok"] is True
    assert gather["cpus_allowed"] == gather["cpus_seen"] == gather["cpus"]
    if gather["other_cpu_s"] is not None:  # the shards that ran on its CPU are no others
        there = [record for record in step.node.records()[:-1] if record["gang"]]
        assert gather["other_cpu_s"] < sum(record["other_cpu_s"] for record in there) + 1.5


def test_a_job_whose_shards_work_is_not_stalled_and_what_hangs_is(step):
    busy = f'{SPIN.replace("0.7", "2.5")}; echo x > "$shard"'
    assert step.run(2, busy, job=["--stall-s", "1.5"])[0] == 0
    step.shards.exists()
    assert step.run(2, "sleep 60", job=["--stall-s", "1"])[0] == 143
    assert "stalled" in {record["cause"] for record in step.node.records()}


def test_two_lists_of_parts_in_one_job_do_not_share_its_cpu(step):
    """Their shards would run on it at one time."""
    text = 'exec 9>> locks; [ $GPD_CPUS != "$(cat cpus)" ] || flock -n 9; sleep 0.3; echo x > "$shard"'
    both = [join(step.words(2, text, suffix=suffix)) for suffix in (".a", ".b")]
    code, output, _ = step.node.run(f'echo "$GPD_CPUS" > cpus; {both[0]} & {both[1]}; wait $!')
    assert code == 0, output
    assert len(step.node.records()) == 5
    assert not step.node.check()


def test_a_shard_has_a_temporary_folder_of_its_own(step):
    told = ["bash", "-c", 'echo "$1" "$TMPDIR" > "$2"', "tool", "$TMPDIR/x", "@shard"]
    words = join([*step.words(2)[:-6], *told]).replace("'$TMPDIR/x'", '"$TMPDIR/x"')
    code, output, _ = step.node.run(words, "--outputs", "out.txt")
    assert code == 0, output
    pairs = [line.split() for line in step.result.splitlines()]
    assert [given for given, _ in pairs] == [f"{own}/x" for _, own in pairs]
    assert len({own for _, own in pairs}) == 2
    assert not [own for _, own in pairs if Path(own).exists()]


@needs_two_cpus
def test_a_job_that_waits_at_another_runs_outputs_keeps_no_cpu(step):
    step.log.parent.mkdir()
    with (step.node.folder / "logs/other.log.owner").open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        waiting = step.node.start("true", name="other")
        wait_until(lambda: b"waits for another launcher" in waiting.stderr.readline())
        code, _, shards = step.run("auto", 'sleep 0.6; echo x > "$shard"')
        assert (code, len(shards)) == (0, min(8, USABLE) + 1)
        waiting.terminate()
        assert waiting.wait(timeout=20) == 143
        waiting.stderr.close()


@needs_two_cpus
@pytest.mark.parametrize(("kind", "scattered"), [("qc", True), ("step", False)])
def test_statistics_that_start_beside_a_step_do_not_keep_it_whole(step, kind, scattered):
    """Nothing waits for them, and where they run no other job was ready; a step's job beside it keeps its CPU."""
    held = 'touch "began$$"; until [ -e go ]; do sleep 0.05; done'
    others = [step.node.start(held, "--step", kind, name=f"other{number}") for number in range(USABLE - 1)]
    wait_until(lambda: len(list(step.node.folder.glob("began*"))) == USABLE - 1)
    code, _, shards = step.run("auto", 'touch go; sleep 0.3; echo x > "$shard"', options=["--shard-mib", "4"])
    assert (code, "2/2" in shards) == (0, scattered)
    assert all(other.wait(30) == 0 for other in others)


@needs_two_cpus
@pytest.mark.parametrize(
    ("environment", "options"),
    [({"GPD_RUN_CORES": "1"}, ()), ({"GPD_RUN_MEM_MB": "150"}, ()), ({}, ("--shard-mib", "5"))],
)
def test_a_run_takes_no_more_than_it_was_given_and_scatters_nothing_small(step, environment, options):
    step.node.environment |= environment
    assert step.run("auto", options=options)[2] == [None]


@needs_two_cpus
@pytest.mark.parametrize(("mem_mib", "count"), [(150, 1), (250, 2)])
def test_what_slurm_granted_is_room_for_shards_and_not_for_other_jobs_of_slurm(step, mem_mib, count):
    """Another Slurm job of the same user on this node has memory of its own."""
    slurm = {"SLURM_CPUS_ON_NODE": "2", "SLURM_MEM_PER_NODE": str(mem_mib), "SLURMD_NODENAME": "n1"}
    step.node.environment |= slurm | {"SLURM_JOB_ID": "2"}
    other = step.node.start("touch began; until [ -e go ]; do sleep 0.1; done", "--binding", "none", name="other")
    wait_until((step.node.folder / "began").exists)
    step.node.environment["SLURM_JOB_ID"] = "1"
    code, _, shards = step.run("auto", 'sleep 0.6; echo x > "$shard"')
    (step.node.folder / "go").touch()
    other.communicate(timeout=30)
    assert (code, len(shards)) == (0, 1 if count == 1 else count + 1)
    assert {path.name for path in step.node.folder.glob("ledger*")} == {"ledger.n1.jsonl"}


@needs_two_cpus
def test_where_slurm_binds_nothing_no_more_shards_run_than_it_granted_cpus(step):
    step.node.environment |= {"SLURM_CPUS_ON_NODE": "1", "SLURM_JOB_ID": "1"}
    assert step.run("auto")[2] == [None]


def test_a_step_that_another_run_is_at_is_waited_for(step):
    """Neither makes shards in the other's folder, nor gathers them twice."""
    slow = f"echo made >> count; until [ -e go ]; do sleep 0.05; done; {SHARD}"
    first = step.start(3, slow)
    wait_until((step.node.folder / "count").exists)
    step.node.environment = step.node.environment | {"GPD_RUNTIME_DIR": f"{step.node.folder}/another"}
    second = step.start(3, slow)
    assert f"PID {first.pid} on " in second.stderr.readline().decode()
    (step.node.folder / "go").touch()
    assert [process.communicate(timeout=60)[1] for process in (first, second)] == [b"", b""]
    assert (first.returncode, second.returncode) == (0, 0)
    assert step.result == EVERY + "finished\n"
    assert len((step.node.folder / "count").read_text().splitlines()) == 6
    assert [record["shard"] for record in step.node.records()][3::4] == ["gather"] * 2


@needs_two_cpus
def test_while_others_keep_the_cpus_busy_a_step_is_run_whole(step):
    wide = USABLE - 1
    other = step.node.start("sleep 3", name="other", threads=wide)
    wait_until(lambda: len(step.node.allocated()) == wide)
    code, _, shards = step.run("auto", 'echo whole > "$shard"')
    assert (code, shards) == (0, [None])
    other.communicate(timeout=30)


@needs_two_cpus
@pytest.mark.parametrize(("options", "shards"), [([], ["1/4", "2/4", "3/4", "4/4", "gather"]), (["--copied"], [None])])
def test_on_a_full_node_a_long_step_is_scattered_unless_its_shards_are_copied(step, options, shards):
    """Its shards run one after another there, until CPUs come free."""
    wide = USABLE - 1
    other = step.node.start("until [ -e go ]; do sleep 0.1; done", name="other", threads=wide)
    wait_until(lambda: len(step.node.allocated()) == wide)
    one = 'echo "$GPD_CPUS" >> seen; touch "$shard"; echo x > "$shard"'
    code, _, made = step.run("auto", one, options=["--shard-mib", str(8 / 3.5 / LARGEST), *options])
    (step.node.folder / "go").touch()
    other.communicate(timeout=30)
    assert (code, sorted(made, key=str)) == (0, shards)
    assert len(set((step.node.folder / "seen").read_text().split())) == 1


@needs_two_cpus
def test_shards_that_wait_take_the_cpus_of_a_job_that_ends(step):
    wide = USABLE - 1
    other = step.node.start("until [ -e go ]; do sleep 0.02; done", name="other", threads=wide)
    wait_until(lambda: len(step.node.allocated()) == wide)
    waits = step.start(8, 'echo x > "$shard"; until [ -e done ]; do sleep 0.05; done')
    wait_until(lambda: len(step.node.allocated()) == USABLE)
    time.sleep(1.5)
    (step.node.folder / "go").touch()
    other.communicate(timeout=30)
    began = time.monotonic()
    wait_until(lambda: len(step.node.allocated()) == USABLE, timeout_s=10)
    took = time.monotonic() - began
    (step.node.folder / "done").touch()
    assert waits.communicate(timeout=30)[1] == b""
    assert took < WATCH_S / 2, "it was told, and did not just look again"


def test_one_step_of_a_run_watches_at_a_time_and_none_of_another_run_is_kept_from_it(tmp_path):
    runtime, allowed = str(tmp_path), {0, 1}
    steps = [SpareCpus(runtime, SimpleNamespace(ledger=name, allowed=allowed), 0) for name in ("one", "one", "other")]
    assert [each.watch() for each in steps] == [True, False, True]
    steps[0].leave()
    assert steps[1].watch()
    assert not steps[0].watch()


@pytest.mark.parametrize("threads", [1, 3])
def test_without_allocations_as_many_shards_run_at_once_as_the_step_has_threads(step, threads):
    at_once = 'touch "$shard.runs"; sleep 0.5; all=("${shard%/*}"/*.runs); echo ${#all[@]} > "$shard"; rm "$shard.runs"'
    code, _, shards = step.run(6, at_once, then="", job=["--threads", str(threads), "--binding", "none"])
    assert (code, len(shards)) == (0, 5)
    assert max(map(int, step.result.split())) == threads


def test_without_allocations_nobody_knows_which_cpus_are_idle(step):
    assert step.run("auto", job=["--binding", "none"], text='echo x > "$shard"')[2] == [None]


@needs_two_cpus
def test_what_a_killed_launcher_left_keeps_no_cpu(step):
    """Its journal says that it waits for CPUs, until a later launcher reads it."""
    holder = step.node.start("sleep 30", name="holds")
    wait_until(step.node.allocated)
    stuck = step.node.start("true", name="stuck", threads=10_000)
    wait_until(lambda: len(list((step.node.runtime / "jobs").iterdir())) == 2)
    for process in (stuck, holder):
        process.kill()
        process.wait()
    wait_until(lambda: not step.node.allocated())
    assert "gather" in step.run("auto", 'echo x > "$shard"')[2]


# ---- failures, and the next attempt ---------------------------------------------------------------------


def test_a_failed_shard_is_named_and_the_next_attempt_makes_what_is_missing(step):
    failing = f'[ $number != 2 ] || [ -e cured ] || {{ echo "error: no such luck" >&2; exit 3; }}; {SHARD}'
    code, output, shards = step.run(4, failing)
    assert code == 3
    assert "step a: tool_error: shard 2: error: no such luck (log: logs/a.log)" in output
    assert not (step.node.folder / "out.txt").exists()
    lines = step.log.read_text().splitlines()
    assert "step a: tool_error: error: no such luck (log: logs/a.shards/2.log)" in lines
    assert lines.count("shard 2 failed with exit code 3: see logs/a.shards/2.log") == 1
    (step.node.folder / "cured").touch()
    code, output, again = step.run(4, failing)
    assert (code, output, step.result) == (0, "", EVERY + "finished\n")
    assert again[-1] == shards[-1] == "gather"
    assert set(shards[:-1]) - {"2/4"} | set(again[:-1]) == {"1/4", "2/4", "3/4", "4/4"}
    assert not set(shards[:-1]) - {"2/4"} & set(again[:-1]), "nothing is made twice"


def test_a_log_that_the_shell_writes_to_has_all_lines(step):
    """Snakemake's rules redirect to it themselves, from where they stand in it."""
    step.log.parent.mkdir()
    code, _, _ = step.run(2, "exit 3", first="exec 2> logs/a.log; echo first >&2", job=["--log", "logs/job.log"])
    assert code == 3
    lines = step.log.read_text().splitlines()
    assert lines[0] == "first" and any(line.startswith("shard 1 failed with exit code 3") for line in lines)


def test_what_a_shard_failed_of_is_what_the_job_is_tried_again_for(step):
    """For want of memory it is, though the job itself saw no more than a tool that failed."""
    text = '[ $GPD_MEM_MB -ge 200 ] || { echo "java.lang.OutOfMemoryError" >&2; exit 3; }; echo x > "$shard"'
    assert step.run(2, text, first="exec 2> /dev/null")[0] == 3
    assert step.record("gather")["cause"] == "out_of_memory"
    assert step.run(2, text, job=["--attempt", "2", "--mem-mb", "200"])[0] == 0


def test_a_shard_that_failed_for_its_data_is_not_tried_again(step):
    text = 'echo "error: no such contig" >&2; exit 3'
    assert step.run(2, text)[0] == 3
    code, output, shards = step.run(2, text, job=["--attempt", "2"])
    assert (code, shards) == (1, [None])
    assert "not tried again" in output


def test_a_retry_with_more_memory_and_another_temporary_folder_keeps_what_is_made(step, tmp_path):
    """The heap and the folder stand in the command."""
    text = (
        'n=${1##*/}; echo ${n%.txt} >> seen; [ $n != 2.txt ] || [ $GPD_MEM_MB -ge 200 ] || kill -9 $$; echo $n > "$1"'
    )

    def told(mem_mb):
        tool = ["bash", "-c", text, "tool", "@shard", f"-Xmx{mem_mb}m", "--tmp-dir=TMPDIR"]
        return join([*step.words(4)[:-6], *tool]).replace("--tmp-dir=TMPDIR", '--tmp-dir="$TMPDIR"')

    assert step.node.run(told(100))[0] == 137
    made = set((step.node.folder / "seen").read_text().split()) - {"2"}
    step.node.environment["TMPDIR"] = str(tmp_path)
    code, output, _ = step.node.run(told(200), "--attempt", "2", "--mem-mb", "200", "--retries", "all")
    assert (code, output, step.result) == (0, "", "1.txt\n2.txt\n3.txt\n4.txt\n")
    again = (step.node.folder / "seen").read_text().split()
    assert made, "some shards were done"
    assert all(again.count(number) == 1 for number in made)


@pytest.mark.parametrize("change", ["command", "input", "intervals", "file"])
def test_shards_of_other_work_are_not_taken_for_ours(step, change):
    text = "[ $number = 1 ] || [ -e cured ]"
    extra = step.node.folder / "known.vcf"
    extra.write_text("x")
    one = f"{text}; {SHARD}"

    def told(shards, text):
        return join([*step.words(shards, text), "known.vcf"])

    assert step.node.run(told(4, one))[0] == 1
    assert (step.shards / "1.done").exists()
    (step.node.folder / "cured").touch()
    changed = {"input": "input", "intervals": "n_free.bed", "file": "known.vcf"}.get(change)
    if changed:
        os.utime(step.node.folder / changed, ns=(1, 1))
    before = len(step.node.records())
    assert step.node.run(told(2, f"true; {one}" if change == "command" else one))[0] == 0
    assert sorted(record["shard"] for record in step.node.records()[before:]) == ["1/2", "2/2", "gather"]


def test_a_shard_that_is_not_whole_fails_the_step(step):
    code, output, _ = step.run(2, '[ $number = 1 ] && touch "$shard" || echo x > "$shard"')
    assert code == 1
    assert "is empty (0 bytes)" in output


def test_a_failed_gathering_keeps_the_shards(step):
    """The output is a folder, then not."""
    (step.node.folder / "out.txt").mkdir()
    code, output, _ = step.run(2)
    assert code == 1
    assert "error: scatter.py: out.txt: Is a directory (log: logs/a.log)" in output
    (step.node.folder / "out.txt").rmdir()
    assert step.run(2)[2] == ["gather"]
    assert step.result == EVERY + "finished\n"


def test_gathering_that_was_cut_off_makes_the_shard_that_is_gone_again(step):
    (step.node.folder / "out.txt").mkdir()
    assert step.run(2)[0] == 1
    (step.node.folder / "out.txt").rmdir()
    (step.shards / "1.txt").unlink()
    code, _, shards = step.run(2)
    assert (code, sorted(shards), step.result) == (0, ["1/2", "gather"], EVERY + "finished\n")


def test_reads_without_a_place_go_with_the_last_shard(step):
    code, _, _ = step.run(2, 'echo "${regions[@]:2}" > "$shard"', options=["--unmapped"])
    assert (code, step.result) == (0, "\n-L unmapped\nfinished\n")


@needs_two_cpus
def test_a_shard_that_cannot_be_noted_as_done_leaves_the_others_to_their_end(step):
    shard = f"[ $number = 2 ] || mkdir out.txt.shards/1.done; [ $number = 1 ] || sleep 2; {SHARD}"
    code, output, _ = step.run(2, shard)
    assert code == 1
    assert "launcher_error" in output and "Is a directory" in output
    assert "launcher: [Errno 21] Is a directory: 'out.txt.shards/1.done'" in step.log.read_text()
    assert (step.node.folder / "out.txt.shards/2.done").is_file()


# ---- kills ----------------------------------------------------------------------------------------------

STUBBORN = 'trap "" TERM HUP; echo "$GPD_JOB" >> began; sleep 60; true'


def roles(wrapper):
    """The processes of a job whose shards run: by name, the launchers of its shards first to last."""
    found = {"wrapper": [wrapper], "supervisor": descendants(wrapper)[:1], "scatter": [], "parts": [], "part": []}
    for pid in descendants(wrapper):
        words = read_text(f"/proc/{pid}/cmdline").split("\0")[:-1]
        parent = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()[1:2]
        if words[-1:] == ["part"] and parent and int(parent[0]) in found["parts"]:
            found["part"].append(pid)
        elif words[-2:-1] == ["parts"]:
            found["parts"].append(pid)
        elif str(SCATTER) in words and words[0] == sys.executable:
            found["scatter"].append(pid)
    return found


def begun(step, process, count):
    """Wait until so many shards run; return the processes."""
    seen = step.node.folder / "began"
    wait_until(lambda: seen.exists() and len(seen.read_text().split()) == count)
    return roles(process.pid)


def over(step, process):
    """Wait for the end of a job and of all that it has started; return its exit code and its records by shard."""
    process.wait(timeout=60)
    process.stderr.close()
    wait_until(lambda: not step.node.allocated())
    assert not step.node.check(), "this records what was killed with its launchers"
    wait_until(lambda: not list((step.node.runtime / "jobs").iterdir()))
    return process.returncode, {record["shard"]: record for record in step.node.records()}


@pytest.mark.parametrize("role", ["wrapper", "scatter", "parts"])
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_shards_end_with_who_runs_them(step, role, signum):
    count = min(2, USABLE)
    process = step.start(2, f"trap 'sleep 0.1; exit 0' TERM; {STUBBORN.partition(';')[2]}")
    os.kill(begun(step, process, count)[role][0], signum)
    code, records = over(step, process)
    assert code in (128 + signum, 128 + signal.SIGTERM, -signum)
    assert set(records) == {"gather", *(f"{number}/2" for number in range(1, count + 1))}
    assert {record["cause"] for record in records.values()} == {"killed"}
    assert records["gather"]["binding_ok"] in (True, None)


def test_shards_that_heed_no_signal_are_killed_and_recorded(step):
    count = min(2, USABLE)
    process = step.start(2, STUBBORN)
    begun(step, process, count)
    process.terminate()
    _, records = over(step, process)
    assert len(records) == count + 1
    assert {record["cause"] for record in records.values()} == {"killed"}
    assert records["gather"]["message"] == "SIGTERM to the launcher"
    # a shard's launcher has a second and a half to record it by itself: on a busy machine that may be too short, or
    # just long enough to see that the step's process has gone before it
    messages = [record["message"] for shard, record in records.items() if shard != "gather"]
    gone = "the process that runs the parts of its job"
    assert all(each.startswith(("SIGTERM to the launcher", "the launcher was killed", gone)) for each in messages)


@needs_two_cpus
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_a_shard_whose_launcher_is_killed_fails_the_step_and_the_others_come_to_their_end(step, signum):
    text = f'echo "$GPD_JOB" >> began; if [ $number = 1 ]; then sleep 60; else sleep 2; {SHARD}; fi'
    process = step.start(2, text)
    os.kill(begun(step, process, 2)["part"][0], signum)
    code, records = over(step, process)
    assert code == 128 + signum
    assert records["1/2"]["cause"] == "killed"
    assert records["2/2"]["cause"] is None
    assert (records["gather"]["cause"], records["gather"]["message"][:8]) == ("killed", "shard 1:")
    assert (step.shards / "2.done").exists()


@needs_two_cpus
def test_what_a_shard_leaves_whose_launchers_are_killed_is_ended_and_is_not_the_jobs(step):
    """Its processes were on another CPU than the job's."""
    process = step.start(2, STUBBORN)
    found = begun(step, process, 2)
    last = found["part"][-1]
    for pid in (last, descendants(last)[0]):
        os.kill(pid, signal.SIGSTOP)
    for pid in (descendants(last)[0], last):
        os.kill(pid, signal.SIGKILL)
    process.terminate()
    _, records = over(step, process)
    assert {record["cause"] for record in records.values()} == {"killed"}
    assert records["gather"]["binding_ok"] is True


@pytest.mark.parametrize("spared", ["none", "supervisor"])
def test_everything_is_killed_and_recorded_all_the_same(step, spared):
    count = min(2, USABLE)
    process = step.start(2, STUBBORN)
    begun(step, process, count)
    everything = [process.pid, *descendants(process.pid)]
    if spared == "supervisor":
        everything = everything[1:2]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    for pid in everything:
        os.kill(pid, signal.SIGKILL)
    _, records = over(step, process)
    assert set(records) == {"gather", *(f"{number}/2" for number in range(1, count + 1))}
    assert {record["cause"] for record in records.values()} == {"killed"}


def test_what_is_killed_in_the_middle_has_used_what_it_has_used_alone(step):
    """The job's supervisor is killed: its wrapper counts, and not what shards used that are over."""
    text = f'if [ $number = 1 ]; then {SPIN}; echo x > "$shard"; else {STUBBORN}; fi'
    process = step.start(2, text)
    begun(step, process, 1)
    wait_until((step.shards / "1.done").exists)
    os.kill(roles(process.pid)["supervisor"][0], signal.SIGKILL)
    code, records = over(step, process)
    assert code == 137
    assert records["1/2"]["cpu_s"] > 0.6
    assert records["gather"]["cpu_s"] < 0.6


# ---- what the shards are gathered by ----------------------------------------------------------------------


def tool(*words, folder):
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def write_vcf(folder, name, rows, contigs):
    lines = ["##fileformat=VCFv4.2", '##INFO=<ID=END,Number=1,Type=Integer,Description="x">']
    lines += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="x">', '##ALT=<ID=NON_REF,Description="x">']
    lines += [f"##contig=<ID={contig},length={length}>" for contig, length in contigs.items()]
    lines += ["\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", "s"])]
    lines += ["\t".join(map(str, row)) for row in rows]
    (folder / "plain.vcf").write_text("\n".join(lines) + "\n")
    tool("bcftools", "view", "-O", "z", "-o", name, "plain.vcf", folder=folder)
    tool("bcftools", "index", "--tbi", name, folder=folder)


CONTIGS = {f"chr{number}": 1000 for number in range(1, 9)}


def test_vcf_files_are_joined_and_indexed(step):
    rows = [(contig, at, ".", "A", "C", ".", ".", ".", "GT", "0/1") for contig in CONTIGS for at in (10, 500)]
    write_vcf(step.node.folder, "in.vcf.gz", rows, CONTIGS)
    text = 'bcftools view -T "${regions[1]}" -O z -o "$shard" in.vcf.gz'
    code, output, shards = step.run(3, text, suffix=".vcf.gz", gather="vcf", then="")
    assert (code, output, len(shards)) == (0, "", 4)
    found = [tool("bcftools", "view", "-H", name, folder=step.node.folder) for name in ("in.vcf.gz", "out.vcf.gz")]
    assert found[0] == found[1]
    assert tool("bcftools", "view", "-H", "out.vcf.gz", "chr5", folder=step.node.folder).count("\n") == 2, "by index"


def test_alignments_are_joined_and_indexed_with_the_reads_without_a_place(step):
    folder = step.node.folder
    head = ["@HD\tVN:1.6\tSO:coordinate", *(f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS)]
    reads = [f"r{name}\t0\t{name}\t100\t60\t4M\t*\t0\t0\tACGT\tIIII" for name in CONTIGS]
    reads += ["lost\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII"]
    (folder / "in.sam").write_text("\n".join([*head, *reads]) + "\n")
    tool("samtools", "view", "--no-PG", "-b", "-o", "in.bam", "in.sam", folder=folder)
    tool("samtools", "index", "in.bam", folder=folder)
    text = 'samtools view --no-PG -b -L "${regions[1]}" -o "$shard" in.bam\n'
    text += 'if [ ${#regions[@]} = 4 ]; then samtools view --no-PG -b -o lost.bam in.bam "*"; '
    text += 'mv "$shard" placed.bam; samtools cat --no-PG -o "$shard" placed.bam lost.bam; fi'
    code, output, shards = step.run(3, text, ["--unmapped"], suffix=".bam", gather="bam", then="")
    assert (code, output, len(shards)) == (0, "", 4)
    found = [tool("samtools", "view", "--no-PG", "-h", name, folder=folder) for name in ("in.bam", "out.bam")]
    assert found[0] == found[1]
    assert (folder / "out.bai").exists()


def test_tables_of_recalibration_are_joined_by_the_gatk_of_the_command(step):
    gatk = step.node.folder / "bin" / "gatk"
    gatk.parent.mkdir()
    gatk.write_text('#!/bin/bash\necho "$*" >> told; for last; do :; done; echo x > "$last"\n')
    gatk.chmod(0o755)
    step.node.environment["PATH"] = f"{gatk.parent}:{os.environ['PATH']}"
    words = [*step.words(2, suffix=".txt", gather="report")[:-6]]
    words += ["gatk", "--java-options", "-Xmx9m -x", "BaseRecalibrator", "@regions", "-O", "@shard"]
    code, output, _ = step.node.run(join(words), "--outputs", "out.txt")
    assert code == 0, output
    *shards, gathered = (step.node.folder / "told").read_text().splitlines()
    regions = "--java-options -Xmx9m -x BaseRecalibrator -L out.txt.shards/{0}.regions.bed -O out.txt.shards/{0}.txt"
    assert sorted(shards) == [regions.format(number) for number in (1, 2)]
    assert gathered.startswith("--java-options -Xmx9m -x GatherBQSRReports -I out.txt.shards/shards.list --tmp-dir /")
    assert gathered.endswith(" -O out.txt")
