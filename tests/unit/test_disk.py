"""How much disk samples take: what files tell, what is made of that, and measured samples beside predicted ones."""

import csv
import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, random_sequence, script, write_fastq

disk = script(ROOT / "workflow" / "scripts" / "resources" / "disk.py")
MEASURED = ROOT / "tests" / "golden" / "disk" / "measured.tsv"
WITHIN = 0.25
GERMLINE = {
    **{"pipeline": "germline", "scatter": "none", "realigner": "none", "alignment_format": "bam", "bam_input": "keep"},
    **{"calling": "per_sample", "gatk": "gatk4", "mapper": "bwa", "reference": {"bwa_index": ""}, "cram_reference": ""},
    **{"duplicates": "sambamba", "bqsr": "gatk", "quantize": [], "reblock": False},
}
TUXEDO = {"pipeline": "tuxedo", "aligner": "hisat2"}
HUMAN = disk.Reads(bases=93e9, fastq=60e9)
MUCH = 10_000_000  # MB: nothing is spilled


@pytest.fixture(scope="module")
def reads():
    return [(f"read{number}", random_sequence(100, number)) for number in range(400)]


def row(fq1: Path | str = "", fq2: Path | str = "", bam: Path | str = "") -> dict[str, str]:
    return {"fq1": str(fq1), "fq2": str(fq2), "bam": str(bam)}


