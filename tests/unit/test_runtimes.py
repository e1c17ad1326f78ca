"""How many minutes a job asks for: the arithmetic, and that the table holds what published results say."""

import csv
import gzip
import random
from collections.abc import Iterator

import pytest
from conftest import ROOT, script

from gpd.published.curves import STEPS

runtimes = script(ROOT / "workflow/scripts/resources/runtimes.py")
TABLE = ROOT / "workflow/runtimes.tsv"
GIGABASES_53X = 3.1 * 53  # of the published genome


def published() -> Iterator[tuple[str, float, int]]:
    """Step, hours and cores of each published step of one genome."""
    with (ROOT / "resources/published/germline_single_sample.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield STEPS[row["step"]], float(row["hours"]), int(row["cores_used"])


@pytest.mark.parametrize("spread_over", ["threads", "shards", "one"])
@pytest.mark.parametrize("scatters", [True, False])
def test_minutes_are_what_is_fixed_and_twice_what_the_reads_take(spread_over, scatters):
    row = runtimes.Row(60, 600, spread_over)
    shared = spread_over == "threads" or (spread_over == "shards" and scatters)
    assert row.runtime(3, 4, scatters) == 60 + 2 * 600 * 3 / 60 / (4 if shared else 1)


def test_the_slowest_published_step_has_twice_its_time():
    """On as many cores as it had; and of long steps none has four times as long."""
    rows = runtimes.read(TABLE, {"gatk3", "bwa"})
    times: dict[str, list[float]] = {}
    for step, hours, cores in published():
        asked = rows.get(step, rows["others"]).runtime(GIGABASES_53X, cores, True) / 60
        times.setdefault(step, []).append(asked / hours)
        assert asked - 1 < 4 * hours or hours < 1 or step == "base_recalibration"  # that is two jobs here
    assert len(times) == 9
    assert min(min(of_step) for of_step in times.values()) >= 2


def test_alternatives_of_tools_have_rows_of_their_own():
    third, fourth = (runtimes.read(TABLE, {gatk})["haplotype_caller"] for gatk in ("gatk3", "gatk4"))
    assert third.spread_over == "threads"
    assert fourth.spread_over == "shards"


def test_each_row_says_where_it_comes_from():
    with TABLE.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {row["from"].partition(":")[0] for row in rows} == {"published", "measured", "not measured"}
    assert [row["rule"] for row in rows if row["from"] == "not measured" and float(row["minutes"]) < 60] == []


def test_bases_are_guessed_by_the_size_of_files(tmp_path):
    for name, size in (("a.fq.gz", 1000), ("b.fq", 1000), ("c.cram", 100)):
        (tmp_path / name).write_bytes(bytes(size))

    def unit(**files: str) -> float:
        row = dict.fromkeys(("fq1", "fq2", "bam"), "") | {key: str(tmp_path / name) for key, name in files.items()}
        return runtimes.gigabases(row) * 1e9

    assert unit(fq1="a.fq.gz") == pytest.approx(2000)
    assert unit(fq1="a.fq.gz", fq2="b.fq") == pytest.approx(2450)
    assert unit(bam="c.cram") == pytest.approx(500)
    assert unit(fq1="not there.fq.gz") == 0


@pytest.mark.parametrize("streams", [1, 50], ids=["gzip", "BGZF"])
def test_what_part_of_the_guessed_bases_there_are_is_seen_at_a_files_head(tmp_path, streams):
    rng = random.Random(1)
    reads = [
        f"@read{number}\n{''.join(rng.choices('ACGT', k=100))}\n+\n{''.join(rng.choices('ABCDEFGH', k=100))}\n"
        for number in range(5000)
    ]
    size = len(reads) // streams
    packed = b"".join(
        gzip.compress("".join(reads[start : start + size]).encode()) for start in range(0, len(reads), size)
    )
    path = tmp_path / "a.fq.gz"
    path.write_bytes(packed)
    exact = 100 * len(reads) / len(packed) / runtimes.BASES_A_BYTE[".gz"]
    assert runtimes.share_of_guessed(path) == pytest.approx(exact, rel=0.05)
    assert exact < 0.9
    assert runtimes.share_of_guessed(tmp_path / "a.bam") == 1
