"""Studies side by side: what is matched, what is refused until it is allowed, the arithmetic, and what is printed."""

import io
import json
import re
from datetime import datetime, timedelta
from zlib import crc32

import pytest
from pages import text_of
from recording import ledger_line
from rich.console import Console

from gpd.commands import gpd_compare as subcommand
from gpd.comparison import comparison_grids, reading
from gpd.comparison.comparability import ALLOWABLE, pooled_differences
from gpd.comparison.compare import compare as compared_sides
from gpd.comparison.reading import read_sides
from gpd.errors import GpdError

BEGAN = datetime(2026, 11, 20, 12)
TOOLS = {"bwa": "0.7.17", "gatk": "4.6.2.0"}
AVX512, AVX = "AVX-512, OpenMP multi-threaded AVX-accelerated native", "AVX, AVX-accelerated native"
JAVA = "Java LOGLESS_CACHING, the slow way"
MAP, CALL = "map_and_sort", "haplotype_caller"
FIRST_AND_LAST = {"germline": (MAP, CALL), "tuxedo": ("align", "quantify")}  # the two steps that these runs have


# ---- small studies -----------------------------------------------------------------------------------


def time(seconds):
    return f"{(BEGAN + timedelta(seconds=seconds)).isoformat(timespec='microseconds')}Z"


def attempt(sample, step, start, end, exit_code=0):
    """A record of the ledger: a job on one CPU, a quarter of which it used."""
    told = {"exit_code": exit_code} | ({"cause": "exit", "message": "broken"} if exit_code else {})
    told |= {"log": f"logs/{step}/{sample}.log", "cpus": str(crc32(sample.encode()) % 512), "split": False}
    told |= {"cpu_s": 0.25 * (end - start), "wait_s": 0.0, "binding_ok": True}
    return ledger_line(step, sample, start, end - start, **told)


def spec(n, makespan_s, repeat=1, failed=0, **changes):
    """A run that ran: N samples from start to end of the makespan, mapped in a quarter of it; the last ones failed."""
    samples = [f"S{number}" for number in range(1, n + 1)]
    return {"n": n, "makespan_s": makespan_s, "repeat": repeat, "failed": failed, "samples": samples} | changes


def write_study(folder, *specs, **everywhere):
    """A study's folder with these runs; `everywhere` changes each of them."""
    folder.mkdir(parents=True)
    for one in specs:
        write_spec(folder, {"mode": "shared", "binding": "compact"} | one | everywhere)
    return folder