# ---- what there is to read ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reads.fq", "reads.fq.gz"])
def test_bases_are_told_from_the_beginning_of_a_file(tmp_path, reads, name, monkeypatch):
    path = write_fastq(tmp_path / name, reads)
    monkeypatch.setattr(disk, "HEAD", path.stat().st_size // 3)
    (((unit,),)) = disk.measure([[row(path, path)]])
    assert unit.bases == pytest.approx(2 * 400 * 100, rel=0.05)
    packed = write_fastq(tmp_path / "packed.fq.gz", reads).stat().st_size
    assert unit.fastq == pytest.approx(2 * packed, rel=0.1)


def test_of_a_cohort_some_files_are_looked_at_and_all_sizes_count(tmp_path, reads, monkeypatch):
    paths = [write_fastq(tmp_path / f"{number}.fq.gz", reads[: 40 * (number + 1)]) for number in range(10)]
    looked = []
    monkeypatch.setattr(disk, "_head", lambda path: looked.append(path) or Path(path).read_bytes())
    measured = [unit.bases for (unit,) in disk.measure([row(path)] for path in paths)]
    assert len(looked) == disk.HEADS
    assert measured == pytest.approx([4000 * number for number in range(1, 11)], rel=0.15)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8bno gzip", b"@only\nACGT\n"])
def test_files_that_tell_nothing_end_no_run(tmp_path, content):
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(content)
    (((unit,),)) = disk.measure([[row(path, tmp_path / "not there")]])
    assert unit == disk.Reads(len(content), len(content))


def test_aligned_units_count_by_their_size(tmp_path):
    (tmp_path / "a.cram").write_bytes(bytes(1000))
    (((unit,),)) = disk.measure([[row(bam=tmp_path / "a.cram")]])
    assert (unit.bases, unit.aligned) == (5000, 1000)


# ---- what is made of them ----------------------------------------------------------------------------


def predict(*units, sort_mb=MUCH, genome=3.1e9, **config):
    whole = GERMLINE if config.get("pipeline", "germline") == "germline" else TUXEDO
    return disk.predict(units, whole | config, sort_mb, genome)


@pytest.mark.parametrize(("depth", "of_genome"), [(0.01, 0.01), (1, 0.632), (30, 1)])
def test_how_much_of_a_genome_reads_cover(depth, of_genome):
    assert disk.covered(depth * 3.1e9, 3.1e9) == pytest.approx(of_genome * 3.1e9, rel=0.01)


def test_a_thinly_covered_genome_takes_more_a_byte_of_its_reads():
    thin = disk.Reads(HUMAN.bases / 100, HUMAN.fastq / 100)
    assert predict(thin).kept / thin.fastq > 1.4 * predict(HUMAN).kept / HUMAN.fastq


def test_lanes_of_a_sample_are_sorted_side_by_side_and_marked_together():
    lanes = [disk.Reads(HUMAN.bases / 4, HUMAN.fastq / 4)] * 4
    whole, of_lanes = predict(HUMAN, sort_mb=10_000), predict(*lanes, sort_mb=10_000)
    marked, mapped = (of_lanes.rules[name] for name in ("mark_duplicates", "map_and_sort"))
    assert marked.results == pytest.approx(whole.rules["mark_duplicates"].results, rel=0.02), "a lane is thinner"
    assert mapped.temporary == pytest.approx(whole.rules["map_and_sort"].temporary, rel=0.05)


def test_bytes_of_disk_a_byte_of_fastq_are_what_the_manual_says():
    most = {name: predict(HUMAN, pipeline=name, scatter="auto").peak / HUMAN.fastq for name in ("germline", "tuxedo")}
    assert most["germline"] <= 3.1 and most["tuxedo"] <= 0.9
    assert predict(HUMAN).peak / HUMAN.fastq == pytest.approx(2.1, rel=0.01)
    manual = (ROOT / "docs/how-to/disk-and-memory.md").read_text().replace("\u00d7", "x")
    assert "| germline | 3.1 x the size of its compressed FASTQ files (2 x with `scatter: none`) |" in manual
    assert "| tuxedo | 0.9 x |" in manual


def test_what_fits_in_memory_is_not_spilled():
    assert predict(HUMAN).rules["map_and_sort"].temporary == 0
    assert predict(HUMAN, sort_mb=10_000).temporary > 30e9
    assert predict(HUMAN, pipeline="tuxedo").temporary == 0
    assert predict(HUMAN, pipeline="tuxedo", sort_mb=10_000).temporary > 30e9


def test_shards_lie_beside_what_they_are_gathered_into():
    whole, cut = predict(HUMAN), predict(HUMAN, scatter="auto")
    recalibrated = whole.rules["base_recalibration"].results - whole.rules["base_recalibrator"].results
    shards = cut.rules["base_recalibration"].results - whole.rules["base_recalibration"].results
    assert shards == pytest.approx(recalibrated)
    small = disk.Reads(1e6, 1e6)
    assert predict(small, scatter="auto") == predict(small)
    assert predict(small, scatter=4).results > predict(small).results


def test_who_marks_duplicates_writes_temporary_files():
    """sambamba 25 bytes for each of 465 million pairs of 2 x 100 bases; samtools all alignments."""
    assert predict(HUMAN).rules["mark_duplicates"].temporary == pytest.approx(11.6e9, rel=0.01)
    assert predict(HUMAN, duplicates="samtools").rules["mark_duplicates"].temporary > 100e9


def test_choices_of_the_configuration_count():
    assert "realign_indels" not in predict(HUMAN).rules
    assert "realign_indels" in predict(HUMAN, realigner="gatk3").rules
    assert "base_recalibration" not in predict(HUMAN, bqsr="none").rules
    assert predict(HUMAN, bqsr="none").kept < predict(HUMAN).kept
    assert predict(HUMAN, alignment_format="cram").kept < predict(HUMAN).kept
    assert predict(HUMAN, quantize=[10, 20, 30]).kept < predict(HUMAN).kept
    assert "reblock_gvcf" not in predict(HUMAN).rules
    reblocked = predict(HUMAN, reblock=True)
    assert reblocked.rules["reblock_gvcf"].results > reblocked.rules["haplotype_caller"].results > reblocked.kept
    assert reblocked.kept == pytest.approx(predict(HUMAN).kept - 0.6 * (disk.GVCF * HUMAN.fastq + disk.FIRST * 3.1e9))
    assert predict(HUMAN, pipeline="tuxedo", aligner="tophat2").results > predict(HUMAN, pipeline="tuxedo").results
    taken = disk.Reads(HUMAN.bases, HUMAN.fastq, aligned=70_000_000_000)
    assert predict(taken, bam_input="remap").rules["map_and_sort"].temporary == 70e9
    cram = disk.Reads(HUMAN.bases, HUMAN.fastq, aligned=16_000_000_000)
    assert predict(cram, bam_input="remap").rules["map_and_sort"].temporary == disk.SORTED * HUMAN.fastq


def test_what_samples_share_is_counted_once():
    needs = [predict(HUMAN)] * 3
    per_sample = disk.shared(GERMLINE, 3.1e9, needs, 1.75)
    assert per_sample == pytest.approx(3.1e9 * 2.75, rel=0.01)
    of_cohort = GERMLINE | {"calling": "joint"}
    joint = disk.shared(of_cohort, 3.1e9, needs, 1.75)
    assert joint == pytest.approx(per_sample + 3 * needs[0].gvcf)
    assert joint > disk.shared(of_cohort, 3.1e9, [predict(HUMAN, reblock=True)] * 3, 1.75) > per_sample
    assert joint == disk.shared(of_cohort, 3.1e9, [predict(HUMAN, alignment_format="cram")] * 3, 1.75)
    assert disk.shared(GERMLINE | {"reference": {"bwa_index": "hg38"}}, 3.1e9, needs, 1.75) < per_sample
    assert disk.shared(GERMLINE | {"cram_reference": "hg19.fa"}, 3.1e9, needs, 1.75) == per_sample + 3.1e9


def test_temporary_files_of_a_sorter_and_of_the_marking_of_duplicates():
    """93 Gb in chunks of 0.4 Gb; 930 million short reads, 600,000 a file."""
    assert disk.most_files([[HUMAN]], GERMLINE, 10_000) == pytest.approx(1550)
    assert disk.most_files([[HUMAN]], GERMLINE, 1_000) == pytest.approx(93e9 * disk.IN_MEMORY / (1e9 * 5 / 48))
    assert disk.most_files([[HUMAN]], TUXEDO, 10_000) == pytest.approx(93e9 * disk.IN_MEMORY / 2.5e9)


def test_predictions_are_noted_for_others(tmp_path):
    disk.write(tmp_path / "disk.json", {"S1": predict(HUMAN)}, "results/", "/tmp")
    told = json.loads((tmp_path / "disk.json").read_text())
    assert (told["results"], told["temporary"], list(told["samples"])) == ("results/", "/tmp", ["S1"])
    assert told["margin"] == disk.MARGIN
    assert told["samples"]["S1"]["rules"]["map_and_sort"] == [round(predict(HUMAN).rules["map_and_sort"].results), 0]
    assert [path.name for path in tmp_path.iterdir()] == ["disk.json"]


RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^rule |^\S|\Z)", re.MULTILINE | re.DOTALL)


