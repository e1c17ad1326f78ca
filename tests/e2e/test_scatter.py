"""Scattered steps: how many shards, on which CPUs, what is left of a failure, and what the next attempt does."""

import fcntl
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from launcher.free_cpus import WATCH_S, SpareCpus
from launcher.limits import limits
from launcher.scatter import LARGEST
from launching import LAUNCH, wait_until

pytestmark = pytest.mark.e2e

USABLE = limits()["cpus"]
needs_two_cpus = pytest.mark.skipif(USABLE < 2, reason="one CPU only: none is ever spare")
N_FREE = "".join(f"chr{number}\t0\t1000\t{number}\t1000\n" for number in range(1, 9))
SHARD = 'cut -f 1 "${regions[1]}" > "$shard"; echo "shard $number" >&2'
GATHER = 'xargs -d "\\n" -a "$list" cat > out.txt'
EVERY = "".join(f"chr{number}\n" for number in range(1, 9))


class Step:
    """A step over eight contigs, in a folder of its own: its shards list their contigs, which gathering joins."""

    def __init__(self, node):
        self.node = node
        self.log = node.folder / "logs" / "a.log"
        (node.folder / "n_free.bed").write_text(N_FREE)
        with (node.folder / "input").open("wb") as file:
            file.truncate(8 * 2**20)

    def start(self, scatter, shard=SHARD, gather=GATHER, finish="echo finished >> out.txt", options=()):
        words = ["scatter", "--step", "step", "--rule", "rule", "--wildcards", "sample=a", "--threads", "1"]
        words += ["--mem-mb", "100", "--log", "logs/a.log", "--scatter", str(scatter), "--shard-mib", "1"]
        words += ["--n-free", "n_free.bed", "--over", "input", "--whole", "out.txt", "--suffix", ".txt", *options]
        process = subprocess.Popen(
            [sys.executable, "-S", "-E", LAUNCH, *words, "--outputs", "out.txt", "--inputs", "input"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.node.folder,
            env=self.node.environment,
        )
        process.stdin.write(f"{shard}\nGATHER\n{gather}\nFINISH\n{finish}".encode())
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, *arguments, **settings):
        """Run it to its end; return its exit code, what it said, and the shards of its records."""
        before = len(self.node.records())
        process = self.start(*arguments, **settings)
        _, output = process.communicate(timeout=60)
        return process.returncode, output.decode(), [record["shard"] for record in self.node.records()[before:]]

    @property
    def result(self):
        return (self.node.folder / "out.txt").read_text()

    @property
    def shards(self) -> Path:
        return self.node.folder / "out.txt.shards"


@pytest.fixture
def step(node):
    return Step(node)


def test_a_step_is_run_whole_like_any_job(step):
    whole = 'echo "${regions[@]}" $number > "$shard"'
    assert step.run("none", whole, options=["--intervals", "my 'regions'.bed"]) == (0, "", [None])
    assert step.result == "-L my 'regions'.bed 1\nfinished\n"
    assert not step.shards.exists()


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
def test_as_many_shards_as_cpus_are_spare(step):
    cpus = min(8, USABLE)
    code, _, shards = step.run("auto", 'sleep 0.6; touch "$shard"; echo x > "$shard"')
    assert (code, len(shards)) == (0, cpus + 1)
    made = step.node.records()[:-1]
    assert len({record["cpus"] for record in made}) == cpus, "side by side, each on a CPU of its own"


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
@pytest.mark.parametrize("options", [["--run-cores", "1"], ["--run-mem-mb", "150"], ["--shard-mib", "5"]])
def test_a_run_takes_no_more_than_it_was_given_and_scatters_nothing_small(step, options):
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
    runtime = str(tmp_path)
    steps = [SpareCpus(runtime, SimpleNamespace(ledger=name), 0) for name in ("one", "one", "other")]
    assert [each.watch() for each in steps] == [True, False, True]
    steps[0].leave()
    assert steps[1].watch()
    assert not steps[0].watch()


@pytest.mark.parametrize("threads", [1, 3])
def test_without_allocations_as_many_shards_run_at_once_as_the_step_has_threads(step, threads):
    at_once = 'touch "$shard.runs"; sleep 0.5; all=("${shard%/*}"/*.runs); echo ${#all[@]} > "$shard"; rm "$shard.runs"'
    code, _, _ = step.run(6, at_once, finish="", options=["--threads", str(threads), "--binding", "none"])
    assert code == 0
    assert max(map(int, step.result.split())) == threads


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