def write_spec(study, given):
    warm_up = given["repeat"] == 0
    when = "warmup1" if warm_up else f"r{given['repeat']}"
    pipeline = given.get("pipeline", "germline")
    name = f"{pipeline}-n{given['n']}-{given['mode']}-{given['binding']}-{when}"
    folder = study / name
    folder.mkdir()
    made = {name: given.get(name) for name in ("n", "repeat", "mode", "binding", "samples")} | {
        **{"schema": 1, "study": study.name, "name": name, "pipeline": pipeline, "warm_up": warm_up, "seed": 1},
        **{"cache": given.get("cache", "as_is"), "cores": given.get("cores", 2), "config": "config/config.yaml"},
        **{"threads": given.get("threads", {MAP: 1}), "profile": given.get("profile", "profiles/throughput")},
        **given.get("drawn", {}),
    }
    (folder / "spec.json").write_text(json.dumps(made))
    if given.get("unfinished"):
        return
    (folder / "ledger.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ledger(given)))
    (folder / "run.json").write_text(json.dumps(record(made, given)))


def ledger(given):
    mapped, ended = given["makespan_s"] / 4, given["makespan_s"]
    first, last = FIRST_AND_LAST[given.get("pipeline", "germline")]
    for number, sample in enumerate(given["samples"], 1):
        failed = int(number > given["n"] - given["failed"])
        jobs = attempt(sample, first, 0, mapped), attempt(sample, last, mapped, ended, failed)
        yield from (one | given.get("job", {}) for one in jobs)


def record(spec, given):
    ok = given["samples"][: given["n"] - given["failed"]]
    settings = {
        **{"workflow_commit": "abc123", "workflow_digest": "d" * 64},
        **{"config_digest": "c" * 64, "reference_digest": "e" * 64, "gpd_version": "0.2.0", "tools": TOOLS},
        **{"environments_digest": "f" * 64, "environment": {}},
    }
    bound = {"boundary": "l3", "memory": "default", "smt": False, "stall_s": 0}
    own = {"profile_digest": None, "binding": bound, "memory_applied": "default", "pair_hmm": AVX512}
    return {
        **{"schema": 1, "spec": spec, "start": time(0), "end": time(given["makespan_s"]), "cpu_s": None},
        **{"wall_s": given["makespan_s"], "peak_disk_mib": None},
        "processes": [{"directory": ".", "samples": given["samples"], "exit_code": 0}],
        "inputs": given.get("inputs", {s: {"digest": digest(s), "bases": 1_000_000_000} for s in given["samples"]}),
        "outputs": given.get(
            "outputs", [{"kind": "calls", "samples": [s], "digest": digest(f"calls {s}")} for s in ok]
        ),
        "settings": settings | given.get("settings", {}),
        **(own | given.get("own", {})),
        "host": {"hostname": given.get("host", "node1"), "sku": given.get("sku", "8352Y")} | given.get("machine", {}),
    }


def digest(text):
    return text.encode().hex().ljust(64, "0")


# The CI on paper. A: 86400 x 1 / 86.4 = 1000 and 86400 / 96 = 900 a day: mean 950, sd 70.711, se 70.711 / sqrt(2) = 50
# B: 86400 / 72 = 1200 and 86400 / 80 = 1080 a day: mean 1140, sd 84.853, se 60; the ratio B / A is 1140 / 950 = 1.2
# relative errors are both 50 / 950 = 60 / 1140 = 0.0526316, so that of the ratio is that x sqrt(2) = 0.0744323
# degrees of freedom: (2 u^2)^2 / (u^4 / 1 + u^4 / 1) = 2, for which a table of Student's t has 4.30265 at 95%
# exp(4.30265 x 0.0744323) = 1.37748: 1.2 / 1.37748 = 0.87116 and 1.2 x 1.37748 = 1.65298
A = (spec(1, 86.4), spec(1, 96, 2))
B = (spec(1, 72), spec(1, 80, 2))


@pytest.fixture(scope="module", autouse=True)
def read_once():
    """Read studies of one content once: most tests compare one that is changed with one that is as in other tests."""
    read, known = reading._read_study, {}

    def remembered(argument, alone):
        files = sorted(path for path in argument.folder.rglob("*") if path.is_file())
        content = tuple((path.relative_to(argument.folder), path.read_bytes()) for path in files)
        key = (argument.name, argument.parts, alone, content)
        if key not in known:
            known[key] = read(argument, alone)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_read_study", remembered)
        yield


@pytest.fixture
def study(tmp_path):
    """Write a study and return its folder; those of one host each, so that hosts differ."""
    return lambda name, *specs, **everywhere: write_study(
        tmp_path / name, *specs, **{"host": f"node of {name}"} | everywhere
    )


@pytest.fixture
def compare(capsys):
    """Compare as the command line does: exit code, what was printed, and the lines of the error."""

    def run(*names, allow=(), **options):
        out = io.StringIO()
        try:
            code = subcommand.run([str(name) for name in names], allow, Console(file=out, width=140), **options)
        except (GpdError, OSError) as error:  # as cli.py tells it
            return 2, "", [f"gpd compare: {line}" for line in str(error).splitlines()]
        told = capsys.readouterr()
        return code, out.getvalue() + told.out, told.err.splitlines()

    return run


def above(out):
    """The lines above the first table: the verdict, a blank line, what spoils it."""
    return out[: out.index("\u250f")].splitlines()


def as_json(compare, *names, allow=()):
    code, out, _ = compare(*names, allow=allow, as_json=True)
    return code, json.loads(out)


def figures(point, name, step=None):
    (found,) = [one["sides"] for one in point["figures"] if (one["figure"], one["step"]) == (name, step)]
    return found


# ---- arithmetic --------------------------------------------------------------------------------------


def ratio(figure):
    """A ratio, its interval, and of how many ratios by repeat it is."""
    return tuple(figure["ratio"][name] for name in ("value", "low", "high", "n"))


def test_ratio_and_interval_by_hand(study, compare):
    others = [one | {"repeat": one["repeat"] + 2} for one in B]  # which drew for themselves
    code, told = as_json(compare, study("A", *A), study("B", *others))
    assert code == 0
    (point,) = told["configurations"]
    found = figures(point, "genomes_per_day")
    assert (found["A"]["n"], found["A"]["value"], found["A"]["se"]) == pytest.approx((2, 950, 50))
    assert (found["B"]["value"], found["B"]["sd"], found["B"]["se"]) == pytest.approx((1140, 84.853, 60), rel=1e-5)
    assert found["A"]["ratio"] is None
    assert ratio(found["B"]) == pytest.approx((1.2, 0.87116, 1.65298, 0), rel=1e-4)


def test_repeats_that_drew_the_same_samples_are_paired(study, compare):
    """By repeat 86.4 / 72 = 1.2 and 96 / 82 = 1.17073, whose logarithms are 0.182322 and 0.157629.

    Their mean is 0.169975, sd 0.017460, se 0.012346; t of one degree of freedom is 12.7062, so that half is 0.156877.
    """
    _, told = as_json(compare, study("A", *A), study("B", spec(1, 72), spec(1, 82, 2)))
    found = figures(told["configurations"][0], "genomes_per_day")["B"]
    assert ratio(found) == pytest.approx((1.18528, 1.01317, 1.38662, 2), rel=1e-4)
    assert "ratios to A are paired by repeat, for each drew the same samples: B" in told["notes"]


def test_a_study_may_have_more_repeats_and_draw_more_samples(study, compare):
    """As `repeats: auto` does; those that both have are paired."""
    draws = [spec(1, makespan_s, repeat, samples=[f"S{repeat}"]) for repeat, makespan_s in enumerate((72, 82, 77), 1)]
    _, told = as_json(compare, study("A", *draws[:2]), study("B", *draws))
    assert figures(told["configurations"][0], "genomes_per_day")["B"]["ratio"]["n"] == 2
    other = study("C", spec(1, 72, samples=["T1"]), *draws[1:])
    assert "not comparable: inputs: " in compare(study("D", *draws[:2]), other)[2][0]


def test_repeats_of_other_samples_are_not_paired(study, compare):
    other = {"S1": {"digest": digest("another S1"), "bases": 1_000_000_000}}
    names = study("A", *A), study("B", spec(1, 72), spec(1, 82, 2), inputs=other)
    found = figures(as_json(compare, *names, allow=["inputs"])[1]["configurations"][0], "genomes_per_day")
    assert found["B"]["ratio"]["n"] == 0


def test_figures_of_a_point_by_hand(study, compare):
    """2 samples of 1 Gb on 2 cores for 80 s: a quarter of it mapping, a quarter of each CPU used."""
    _, told = as_json(compare, study("A", spec(2, 80)), study("B", spec(2, 40)))
    (point,) = told["configurations"]
    expected = {
        ("genomes_per_day", None): 86400 * 2 / 80,
        ("genomes_per_day_per_core", None): 86400 / 80,
        ("gigabases_per_day", None): 86400 * 2 / 80,
        ("makespan_s", None): 80,
        ("cpu_s_per_gigabase", None): 0.25 * 80,
        ("cpu_utilisation", None): 0.25,
        ("elapsed_h", MAP): 20 / 3600,
        ("summed_h", MAP): 40 / 3600,
        ("elapsed_h", CALL): 60 / 3600,
        ("summed_h", CALL): 120 / 3600,
        ("elapsed_h_per_gigabase", MAP): 10 / 3600,
        ("summed_h_per_gigabase", MAP): 20 / 3600,
        ("elapsed_h_per_gigabase", CALL): 30 / 3600,
        ("summed_h_per_gigabase", CALL): 60 / 3600,
    }
    found = {(one["figure"], one["step"]): one["sides"]["A"]["value"] for one in point["figures"]}
    assert found == pytest.approx(expected)


def test_without_repeats_no_interval_is_invented(study, compare):
    names = study("A", A[0]), study("B", *B)
    _, told = as_json(compare, *names)
    found = figures(told["configurations"][0], "genomes_per_day")
    assert (found["A"]["sd"], found["A"]["se"]) == (None, None)
    assert ratio(found["B"]) == (pytest.approx(1.14), None, None, 0)
    assert "1.14 (no CI)" in compare(*names)[1]


def test_warm_ups_and_unfinished_runs_count_nothing(study, compare):
    more = (spec(1, 500, 0), spec(1, 9, 3, unfinished=True))
    _, told = as_json(compare, study("A", *A, *more), study("B", *B))
    _, plain = as_json(compare, study("x/A", *A), study("x/B", *B))
    assert (told["configurations"], told["best"]) == (plain["configurations"], plain["best"])
    output = "A: not finished, so in no figure: germline-n1-shared-compact-r3"
    assert [note for note in told["notes"] if note not in plain["notes"]] == [output]


def test_what_is_not_recorded_is_missing_and_not_0(study, compare):
    unread = {"S1": {"digest": digest("S1"), "bases": None}}
    names = study("A", spec(1, 80, inputs=unread)), study("B", spec(1, 40))
    _, told = as_json(compare, *names)
    found = figures(told["configurations"][0], "gigabases_per_day")
    assert (found["A"]["n"], found["A"]["value"], found["B"]["ratio"]["value"]) == (0, None, None)
    (row,) = [line.split("│") for line in compare(*names)[1].splitlines() if "gigabases a day" in line]
    assert [text.strip() for text in row[2:-1]] == ["", "", "2,160"]


def test_best_n_against_best_n(study, compare):
    """A: 86400 / 80 = 1080 and 172800 / 100 = 1728 at 2; B: 2160 at 1, and 86400 / 50 = 1728 at 2, one failed."""
    names = study("A", spec(1, 80), spec(2, 100)), study("B", spec(1, 40), spec(2, 50, failed=1))
    (curve,) = as_json(compare, *names)[1]["best"]
    a, b = curve["sides"]["A"], curve["sides"]["B"]
    assert (a["saturation"]["n"], a["best"]["genomes_per_day"]["value"]) == (2, pytest.approx(1728))
    assert (b["saturation"]["n"], b["best"]["genomes_per_day"]["value"]) == (1, pytest.approx(2160))
    assert b["best"]["genomes_per_day"]["ratio"]["value"] == pytest.approx(2160 / 1728)
    assert b["best"]["human_30x_per_day"]["value"] is None  # of samples of 1 Gb
    assert b["best_n"] == 1


def test_of_three_each_is_held_against_the_first(study, compare):
    names = study("A", spec(1, 80)), study("B", spec(1, 40)), study("C", spec(1, 20), spec(2, 80))
    _, told = as_json(compare, *names)
    found = figures(told["configurations"][0], "makespan_s")
    assert [found[name]["ratio"] and found[name]["ratio"]["value"] for name in "ABC"] == [None, 0.5, 0.25]


def test_a_point_that_the_first_lacks_is_held_against_the_first_that_has_it(study, compare):
    names = study("A", spec(1, 80)), study("B", spec(1, 40), spec(2, 80)), study("C", spec(1, 20), spec(2, 60))
    _, told = as_json(compare, *names)
    found = figures(told["configurations"][1], "makespan_s")
    assert list(found) == ["B", "C"]
    assert (found["B"]["ratio"], found["C"]["ratio"]["value"]) == (None, 0.75)


# ---- refusals ----------------------------------------------------------------------------------------

DIGEST = "0123456789abcdef" * 4
OTHER_CALLS = [{"kind": "calls", "samples": ["S1"], "digest": DIGEST}]
REFUSALS = {
    "inputs": (
        {"inputs": {"S1": {"digest": DIGEST, "bases": 1_000_000_000}}},
        ["inputs: S1, not the same reads (A and B)"],
    ),
    "reference": ({"settings": {"reference_digest": DIGEST}}, ["reference: not the same in A and B"]),
    "tools": (
        {"settings": {"tools": {"bwa": "0.7.18", "gatk": None}}},
        ["tools: bwa: 0.7.17 (A) and 0.7.18 (B)", "tools: gatk: 4.6.2.0 (A) and not recorded (B)"],
    ),
    "environment": (
        {"settings": {"environment": {"OMP_NUM_THREADS": "4", "JAVA_TOOL_OPTIONS": "-Xint"}}},
        ["environment: no variable set (A) and JAVA_TOOL_OPTIONS=-Xint OMP_NUM_THREADS=4 (B)"],
    ),
    "preset": (
        {"settings": {"preset": "dragen-gatk"}},
        ["preset: gatk-best-practices (A) and dragen-gatk (B)"],
    ),
    "settings": ({"settings": {"config_digest": DIGEST}}, ["settings: not the same in A and B"]),
    "workflow": ({"settings": {"workflow_digest": DIGEST}}, ["workflow: files: not the same in A and B"]),
    "threads": (
        {"threads": {MAP: 2, "mark_duplicates": 2}},
        [f"threads: {MAP}: 1 (A) and 2 (B)", "threads: mark_duplicates: the profile's (A) and 2 (B)"],
    ),
    "profile": ({"profile": "profiles/big"}, ["profile: profiles/throughput (A) and profiles/big (B)"]),
    "cache": ({"cache": "cold"}, ["cache: as_is (A) and cold (B)"]),
    "binding": ({"binding": "scatter"}, ["binding: compact (A) and scatter (B)"]),
    "mode": ({"mode": "independent"}, ["mode: shared (A) and independent (B)"]),
    "outputs": ({"outputs": OTHER_CALLS}, ["outputs: calls of S1: not the same in A and B"]),
}


def test_there_is_a_test_for_each_difference():
    assert set(REFUSALS) == set(ALLOWABLE)


# more of what falls under the same names: what changes, and what is said
SILENT = [
    ("binding", {"binding": {"boundary": "l3", "memory": "local", "smt": True}}, ["memory", "smt", "stall_s"]),
    ("binding", {"memory_applied": "local"}, ["memory applied"]),
    ("binding", {"memory_applied": None}, ["memory applied"]),
    ("binding", {"binding": None}, ["boundary", "memory", "smt", "stall_s"]),
    ("tools", {"pair_hmm": JAVA}, ["pair-HMM"]),
    ("tools", {"pair_hmm": AVX}, ["pair-HMM"]),
    ("tools", {"pair_hmm": None}, ["pair-HMM"]),
    ("profile", {"profile_digest": "0" * 64}, ["", "content"]),
    ("tools", {"settings": {"tools": {**TOOLS, "java": "Debian, 17.0.15"}}}, ["java"]),
    ("workflow", {"settings": {"environments_digest": "0" * 64}}, ["environments"]),
    ("environment", {"settings": {"environment": None}}, [""]),
]


def test_another_share_of_the_reads_or_copies_are_other_inputs(study, compare):
    names = study("A", *A), study("B", *B, drawn={"fraction": 0.05, "samples_per_genome": 4})
    code, told = as_json(compare, *names)
    assert code == 1
    found = {one["detail"] for one in told["differences"] if one["name"] == "inputs"}
    assert found == {"share of the reads", "samples of each genome"}
    code, told = as_json(compare, *names, allow=["inputs"])
    assert code == 0
    assert "B: measured on 5% of the reads of each sample" in told["notes"]
    assert "B: 4 samples of each genome, as copies of its files" in told["notes"]


@pytest.mark.deep
@pytest.mark.parametrize(("name", "changed", "details"), SILENT)
def test_a_difference_that_no_name_shows_is_refused_too(study, compare, name, changed, details):
    changes = changed if "settings" in changed else {"own": changed}
    names = study("A", *A), study("B", *B, **changes)
    code, told = as_json(compare, *names)
    assert code == 1
    assert [(one["name"], one["detail"]) for one in told["refused"]] == [(name, detail or None) for detail in details]
    assert all(any(value["in"] == ["B"] for value in one["values"]) for one in told["refused"])
    assert compare(*names, allow=[name])[0] == 0


def test_a_profile_is_its_content_and_not_its_name(study, compare):
    own = {"own": {"profile_digest": "0" * 64}}
    assert compare(study("A", *A, **own), study("B", *B, **own, profile="profiles/mine"))[0] == 0


def test_how_jobs_are_bound_says_nothing_where_none_is(study, compare):
    unbound = {"mode": "independent", "binding": "none"}
    one = study("A", *A, **unbound, own={"binding": None, "memory_applied": None})
    assert compare(one, study("B", *B, **unbound))[0] == 0


@pytest.mark.parametrize(
    ("sku", "pair_hmm", "code"), [("7763", AVX, 0), ("8352Y", AVX, 1), ("7763", JAVA, 1), (None, AVX, 1)]
)
def test_another_processor_may_have_another_pair_hmm_but_not_the_slow_one(study, compare, sku, pair_hmm, code):
    names = study("A", *A), study("B", *B, sku=sku, own={"pair_hmm": pair_hmm})
    found, out, errors = compare(*names)
    assert found == code
    assert f"tools: pair-HMM: {AVX512} (A) and {pair_hmm} (B)" in (out + "".join(errors))


def test_how_machines_are_set_up_is_told(study, compare):
    names = study("A", *A, machine={"governor": "performance"}), study("B", *B, machine={"governor": "powersave"})
    code, out, _ = compare(*names)
    assert (code, above(out)[2]) == (0, "differs: host: governor: performance (A) and powersave (B)")


WORK = {"type": "ext4", "device": "nvme0n1p2", "mount": "/one", "rotational": False}
MACHINE = {
    **{"kernel": "5.14", "memory_mib": 524_288.0, "sockets": 2, "numa_nodes": 2, "virtual_machine": "none"},
    **{"container": "none", "smt": True, "file_systems": {"work": WORK}, "mitigations": {"retbleed": "Vulnerable"}},
}
OTHER = {
    **{"kernel": "6.12", "memory_mib": 262_144.0, "numa_nodes": 8, "virtual_machine": "kvm", "smt": False},
    **{"file_systems": {"work": {"type": "nfs4"}}, "mitigations": {"mds": "Mitigation: Clear CPU buffers"}},
}
ALSO = [
    "storage: work on ext4 NVMe (A) and work on nfs4 (B)",
    "kernel: 5.14 (A) and 6.12 (B)",
    "memory: 512 GiB (A) and 256 GiB (B)",
    "NUMA nodes a socket: 1 (A) and 4 (B)",
    "virtual machine: none (A) and kvm (B)",
    "SMT: on (A) and off (B)",
    "mitigation of mds: not affected (A) and Mitigation: Clear CPU buffers (B)",
    "mitigation of retbleed: Vulnerable (A) and not affected (B)",
]


def test_what_else_of_the_machines_is_different_is_listed(study, compare):
    code, out, _ = compare(study("A", *A, machine=MACHINE), study("B", *B, machine=MACHINE | OTHER))
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("also")] == [f"also different: {one}" for one in ALSO]


