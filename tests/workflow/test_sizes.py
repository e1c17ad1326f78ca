"""Threads and memory by the size of lanes and what a machine has, as dry runs say; machines and lanes are made up."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Cohort, one_contig_cohort, random_sequence, write_fastq

PROFILE = ROOT / "profiles" / "throughput"
THROUGHPUT = ("--workflow-profile", str(PROFILE))
WHOLE, LANE = (
    103_333_000_000,
    25_833_000_000,
)  # bytes of two plain files each, 0.45 bases a byte: 30x, and a quarter
HUMAN_INDEX = 5_400_000_000
HUMAN_BASES = 3_100_000_000

WANTED = defaultdict(lambda: ("priority",), map_and_sort=("priority", "threads"))


def cohort_of(folder: Path, sizes: dict[str, list[int]]) -> Cohort:
    """Samples whose lanes are files of such sizes, holes but for their beginnings; an index of a human one's size."""
    cohort, _ = one_contig_cohort(folder, 2000, seed=1)
    reads = [(f"read{number}", random_sequence(50, number)) for number in range(1100)]
    head = write_fastq(folder / "head.fq", reads).read_bytes()
    for sample, lanes in sizes.items():
        for lane, size in enumerate(lanes, 1):
            paths = [folder / f"{sample}_{lane}_{mate}.fq" for mate in (1, 2)]
            for path in paths:
                path.write_bytes(head)
                with path.open("r+b") as file:
                    file.truncate(size)
            cohort.add_unit(sample, f"L{lane}", fq1=paths[0].name, fq2=paths[1].name)
    made = folder / "results" / "reference"
    made.mkdir(parents=True)
    for end in ("amb", "ann", "pac", "sa", "bwt", "alt"):
        (made / f"genome.fa.{end}").touch()
    with (made / "genome.fa.bwt").open("r+b") as file:
        file.truncate(HUMAN_INDEX)
    return cohort


@pytest.fixture
def genomes(tmp_path: Path) -> Cohort:
    """Samples of one lane, more than are mapped at once."""
    return cohort_of(tmp_path, {f"S{number}": [WHOLE] for number in range(1, 35)})


def jobs(cohort: Cohort, cores: int, mem_mb: int, *arguments: str) -> tuple[dict[str, list[tuple[int, int]]], str]:
    """Threads and memory of each job by rule, and the line that says what each gets."""
    machine = ("--cores", str(cores), "--resources", f"mem_mb={mem_mb}")
    ran = cohort.snakemake("--dry-run", *machine, *arguments)
    assert ran.exit_code == 0, ran.output
    found: dict[str, list[tuple[int, int]]] = {}
    for rule, text in re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", ran.output, re.MULTILINE):
        threads, mem_mb = (re.search(pattern, text) for pattern in (r"    threads: (\d+)", r"\bmem_mb=(\d+)"))
        found.setdefault(rule, []).append((int(threads[1]) if threads else 1, int(mem_mb[1]) if mem_mb else 0))
    return found, next((line for line in ran.lines if line.startswith("given here ")), "")