def test_a_failed_shard_is_named_and_the_next_attempt_makes_what_is_missing(step):
    failing = f'[ $number != 2 ] || [ -e cured ] || {{ echo "error: no such luck" >&2; exit 3; }}; {SHARD}'
    code, output, shards = step.run(4, failing)
    assert code == 3
    assert "step a: tool_error: error: no such luck (log: logs/a.shards/2.log)" in output
    assert "gather" not in shards
    assert not (step.node.folder / "out.txt").exists()
    assert step.log.read_text() == "shard 2 failed with exit code 3: see logs/a.shards/2.log\n"
    (step.node.folder / "cured").touch()
    code, output, again = step.run(4, failing)
    assert (code, output, step.result) == (0, "", EVERY + "finished\n")
    assert again[-1] == "gather"
    assert set(shards) - {"2/4"} | set(again[:-1]) == {"1/4", "2/4", "3/4", "4/4"}
    assert not set(shards) - {"2/4"} & set(again), "nothing is made twice"


def test_a_retry_with_more_memory_and_another_temporary_folder_keeps_what_is_made(step, tmp_path):
    frugal = f"echo $number >> seen; [ $number != 2 ] || [ $GPD_MEM_MB -ge 200 ] || kill -9 $$; {SHARD}"
    assert step.run(4, frugal)[0] == 137
    made = set(map(int, (step.node.folder / "seen").read_text().split())) - {2}
    step.node.environment["TMPDIR"] = str(tmp_path)
    code, output, again = step.run(4, frugal, options=["--attempt", "2", "--mem-mb", "200"])
    assert (code, output, step.result) == (0, "", EVERY + "finished\n")
    assert made, "some shards were done"
    assert {f"{number}/4" for number in range(1, 5) if number not in made} | {"gather"} == set(again)


@pytest.mark.parametrize("change", ["command", "input"])
def test_shards_of_other_work_are_not_taken_for_ours(step, change):
    assert step.run(4, f"[ $number = 1 ] || exit 1; {SHARD}")[0] == 1
    assert (step.shards / "1.done").exists()
    if change == "input":
        (step.node.folder / "input").write_bytes(b"x")
    code, _, shards = step.run(2, SHARD if change == "command" else f"[ $number = 1 ] || true; {SHARD}")
    assert (code, sorted(shards)) == (0, ["1/2", "2/2", "gather"])


def test_a_shard_that_is_not_whole_fails_the_step(step):
    code, output, _ = step.run(2, '[ $number = 1 ] && touch "$shard" || echo x > "$shard"')
    assert code == 1
    assert "is empty (0 bytes)" in output


def test_a_failed_gathering_keeps_the_shards(step):
    code, output, _ = step.run(2, gather="echo 'error: nothing fits' >&2; exit 1")
    assert code == 1
    assert "error: nothing fits (log: logs/a.log)" in output
    assert step.run(2, gather=GATHER)[2] == ["gather"]
    assert step.result == EVERY + "finished\n"


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_shards_end_with_who_runs_them(step, signum):
    process = step.start(2, "sleep 60")
    wait_until(step.node.allocated)
    process.send_signal(signum)
    process.communicate(timeout=30)
    assert process.returncode == (128 + signum if signum == signal.SIGTERM else -signum)
    wait_until(lambda: not step.node.allocated())
    wait_until(step.node.records)
    assert {record["cause"] for record in step.node.records()} == {"killed"}


def test_gathering_that_was_cut_off_makes_the_shard_that_it_had_moved_again(step):
    """The shard is gone from where it was made, and what it was moved to was removed before the next attempt."""
    code, _, _ = step.run(2, gather='rm "$(head -n 1 "$list")"; exit 1')
    assert code == 1
    code, _, shards = step.run(2)
    assert (code, sorted(shards), step.result) == (0, ["1/2", "gather"], EVERY + "finished\n")


def test_reads_without_a_place_go_with_the_last_shard(step):
    code, _, _ = step.run(2, 'echo "${regions[@]:2}" > "$shard"', options=["--unmapped"])
    assert (code, step.result) == (0, "\n-L unmapped\nfinished\n")


@needs_two_cpus
def test_a_shard_that_cannot_be_noted_as_done_leaves_the_others_to_their_end(step):
    shard = f"[ $number = 2 ] || mkdir out.txt.shards/1.done; [ $number = 1 ] || sleep 2; {SHARD}"
    process = step.start(2, shard)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Is a directory" in output.decode()
    assert (step.node.folder / "out.txt.shards/2.done").is_file()