def test_modes_that_use_other_threads_of_a_core_are_told_apart(study, compare):
    """Whole cores are allocated in a shared workflow, and independent instances run on all threads."""
    both = [*A, *(one | {"mode": "independent", "binding": "none"} for one in A)]
    _, out, _ = compare(study("A", *both, machine={"smt": True, "usable_threads": 4}))
    note = "also different: threads of a core that jobs might use: all (A:independent) and one (A:shared)"
    assert note in out.splitlines()
    assert note.partition(":")[0] not in compare(study("B", *both, machine={"smt": False}))[1]


def test_what_is_not_recorded_or_lies_elsewhere_is_not_different(study, compare):
    moved = {"file_systems": {"work": WORK | {"mount": "/two"}}, "memory_mib": 524_280.0}
    for machine in ({}, MACHINE | moved):
        names = study(f"A{len(machine)}", *A, machine=MACHINE), study(f"B{len(machine)}", *B, machine=machine)
        code, out, _ = compare(*names)
        assert (code, "also different" in out) == (0, False)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"own": {"machine_use": {"throttled_s": 2.5}}}, "{0} was disturbed: a CPU quota held processes for 2.50 s"),
        ({"machine": {"load": {"busy": True, "busy_cpus": 1.5}}}, "{0} was disturbed: 1.50 CPUs were at work before"),
        ({"job": {"binding_ok": False}}, "binding was broken: {0}"),
    ],
)
def test_what_disturbed_a_study_is_said_beside_its_figures(study, compare, changes, note):
    _, out, _ = compare(study("A", *A), study("B", B[0], B[1] | changes))
    assert any(line.startswith(f"B: {note.format('germline-n1-shared-compact-r2')}") for line in out.splitlines())