def at_once(of: dict[str, list[tuple[int, int]]], rule: str, cores: int, mem_mb: int) -> int:
    """How many cores are busy with jobs of one rule."""
    ((threads, memory),) = set(of[rule])
    return threads * min(cores // threads, mem_mb // memory)


@pytest.mark.long
@pytest.mark.deep
@pytest.mark.parametrize(
    ("cores", "mem_mb", "threads", "callers"), [(128, 505_000, 4, 128), (128, 250_000, 7, 71), (64, 250_000, 4, 64)]
)
def test_large_lanes_are_mapped_within_a_day_and_no_core_idles(
    genomes: Cohort, cores: int, mem_mb: int, threads: int, callers: int
) -> None:
    of, _ = jobs(genomes, cores, mem_mb, *THROUGHPUT)
    assert {asked for asked, _ in of["map_and_sort"]} == {threads}
    assert at_once(of, "map_and_sort", cores, mem_mb) == cores // threads * threads
    assert at_once(of, "haplotype_caller", cores, mem_mb) == callers
    assert {asked for rule in ("mark_duplicates", "haplotype_caller") for asked, _ in of[rule]} == {1}


@pytest.mark.deep
@pytest.mark.parametrize(("mem_mb", "threads"), [(1_700_000, 2), (505_000, 4), (250_000, 9)])
def test_a_mapper_with_an_index_for_each_process_has_as_few_as_memory_holds(
    genomes: Cohort, mapper_command: None, mem_mb: int, threads: int
) -> None:
    """Of bwa-mem4's index a process holds less than its files have; two threads are what a day needs."""
    genomes.config["mapper"] = "bwa-mem4"
    made = genomes.folder / "results/reference"
    for end in ("0123", "bwt.2bit.64"):
        with (made / f"genome.fa.{end}").open("wb") as file:
            file.truncate(HUMAN_BASES * 11 // 4)
    of, _ = jobs(genomes, 128, mem_mb, *THROUGHPUT)
    assert set(of["map_and_sort"]) == {(threads, 5200 + 450 * threads + round(2.4 * HUMAN_BASES / 1e6))}
    assert at_once(of, "map_and_sort", 128, mem_mb) == 128 // threads * threads


@pytest.mark.long
@pytest.mark.deep
def test_lanes_that_one_thread_maps_in_time_get_more_where_memory_leaves_cores_idle(tmp_path: Path) -> None:
    lanes = cohort_of(tmp_path, {f"S{number}": [LANE] * 4 for number in range(1, 34)})
    for mem_mb, threads in ((1_300_000, 1), (700_000, 2), (505_000, 3)):
        of, _ = jobs(lanes, 128, mem_mb, *THROUGHPUT)
        assert {asked for asked, _ in of["map_and_sort"]} == {threads}
        assert at_once(of, "map_and_sort", 128, mem_mb) == 128 // threads * threads


@pytest.mark.deep
def test_small_machines_keep_one_thread_unless_memory_leaves_cores_idle(tmp_path: Path) -> None:
    mixed = cohort_of(tmp_path, {"S1": [WHOLE, 20_000_000], "S2": [20_000_000]})
    of, _ = jobs(mixed, 2, 24_000, *THROUGHPUT)
    assert {asked for asked, _ in of["map_and_sort"]} == {1}
    assert of["haplotype_caller"] == [(1, 6000)] * 2
    of, _ = jobs(mixed, 2, 15_000, *THROUGHPUT)
    assert {asked for asked, _ in of["map_and_sort"]} == {2}, "one job is all that memory holds"


@pytest.mark.deep
def test_few_lanes_share_all_cores_and_a_large_one_has_up_to_a_socket(tmp_path: Path) -> None:
    mixed = cohort_of(tmp_path, {"S1": [WHOLE, 20_000_000]})
    of, _ = jobs(mixed, 128, 505_000)
    assert sorted(of["map_and_sort"]) == [(32, 24_000), (64, 38_400)]
    of, _ = jobs(mixed, 128, 505_000, *THROUGHPUT)
    assert sorted(asked for asked, _ in of["map_and_sort"]) == [3, 4], "as few as memory and a day want"
    of, _ = jobs(mixed, 16, 64_000)
    assert {asked for asked, _ in of["map_and_sort"]} == {8}


@pytest.mark.deep
def test_what_a_profile_or_a_user_sets_goes_before(tmp_path: Path) -> None:
    cohort = cohort_of(tmp_path, {"S1": [WHOLE]})
    of, _ = jobs(cohort, 128, 505_000)
    assert (of["map_and_sort"][0][0], of["haplotype_caller"][0][1]) == (64, 3945)
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text())
    profile["set-threads"]["map_and_sort"] = 3
    profile["set-resources"]["haplotype_caller"] = {"mem_mb": 3600}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/config.yaml").write_text(yaml.safe_dump(profile))
    of, _ = jobs(cohort, 128, 505_000, "--workflow-profile", str(tmp_path / "mine"))
    assert (of["map_and_sort"][0][0], of["haplotype_caller"][0][1]) == (3, 3600)
    of, _ = jobs(cohort, 128, 505_000, *THROUGHPUT, "--set-threads", "map_and_sort=7")
    assert of["map_and_sort"][0][0] == 7


@pytest.mark.deep
def test_samples_go_one_after_the_other_where_mapping_takes_several_threads(genomes: Cohort) -> None:
    ran = genomes.snakemake("--dry-run", "--cores", "16", "--resources", "mem_mb=200000", *THROUGHPUT)
    assert ran.exit_code == 0, ran.output
    of = {}
    for rule, text in re.findall(r"^rule (\w+):\n((?:    .*\n)*)", ran.output, re.MULTILINE):
        if owner := re.search(r"(?:sample|callset)=(S\d+)", text):
            of[rule, owner[1]] = [
                int(re.search(rf"^    {name}: (\d+)$", text, re.MULTILINE)[1]) for name in WANTED[rule]
            ]
    assert of["map_and_sort", "S1"][1] == 2
    assert of["hard_filter", "S1"][0] > of["map_and_sort", "S2"][0] > 0


@pytest.mark.deep
def test_depth_has_memory_for_the_longest_contig(tmp_path: Path) -> None:
    """3.8 GB were measured of a human genome."""
    cohort = cohort_of(tmp_path, {"S1": [WHOLE]})
    asked = jobs(cohort, 8, 64_000)[0]["depth"][0][1]
    assert asked == 500, "a contig of 2 kb"
    with (tmp_path / "genome.fa").open("a") as fasta:
        fasta.write(f">chr2\n{'ACGTN' * 2_000_000}\n")
    assert jobs(cohort, 8, 64_000)[0]["depth"][0][1] == 660