def rules_of(pipeline: str) -> dict[str, str]:
    """The text of each rule of a pipeline."""
    files = (ROOT / "workflow/rules").glob(f"{pipeline}*/*.smk")
    return {name: text for path in files for name, text in RULE.findall(path.read_text())}


@pytest.mark.parametrize(("pipeline", "config"), [("germline", {"realigner": "gatk3"}), ("tuxedo", {})])
def test_each_rule_whose_files_go_again_is_predicted(pipeline, config):
    predicted, rules = set(predict(HUMAN, pipeline=pipeline, **config).rules), rules_of(pipeline)
    goes = {name for name, text in rules.items() if re.search(r'(?:temp|kept_alignment)\("[^"]*\{sample\}', text)}
    assert goes
    assert goes <= predicted <= set(rules)


# ---- measured beside predicted -----------------------------------------------------------------------


def measured() -> list[dict[str, str]]:
    with MEASURED.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("row", measured(), ids=lambda row: row["name"])
def test_measured_samples_took_what_is_predicted(row):
    """Samples that ran alone with the real tools; how, tests/golden/disk/record.py says."""
    units = [disk.Reads(*unit) for unit in json.loads(row["units"])]
    need = predict(*units, sort_mb=int(row["sort_mb"]), genome=int(row["genome"]), **json.loads(row["settings"]))
    # what a job has on both disks just before its end may lie between two looks
    both = [sum(spaces) for spaces in json.loads(row["rules"] or "{}").values()]
    assert need.peak == pytest.approx(max(int(row["peak_bytes"]), *both, 0), rel=WITHIN)
    assert need.kept == pytest.approx(int(row["kept_bytes"]), rel=WITHIN)


NATIVE = 1.5 * disk.MIB  # libraries that GATK unpacks into the temporary folder; predicted with the results (SMALL)


@pytest.mark.parametrize("row", [row for row in measured() if row["rules"]], ids=lambda row: row["name"])
def test_each_step_took_of_each_disk_what_is_predicted(row):
    """Room for a step may be more than it takes, for smaller files are counted with each. As a step begins, what the
    one before has read may still be there: Snakemake removes it meanwhile.
    """
    units = [disk.Reads(*unit) for unit in json.loads(row["units"])]
    known = {"sort_mb": int(row["sort_mb"]), "genome": int(row["genome"])}
    predicted = predict(*units, **known, **json.loads(row["settings"])).rules
    took = {rule: spaces for rule, spaces in json.loads(row["rules"]).items() if rule in predicted}
    assert {"map_and_sort", "mark_duplicates", "haplotype_caller"} <= set(took) or "align" in took
    before = dict(zip(list(predicted)[1:], predicted.values(), strict=False))
    for rule, (results, temporary) in took.items():
        room = max(predicted[rule].results, before[rule].results if rule in before else 0)
        assert results * (1 - WITHIN) <= room, rule
        assert predicted[rule].results * (1 - WITHIN) <= results + disk.SMALL["germline"], rule
        assert temporary * (1 - WITHIN) <= predicted[rule].temporary + NATIVE, rule
        assert predicted[rule].temporary * (1 - WITHIN) <= temporary * 2 + NATIVE, rule