@pytest.mark.deep
@pytest.mark.parametrize("name", REFUSALS)
def test_a_difference_is_refused_with_both_values(study, compare, name):
    changes, lines = REFUSALS[name]
    assert compare(study("A", *A), study("B", *B, **changes)) == (
        1,
        "",
        [f"gpd compare: not comparable: {line}; --allow {name}" for line in lines],
    )


@pytest.mark.parametrize("name", REFUSALS)
def test_a_difference_that_is_allowed_is_printed_above_the_tables(study, compare, name):
    changes, lines = REFUSALS[name]
    code, out, errors = compare(study("A", *A), study("B", *B, **changes), allow=[name])
    assert (code, errors) == (0, [])
    assert above(out)[2 : 2 + len(lines)] == [f"differs: {line}" for line in lines]
    assert ("1.20 (0.871-1.65)" if name == "inputs" else "1.20 (1.20-1.20)") in out


@pytest.mark.parametrize("name", REFUSALS)
def test_no_other_allowance_permits_a_difference(study, compare, name):
    others = [other for other in ALLOWABLE if other != name]
    assert compare(study("A", *A), study("B", *B, **REFUSALS[name][0]), allow=others)[0] == 1


def test_refused_as_json(study, compare):
    code, told = as_json(compare, study("A", *A), study("B", *B, cache="cold"))
    assert (code, told["comparable"], told["configurations"], told["best"]) == (1, False, [], [])
    values = [{"value": "as_is", "in": ["A"]}, {"value": "cold", "in": ["B"]}]
    assert told["refused"] == [{"name": "cache", "detail": None, "values": values}]


def test_a_report_that_cannot_be_written_is_an_error(study, compare, tmp_path):
    code, _, errors = compare(study("A", *A), study("B", *B), page=tmp_path / "nowhere" / "comparison.html")
    assert (code, len(errors)) == (2, 1)
    assert "nowhere/comparison.html" in errors[0]


def test_a_page_says_which_step_times_are_elapsed_and_which_summed(study, compare, tmp_path):
    page = tmp_path / "comparison.html"
    compare(study("A", *A), study("B", *B), page=page)
    lines = text_of(page.read_text()).splitlines()
    elapsed, summed = (lines.index(f"| {clock} step time, s") for clock in ("elapsed", "summed"))
    steps = [number for number, line in enumerate(lines) if line.startswith(f"| {MAP} |")]
    assert any(elapsed < number < summed for number in steps) and steps[-1] > summed


def test_nothing_is_written_where_it_is_refused(study, compare, tmp_path):
    page = tmp_path / "comparison.html"
    assert compare(study("A", *A), study("B", *B, cache="cold"), page=page)[0] == 1
    assert not page.exists()


def test_the_machine_may_differ_and_so_may_threads_that_follow_from_its_cores(study, compare):
    names = study("A", *A), study("B", *B, sku="7763", cores=4, threads={MAP: 2})
    code, out, errors = compare(*names)
    assert (code, errors) == (0, [])
    assert above(out)[2] == f"differs: threads: they follow from the cores ({MAP}): 2 (A) and 4 (B)"


def test_all_differences_are_told_at_once(study, compare):
    names = study("A", *A), study("B", *B, cache="cold"), study("C", *B, profile="p")
    assert [line.split(": ")[2] for line in compare(*names)[2]] == ["profile", "cache"]
    assert "(A, B)" not in compare(*names)[2][1]


def test_one_difference_at_many_n_is_told_once(study, compare):
    a = study("A", spec(1, 80), spec(2, 90))
    b = study("B", *(spec(n, 80, samples=["T1", "T2"][:n]) for n in (1, 2)))
    (line,) = compare(a, b)[2]
    assert line == "gpd compare: not comparable: inputs: S1 (A), S2 (A), T1 (B) and T2 (B); --allow inputs"


def test_samples_are_what_was_read_and_not_how_they_are_called(study, compare):
    renamed = spec(1, 72, samples=["HG1"], inputs={"HG1": {"digest": digest("S1"), "bases": 1}}, outputs=[])
    assert compare(study("A", *A), study("B", renamed))[0] == 0


def test_outputs_of_other_inputs_are_not_held_against_each_other(study, compare):
    other = {"S1": {"digest": DIGEST, "bases": 1}}
    code, out, _ = compare(study("A", *A), study("B", *B, inputs=other, outputs=OTHER_CALLS), allow=["inputs"])
    assert code == 0
    assert "outputs: not compared, for no output of the same input is recorded on two sides" in out


def test_outputs_that_agree_are_counted(study, compare):
    _, out, _ = compare(study("A", spec(2, 80)), study("B", spec(2, 40)))
    assert "outputs: 2 outputs of the same input on two sides or more, all equal" in out


def test_outputs_count_also_where_they_ran_at_another_n(study, compare):
    b = study("B", spec(1, 72), spec(2, 80, outputs=OTHER_CALLS))
    assert compare(study("A", *A), b)[2][0].startswith("gpd compare: not comparable: outputs: calls of S1")


def test_what_no_record_tells_is_said(study, compare):
    unknown = {"settings": {"reference_digest": None, "tools": None}, "inputs": None}
    code, out, _ = compare(study("A", *A, **unknown), study("B", *B, **unknown))
    assert code == 0
    assert "not recorded, so it may differ: reference, tools, inputs of some samples" in out


def test_a_workflow_without_digests_of_its_files_is_its_commit(study, compare):
    unknown = {"workflow_digest": None}
    assert compare(study("A", *A, settings=unknown), study("B", *B, settings=unknown))[0] == 0
    other = study("C", *B, settings=unknown | {"workflow_commit": "def456"})
    assert "workflow: commit: abc123 (A) and def456 (C)" in compare(other.parent / "A", other)[2][0]


# ---- repeats of one study ----------------------------------------------------------------------------


def records(folder):
    (side, _) = read_sides([str(folder), "published:6248"])
    return side.records


def test_repeats_made_alike_have_no_differences(study):
    redrawn = spec(1, 80, 3, samples=["S7"])
    assert pooled_differences(records(study("A", *A, redrawn, spec(1, 9, 0, cache="cold")))) == []


@pytest.mark.deep
def test_repeats_on_several_machines_have_no_one_mean(tmp_path, compare):
    """The tables pool none, and so does no comparison."""
    folder = write_study(tmp_path / "A", A[0], A[1] | {"sku": "7763"})
    output = "its runs ran on different machines: SKU: 8352Y and 7763"
    assert compare(folder, "published:6248")[::2] == (2, [f"gpd compare: {folder}: {output}"])


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"settings": {"tools": {**TOOLS, "bwa": "0.7.18"}}}, "tools: bwa: 0.7.17 ({0}-r1) and 0.7.18 ({0}-r2)"),
        ({"settings": {"workflow_digest": DIGEST}}, "workflow: files: not the same in {0}-r1 and {0}-r2"),
        ({"host": "node2"}, "host: name: node of A ({0}-r1) and node2 ({0}-r2)"),
        ({"machine": {"governor": "powersave"}}, "host: governor: not recorded ({0}-r1) and powersave ({0}-r2)"),
        ({"machine": {"kernel": "6.12"}}, "host: kernel: not recorded ({0}-r1) and 6.12 ({0}-r2)"),
        ({"own": {"memory_applied": "local"}}, "binding: memory applied: default ({0}-r1) and local ({0}-r2)"),
        ({"own": {"pair_hmm": JAVA}}, f"tools: pair-HMM: {AVX512} ({{0}}-r1) and {JAVA} ({{0}}-r2)"),
        ({"cores": 4}, "host: cores: 2 ({0}-r1) and 4 ({0}-r2)"),
        ({"inputs": {"S1": {"digest": DIGEST}}}, "inputs: S1: not the same in {0}-r1 and {0}-r2"),
    ],
)
def test_repeats_made_unlike_are_told(tmp_path, compare, changes, line):
    folder = write_study(tmp_path / "A", A[0] | {"host": "node of A"}, A[1] | {"host": "node of A"} | changes)
    told = f"germline, N = 1, shared workflow, compact binding: {line.format('germline-n1-shared-compact')}"
    assert [str(one) for one in pooled_differences(records(folder))] == [told]
    assert f"A: repeats that differ are in one mean: {told}" in compare(folder, "published:6248")[1]


def test_a_study_that_changed_is_not_the_same_as_one_that_did_not(tmp_path, study, compare):
    changed = write_study(tmp_path / "changed", A[0], A[1] | {"cache": "cold"})
    assert "cache: as_is (changed and B) and cold (changed)" in compare(changed, study("B", *B))[2][0]


def test_outputs_that_differ_within_one_study_are_refused(study, compare):
    names = study("A", A[0], A[1] | {"outputs": OTHER_CALLS}), "published:6248"
    assert compare(*names)[2] == [
        "gpd compare: not comparable: outputs: calls of S1: not the same in A; --allow outputs"
    ]
    assert compare(*names, allow=["outputs"])[0] == 0


# ---- parts of one study --------------------------------------------------------------------------------

BOTH_MODES = (spec(1, 90, mode="independent", binding="none", profile="profiles/published", threads={}), spec(1, 60))


def test_one_study_is_compared_within_itself(study, compare):
    """Mode, binding, profile and threads are what it is asked for; 86400 / 60 over 86400 / 90 is 1.5."""
    code, told = as_json(compare, study("A", *BOTH_MODES))
    assert code == 0
    assert [one["name"] for one in told["differences"]] == ["mode", "binding", "profile", "threads"]
    (point,) = told["configurations"]
    assert (point["pipeline"], point["mode"], point["binding"], point["n"]) == ("germline", None, None, 1)
    found = figures(point, "genomes_per_day")
    assert list(found) == ["A:independent", "A:shared"]
    assert found["A:shared"]["ratio"]["value"] == pytest.approx(1.5)
    assert "outputs: 1 output of the same input on two sides or more, all equal" in told["notes"]


@pytest.mark.deep
def test_parts_of_a_study_are_compared_as_they_are_named(study, compare):
    a = study("A", *BOTH_MODES, spec(1, 45, binding="scatter"))
    _, told = as_json(compare, f"{a}:shared:compact", f"{a}:independent")
    assert [side["name"] for side in told["sides"]] == ["A:shared:compact", "A:independent"]
    assert figures(told["configurations"][0], "makespan_s")["A:independent"]["ratio"]["value"] == pytest.approx(1.5)
    _, told = as_json(compare, a)
    assert [side["name"] for side in told["sides"]] == ["A:independent", "A:shared:compact", "A:shared:scatter"]
    _, told = as_json(compare, f"{a}:shared")
    assert [side["name"] for side in told["sides"]] == ["A:shared:compact", "A:shared:scatter"]


@pytest.mark.deep
def test_bindings_that_differ_in_boundary_or_memory_alone_are_sides(study, compare):
    near, far = (
        spec(1, makespan, binding=f"compact-numa-{memory}") for makespan, memory in ((30, "local"), (45, "interleave"))
    )
    a = study("A", near, far, spec(1, 60))
    _, told = as_json(compare, a)
    assert {side["name"] for side in told["sides"]} == {
        *("A:shared:compact", "A:shared:compact-numa-local", "A:shared:compact-numa-interleave")
    }
    _, told = as_json(compare, f"{a}:compact-numa-local", f"{a}:compact-numa-interleave")
    found = figures(told["configurations"][0], "makespan_s")
    assert found["A:compact-numa-interleave"]["ratio"]["value"] == pytest.approx(1.5)
    _, output, _ = compare(f"{a}:compact-numa-local", f"{a}:compact")
    assert "binding: compact-numa-local (A:compact-numa-local) and compact (A:compact)" in output


def test_parts_of_a_study_have_their_repeats_and_their_interval(study, compare):
    independent = [one | {"mode": "independent", "binding": "none"} for one in A]
    assert "1.20 (1.20-1.20)" in compare(study("A", *independent, *B))[1]


@pytest.mark.parametrize(
    ("name", "changes"),
    [("outputs", {"outputs": OTHER_CALLS}), ("settings", {"settings": {"config_digest": DIGEST}})],
)
def test_what_a_study_did_not_ask_for_is_refused_within_it(study, compare, name, changes):
    a = study("A", BOTH_MODES[0], BOTH_MODES[1] | changes)
    code, _, (error,) = compare(a)
    assert code == 1
    assert error.startswith(f"gpd compare: not comparable: {name}: ")
    assert "not the same in A:independent and A:shared" in error


def test_modes_of_two_studies_are_not_compared_unasked(study, compare):
    a, b = study("A", *BOTH_MODES), study("B", *BOTH_MODES)
    errors = compare(f"{a}:independent", f"{b}:shared")[2]
    assert [line.split(": ")[2] for line in errors] == ["mode", "binding", "profile", "threads"]
    assert compare(f"{a}:shared", f"{b}:shared")[0] == 0


def test_no_run_is_on_both_sides(study, compare):
    a = study("A", *BOTH_MODES)
    assert refused(compare, a, f"{a}:shared") == "A and A:shared: the same runs would be on both sides"


def test_a_part_that_a_study_does_not_have_is_refused_with_those_there_are(study, compare):
    a = study("A", *BOTH_MODES)
    output = refused(compare, f"{a}:scatter")
    assert output == f"{a}: no finished run is scatter; there are independent:none, shared:compact"


def test_a_folder_may_have_a_colon_in_its_name(study, compare):
    _, told = as_json(compare, study("A:shared", *A), study("B", *B))
    assert [side["name"] for side in told["sides"]] == ["A:shared", "B"]


# ---- sizes of samples ----------------------------------------------------------------------------------


def sized(gigabases):
    """As A's sample, and of so many gigabases."""
    return {"inputs": {"S1": {"digest": digest("S1"), "bases": gigabases and int(gigabases * 1e9)}}}


PER_SAMPLE = [("genomes_per_day", None), ("makespan_s", None), ("elapsed_h", MAP), ("summed_h", CALL)]


@pytest.mark.parametrize("gigabases", [0.9, 1.1, 0.003, None])
def test_figures_a_sample_have_no_ratio_where_samples_are_of_another_size(study, compare, gigabases):
    names = study("A", *A), study("B", *B, **sized(gigabases))
    _, told = as_json(compare, *names)
    (point,) = told["configurations"]
    assert [figures(point, *one)["B"]["ratio"] for one in PER_SAMPLE] == [None] * 4
    assert told["best"][0]["sides"]["B"]["best"]["genomes_per_day"]["ratio"] is None
    size = f"{gigabases:#.3g} Gb" if gigabases else "not recorded"
    assert told["notes"][0].startswith(f"germline: gigabases a sample: 1.00 Gb (A) and {size} (B), so genomes a day")
    (line,) = told["verdict"]
    assert line.startswith("B does " if gigabases else "B has no ratio to A: what a day gives, or the size")


def test_figures_a_gigabase_have_a_ratio_whatever_the_size(study, compare):
    """Half as many gigabases in 1 / 1.2 of the time: of each figure a gigabase the ratio is 0.6, or 2 / 1.2."""
    names = study("A", *A), study("B", *B, **sized(0.5))
    _, told = as_json(compare, *names)
    (point,) = told["configurations"]
    assert figures(point, "gigabases_per_day")["B"]["ratio"]["value"] == pytest.approx(0.6)
    for one in [("elapsed_h_per_gigabase", MAP), ("summed_h_per_gigabase", CALL), ("cpu_s_per_gigabase", None)]:
        assert figures(point, *one)["B"]["ratio"]["value"] == pytest.approx(2 * 76 / 91.2)
    out = compare(*names)[1]
    assert above(out)[0].startswith("B does 0.600 (0.600 to 0.600) times A's gigabases a day, at N = 1; no step")
    assert "elapsed step time, s a gigabase" in out
    assert "1.20 (" not in out


@pytest.mark.parametrize("gigabases", [0.96, 1.04])
def test_samples_of_about_one_size_have_both_ratios(study, compare, gigabases):
    names = study("A", *A), study("B", *B, **sized(gigabases))
    _, told = as_json(compare, *names)
    (point,) = told["configurations"]
    assert figures(point, "genomes_per_day")["B"]["ratio"]["value"] == pytest.approx(1.2)
    assert figures(point, "gigabases_per_day")["B"]["ratio"]["value"] == pytest.approx(1.2 * gigabases)
    assert not any("gigabases a sample" in note for note in told["notes"])


def test_a_step_of_a_run_without_a_genome_has_no_hours_a_gigabase(study, compare):
    _, told = as_json(compare, study("A", spec(1, 80, failed=1)), study("B", spec(1, 40)))
    found = figures(told["configurations"][0], "elapsed_h_per_gigabase", MAP)
    assert (found["A"]["value"], found["B"]["value"]) == (None, pytest.approx(10 / 3600))


# ---- matching ----------------------------------------------------------------------------------------


def test_no_point_in_common_is_refused_with_those_that_there_are(study, compare):
    assert compare(study("A", spec(1, 80), spec(2, 90)), study("B", spec(3, 80))) == (
        1,
        "",
        [
            "gpd compare: no configuration is in two of these:",
            "gpd compare: A has germline, shared workflow, compact binding: N = 1, 2",
            "gpd compare: B has germline, shared workflow, compact binding: N = 3",
        ],
    )


def test_what_one_study_alone_has_is_said(study, compare):
    _, out, _ = compare(study("A", spec(1, 80), spec(2, 90), spec(4, 95)), study("B", spec(1, 40)))
    assert "only in A: germline, shared workflow, compact binding: N = 2, 4\n" in out


def test_pipelines_are_never_matched(study, compare):
    names = study("A", *A), study("B", *B, pipeline="tuxedo")
    code, _, errors = compare(*names, allow=ALLOWABLE)
    assert (code, errors[0]) == (1, "gpd compare: no configuration is in two of these:")


def test_rna_seq_has_samples_a_day_and_no_30x(study, compare):
    code, out, _ = compare(study("A", *A, pipeline="tuxedo"), study("B", *B, pipeline="tuxedo"))
    assert code == 0
    assert "samples a day" in out
    assert "quantify" in out
    assert "genomes a day │" not in out
    assert "30x" not in out


def test_a_curve_is_held_against_its_own_kind_first(study, compare):
    """Binding may differ, but compact has a partner of its own, so scatter has none left."""
    a = study("A", spec(1, 80), spec(1, 60, binding="scatter"))
    b = study("B", spec(1, 40))
    code, told = as_json(compare, a, b, allow=["binding"])
    assert code == 0
    assert [(one["binding"], figures(one, "makespan_s")["B"]["value"]) for one in told["configurations"]] == [
        ("compact", 40)
    ]
    assert "only in A: germline, shared workflow, scatter binding: N = 1" in told["notes"]


# ---- published results -------------------------------------------------------------------------------


SKUS = ["8352Y", "8358", "7763", "7713", "7543", "7702", "7502", "7402", "6248R", "6248"]


def test_published_results_need_no_allowance_and_say_what_differs(study, compare):
    code, out, errors = compare(study("A", *A), "published:7763")
    assert (code, errors) == (0, [])
    above = out[: out.index("┏")]
    for word in ("inputs", "gigabases", "tools", "hardware", "repeats", "rounding", "mode"):
        assert f"\n{word}: published: " in f"\n{above}"
    assert "7763, N = 4: genomes a day: printed 4.79, 3.19 follows from the steps" in above


def test_published_results_have_no_interval_and_no_repeats(study, compare):
    """25.60 h are 92160 s, so 24 / 25.60 = 0.9375 genomes of 53 x 3.1 Gb a day, against 950 of 1 Gb.

    Mapping took 2.44 h, and of 86.4 s and 96 s a quarter.
    """
    _, told = as_json(compare, study("A", *A), "published:7763")
    (point,) = told["configurations"]
    assert (point["mode"], point["binding"], point["n"]) == ("shared", "compact", 1)
    found = figures(point, "genomes_per_day")["published:7763"]
    assert (found["n"], found["value"], found["se"]) == (1, pytest.approx(0.9375), None)
    assert found["ratio"] is None
    assert figures(point, "makespan_s")["published:7763"]["value"] == pytest.approx(92160)
    assert figures(point, "gigabases_per_day")["published:7763"]["value"] == pytest.approx(0.9375 * 53 * 3.1)
    assert figures(point, "gigabases_per_day")["published:7763"]["ratio"] is None
    assert figures(point, "genomes_per_day_per_core")["published:7763"]["value"] == pytest.approx(0.9375 / 128)
    assert figures(point, "elapsed_h", MAP)["published:7763"]["value"] == pytest.approx(2.44)
    assert figures(point, "elapsed_h", MAP)["published:7763"]["ratio"] is None
    mapping = figures(point, "elapsed_h_per_gigabase", MAP)["published:7763"]
    assert mapping["value"] == pytest.approx(2.44 / (53 * 3.1))
    assert mapping["ratio"] is None
    assert figures(point, "cpu_utilisation")["published:7763"]["value"] is None
    assert figures(point, "summed_h", MAP)["published:7763"]["value"] is None


def test_published_results_stand_beside_each_mode(study, compare):
    names = study("A", *BOTH_MODES), study("B", *BOTH_MODES), "published:7763"
    assert [(one["mode"], list(one["sides"])) for one in as_json(compare, *names)[1]["configurations"]] == [
        ("independent", ["A", "B", "published:7763"]),
        ("shared", ["A", "B", "published:7763"]),
    ]
    assert compare(*names)[1].count("published:7763: most genomes a day") == 1


def test_what_was_published_has_no_ratio_to_what_was_measured_and_the_reason_is_said(study, compare):
    for names in ((study("A", *A), "published:7763"), ("published:7763", study("B", *A))):
        _, told = as_json(compare, *names)
        (line,) = told["verdict"]
        first, other = (side["name"] for side in told["sides"])
        assert line.startswith(f"{other} has no ratio to {first}: tools, inputs and mode of what was published")
        ratios = [side["ratio"] for one in told["configurations"][0]["figures"] for side in one["sides"].values()]
        assert set(ratios) == {None}


def test_published_results_have_ratios_at_the_same_n_alone(compare):
    """8352Y gave most at 12, and 7763 at 4 without failures, 48 x 4 / 2 = 96 h: 3.19 against 3.30 at N = 4."""
    code, told = as_json(compare, "published:8352Y", "published:7763")
    assert code == 0
    assert {one["best"]["genomes_per_day"]["ratio"] for one in told["best"][0]["sides"].values()} == {None}
    (at_four,) = (point for point in told["configurations"] if point["n"] == 4)
    daily = figures(at_four, "genomes_per_day")
    ratio = daily["published:7763"]["value"] / daily["published:8352Y"]["value"]
    assert daily["published:7763"]["ratio"]["value"] == pytest.approx(ratio)
    a_core = figures(at_four, "genomes_per_day_per_core")["published:7763"]["ratio"]["value"]
    assert a_core == pytest.approx(ratio * 64 / 128)
    assert told["verdict"][0].startswith("published:7763 does ")
    assert " (no interval) times published:8352Y's genomes a day (" in told["verdict"][0]
    assert "times per core), at N = " in told["verdict"][0]


def test_published_runs_of_one_sample_alone_have_no_ratio_to_those_of_several(compare):
    _, told = as_json(compare, "published:8352Y", "published:6248", "published:6248R")
    (daily,) = (figures(point, "genomes_per_day") for point in told["configurations"] if point["n"] == 1)
    assert [bool(daily[f"published:{sku}"]["ratio"]) for sku in ("8352Y", "6248", "6248R")] == [False, False, True]
    assert told["verdict"][-1].startswith("published:6248 has no ratio to published:8352Y: the published runs")


@pytest.mark.deep
def test_an_overview_of_all_that_was_published_is_short(study, compare, tmp_path):
    """All SKUs at their best N; steps of what was measured here alone."""
    page = tmp_path / "comparison.html"
    out = compare(study("A", *BOTH_MODES, spec(2, 90)), "published", page=page)[1]
    lines = out.splitlines()
    assert len(lines) < 85
    assert max(len(line) for line in lines if line[:1] in tuple("\u2503\u2502")) <= 140
    assert [sku for sku in SKUS if any(line.startswith(f"\u2502 published:{sku} ") for line in lines)] == SKUS
    (heads,) = {line for line in lines if line.startswith("\u2503") and "shared \u2503" in line}
    assert "A:" in out and "(published)" not in heads
    assert "(published)" not in text_of(page.read_text())


def test_published_alone_is_all_of_it(compare):
    code, told = as_json(compare, "published")
    assert code == 0
    assert len(told["sides"]) == 10
    assert [(point["n"], len(point["sides"])) for point in told["configurations"]] == [
        *((1, 10), (2, 2), (4, 2), (8, 2), (12, 2), (16, 2))
    ]
    (curve,) = told["best"]
    sides = [curve["sides"][f"published:{sku}"] for sku in ("8352Y", "8358", "7763", "6248")]
    assert [side["saturation"]["n"] for side in sides] == [16, 14, 6, 1]
    assert [side["best_n"] for side in sides] == [12, 14, 4, 1], "without failures"


# ---- arguments ---------------------------------------------------------------------------------------


def refused(compare, *names, allow=()):
    code, out, errors = compare(*names, allow=allow)
    assert (code, out, len(errors)) == (2, "", 1)
    return errors[0].removeprefix("gpd compare: ")


def test_what_is_no_study_is_refused(study, compare, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        output = refused(compare, study("A", *A) if name == "empty" else tmp_path / "A", tmp_path / name)
        assert output == (f"{tmp_path / name}: not a study: no run in it; name the folder of a study")


def test_a_study_without_a_finished_run_is_refused(study, compare):
    begun = study("B", spec(1, 80, unfinished=True), spec(1, 80, 0))
    assert refused(compare, study("A", *A), begun).startswith(f"{begun}: no finished batch but warm-ups")


def test_a_broken_record_is_refused_with_its_file(study, compare):
    a = study("A", *A)
    path = a / "germline-n1-shared-compact-r1" / "run.json"
    path.write_text("{")
    assert refused(compare, a, "published").startswith(f"{path}: not a valid run.json: ")


def test_one_study_is_no_comparison(study, compare):
    assert refused(compare, study("A", *A)).startswith("two at least are needed")


def test_a_study_is_not_compared_with_itself(study, compare):
    a = study("A", *A)
    assert refused(compare, a, a) == f"{a}: named twice"
    assert refused(compare, "published", "published:7763") == "published:7763: named twice"


def test_studies_of_one_name_are_told_apart_by_their_folders(study, compare):
    first, second = study("node1/study", *A), study("node2/study", *B)
    _, told = as_json(compare, first, second)
    assert [side["name"] for side in told["sides"]] == [str(first), str(second)]


def test_an_unknown_sku_is_refused_with_those_there_are(compare):
    assert refused(compare, "published:9999") == (
        "published:9999: the SKUs are 8352Y, 8358, 7763, 7713, 7543, 7702, 7502, 7402, 6248R, 6248"
    )


def test_an_unknown_allowance_is_refused_with_those_there_are(compare):
    assert refused(compare, "published", allow=["tolls"]) == f"--allow tolls: what may differ is {', '.join(ALLOWABLE)}"


# ---- what is printed ---------------------------------------------------------------------------------


STEADY = tuple(spec(1, makespan_s, repeat) for repeat, makespan_s in enumerate((80.0, 80.4, 79.6), 1))


def test_the_verdict_stands_first_on_terminal_and_page(study, compare, tmp_path):
    """B takes 0.8 of A's time in each repeat; C as long as A, give or take."""
    faster = [one | {"makespan_s": 0.8 * one["makespan_s"]} for one in STEADY]
    alike = [one | {"makespan_s": by * one["makespan_s"]} for one, by in zip(STEADY, (0.99, 1.01, 1.0), strict=True)]
    names = study("A", *STEADY), study("B", *faster), study("C", *alike)
    page = tmp_path / "comparison.html"
    _, out, _ = compare(*names, page=page)
    lines = [
        "B does 1.25 (1.25 to 1.25) times A's genomes a day, at N = 1; no step is equal within error",
        "C does 1.00 (0.975 to 1.03) times A's genomes a day, at N = 1, which is equal within error; "
        f"equal within error in steps {MAP} and {CALL}",
    ]
    assert above(out)[:3] == [*lines, ""]
    text = text_of(page.read_text())
    assert text.index(lines[0]) < text.index(lines[1]) < text.index("each at its best N")


def test_what_spoils_a_comparison_stands_before_its_tables_and_once(study, compare, tmp_path):
    page = tmp_path / "comparison.html"
    names = study("A", *A), study("B", *B, cache="cold", machine={"load": {"busy": True}})
    _, out, _ = compare(*names, allow=["cache"], page=page)
    text = text_of(page.read_text())
    (first, *_) = re.findall(r"B: \S+ was disturbed: some CPUs were at work before its start", out)
    for line in ("differs: cache: as_is (A) and cold (B)", first):
        assert out.count(line) == text.count(line) == 1
        assert out.index(line) < out.index("each at its best N")
        assert text.index(line) < text.index("each at its best N")


def write_keys(folder, **files):
    """The configuration and the profile of each run, as runs leave them."""
    for run in folder.glob("*/run.json"):
        for name, content in files.items():
            path = run.parent / name / "config.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content))


def test_settings_that_differ_are_named_by_their_keys_with_both_values(study, compare):
    a = study("A", *A)
    b = study("B", *B, settings={"config_digest": DIGEST}, own={"profile_digest": "1" * 64})
    c = study("C", *B, own={"profile_digest": "2" * 64})
    for folder, least, jobs in ((a, 0.5, 2), (b, 0.7, 4), (c, 0.5, 2)):
        settings = {"samples": str(folder), "qc": {"min_mapped": least, "bait": f"{folder}/x.bed"}, "bqsr": "none"}
        write_keys(folder, config=settings, profile={"jobs": jobs, "set-threads": {MAP: jobs}})
    lines = compare(a, b, allow=["profile"])[2]
    assert lines == ["gpd compare: not comparable: settings: qc.min_mapped: 0.5 (A) and 0.7 (B); --allow settings"]
    lines = compare(c, b, allow=["settings"])[2]
    assert lines == ["gpd compare: not comparable: profile: jobs: 2 (C) and 4 (B); --allow profile"]


def rows_of(out, caption):
    """The rows of a table on the terminal, as texts."""
    lines = out[out.index(caption) :].split("\n\n")[0].splitlines()
    return [[text.strip() for text in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_the_first_table_has_a_row_a_side_at_its_best_n(study, compare):
    """A: 1000 and 900 a day at N = 1, and 172800 / 100 = 1728 at 2; the published results: see test_curve.py."""
    names = study("A", *A, spec(2, 100)), "published:8352Y"
    assert rows_of(compare(*names)[1], "germline, shared workflow, compact binding: each at its best N") == [
        ["A", "1,728", "864", "1,728", "", "2", "0", "8352Y", "2"],
        ["published:8352Y", "5.98", "0.0934", "982", "10.6", "12", "0", "8352Y", "64"],
    ]


def test_the_table_of_a_point_has_each_figure_beside_its_ratio(study, compare):
    """A takes 86.4 and 96 s: 91.2, and 12.706 x half of the difference is the error; B 72 and 80 s: 76, 0.833 of it.

    The first step is a quarter of each; one CPU of two works a quarter of the time.
    """
    code, out, _ = compare(study("A", *A), study("B", *B))
    assert code == 0
    rows = {specs[0]: specs[1:] for specs in rows_of(out, "germline, N = 1, shared workflow, compact binding ")}
    assert rows["makespan, s"][1:] == ["91.2 \u00b1 61.0", "76.0 \u00b1 50.8"]
    assert rows["makespan, s"][0].startswith("0.833 (")
    assert rows["genomes a day"] == ["1.20 (1.20-1.20)", "950 \u00b1 635", "1,140 \u00b1 762"]
    assert rows["genomes a day per core"] == ["1.20 (1.20-1.20)", "475 \u00b1 318", "570 \u00b1 381"]
    assert rows[MAP][1:] == ["22.8 \u00b1 15.2", "19.0 \u00b1 12.7"]
    assert rows["CPU utilisation"][1:] == ["0.125 \u00b1 0.000", "0.125 \u00b1 0.000"]
    assert rows["samples failed"] == ["", "0", "0"]


def test_modes_of_one_study_stand_beside_each_other_and_beside_what_was_published(study, compare):
    name, modes = study("first", *BOTH_MODES), ["first:independent", "first:shared"]
    for others, published in (((), []), (("published",), [f"published:{sku}" for sku in SKUS])):
        code, out, _ = compare(name, *others)
        assert code == 0
        assert [row[0] for row in rows_of(out, "each at its best N")] == [*modes, *published]


def test_a_processor_without_a_sku_is_what_it_calls_itself(tmp_path, compare):
    folder = write_study(tmp_path / "A", *BOTH_MODES, sku=None)
    for path in folder.glob("*/run.json"):
        told = json.loads(path.read_text())
        path.write_text(json.dumps(told | {"host": {"cpu_model": "AMD EPYC"}}))
    assert [(row[0], row[-2]) for row in rows_of(compare(folder)[1], "each at its best N")] == [
        ("A:independent", "AMD EPYC"),
        ("A:shared", "AMD EPYC"),
    ]


def test_a_side_may_have_a_name_in_place_of_its_study_s(study):
    folder, other = (str(study(name, *A)) for name in ("A", "B"))
    assert [side.name for side in read_sides([folder, other], labels={folder: "registry:mine"})] == [
        "registry:mine",
        "B",
    ]


def test_tables_are_as_wide_as_they_may_be(study):
    """What does not fit goes on in another table, beside the first side again; one side more is always shown."""
    sides = [str(study(name, *A)) for name in ("A", "B", "C", "D")]
    compared = compared_sides(read_sides(sides))
    heads = {width: [grid.heads for grid in comparison_grids.grids(compared, width)][1:] for width in (None, 140, 10)}
    assert [len(heads[width]) for width in heads] == [1, 2, 3]


def test_the_first_table_keeps_to_120_characters(study):
    """Names, errors and intervals are broken where they have to be, and only there."""
    names = [*(str(study(name, *A)) for name in ("a-long-name:of:a-study", "B")), "published:8352Y"]
    compared = compared_sides(read_sides(names))
    narrow, wide = (next(comparison_grids.grids(compared, width)) for width in (120, None))
    assert wide.width > 120 >= narrow.width
    assert texts_of(narrow) == texts_of(wide)


def texts_of(grid):
    """The texts of a table, without blanks and line breaks."""
    return ["".join(text.split()) for group in grid.groups for line in group.lines for text in line.texts]


def test_names_stand_as_they_are(study, compare, tmp_path):
    page = tmp_path / "comparison.html"
    _, out, _ = compare(study("[red]<b>A", *A), study("B", *B), page=page)
    assert "[red]<b>A" in out
    assert "[red]<b>A" in text_of(page.read_text())
