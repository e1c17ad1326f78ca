"""Laws of a rehearsal's jobs: what made them comes out, with intervals that hold it, and `gpd size` answers by them."""

import json

import msgspec
import numpy as np
import pytest
from subcommands import gpd

from gpd.errors import GpdError
from gpd.sizing import rehearsal_machine
from gpd.sizing.rehearsal_machine import Genome, Law, Rehearsal, RehearsedJob

START, OF_REFERENCE, OF_READS = 20.0, 300.0, 2800.0
# gigabases of the reference, and of reads
SIZES = [
    (0.4, 0.04),
    (0.4, 0.12),
    (0.4, 1.3),
    (0.3, 0.03),
    (0.35, 0.1),
    (0.5, 0.05),
]


def caller(reference_gb, gigabases, noise=1.0):
    cpu_s = (START + OF_REFERENCE * reference_gb + OF_READS * gigabases) * noise
    return RehearsedJob("haplotype_caller", "haplotype_caller", reference_gb, cpu_s, cpu_s, "S1", gigabases=gigabases)


def record(jobs, **others):
    gigabases = {"S1": 2.2, "S2": 0.3, "S3": 0.3}
    return Rehearsal("c0ffee", "a CPU", 2, 24.0, 3.0, gigabases, tuple(jobs), **others)


def test_terms_that_made_the_jobs_come_out():
    law = Law.of([caller(*size) for size in SIZES])
    assert law.terms == pytest.approx([START, OF_REFERENCE, OF_READS])
    assert law.predict(3.0, 93.0).value == pytest.approx(START + 3 * OF_REFERENCE + 93 * OF_READS)


def test_the_interval_holds_the_truth_as_often_as_it_says(figure):
    rng = np.random.default_rng(1)
    truth, held, tries = START + 3 * OF_REFERENCE + 93 * OF_READS, 0, 300
    jobs = [caller(*size) for size in SIZES]
    for _ in range(tries):
        noisy = [msgspec.structs.replace(job, cpu_s=job.cpu_s + rng.normal(0, 30)) for job in jobs]
        found = Law.of(noisy).predict(3.0, 93.0)
        held += found.low <= truth <= found.high
    figure(f"95% intervals of a law that held the truth: {held / tries:.0%} of {tries}")
    assert 0.92 <= held / tries <= 0.98


def test_jobs_of_whole_samples_have_no_term_of_their_own_for_the_reference():
    jobs = [
        RehearsedJob("map_and_sort", "map_and_sort", 3.0, 30 + 400 * gb, 1.0, "S1", gigabases=gb)
        for gb in (2.2, 0.3, 0.31)
    ]
    law = Law.of(jobs)
    assert law.terms == pytest.approx([30, 0, 400])
    assert law.freedom == 1


def test_as_many_terms_as_jobs_leave_no_interval():
    jobs = [RehearsedJob("depth", "depth", 3.0, 5 + gb, 1.0, "S1", gigabases=gb) for gb in (2.2, 0.3)]
    found = Law.of(jobs).predict(3.0, 93.0)
    assert (found.value, found.low, found.high) == (pytest.approx(98), None, None)


def test_no_term_is_below_zero():
    falling = [
        RehearsedJob("depth", "depth", 3.0, cpu_s, 1.0, "S1", gigabases=gb) for gb, cpu_s in ((1, 30), (2, 20), (3, 10))
    ]
    assert Law.of(falling).terms.tolist() == pytest.approx([20, 0, 0])


def test_a_genome_has_its_own_jobs_and_a_share_of_what_samples_have_in_common():
    jobs = [caller(*size) for size in SIZES]
    jobs += [RehearsedJob("genotype_gvcfs", "gather_genotypes", 3.0, 60.0, 1.0) for _ in range(2)]
    jobs += [RehearsedJob("reference", "bwa_index", 3.0, 5000.0, 1.0)]  # once, whatever samples come
    steps = Genome(record(jobs), 93.0).steps
    assert steps.keys() == {"haplotype_caller", "genotype_gvcfs"}
    assert steps["genotype_gvcfs"].value == pytest.approx(2 * 60 / 3)
    assert Genome(record(jobs), 93.0).seconds.value == pytest.approx(sum(each.value for each in steps.values()))


def test_intervals_of_a_call_set_take_what_the_reads_of_all_samples_take():
    """A third of them, of three samples; without reads a third of the starts and of the reference."""
    jobs = [
        RehearsedJob("genotype_gvcfs", "genotype_interval", size, 12 + 4 * size + 90 * gb, 1.0, shard="x", gigabases=gb)
        for size, gb in SIZES
    ]
    for gigabases in (0.0, 93.0):
        found = Genome(record(jobs), gigabases).steps["genotype_gvcfs"]
        assert found.value == pytest.approx((len(SIZES) * 12 + 3 * 4 + 3 * gigabases * 90) / 3)
        assert found.low == pytest.approx(found.high)


def test_one_interval_alone_does_not_tell_what_reads_take():
    jobs = [RehearsedJob("genotype_gvcfs", "genotype_interval", 3.0, 60.0, 1.0, shard="1/1", gigabases=2.8)]
    with pytest.raises(GpdError, match=r"^any: genotype_interval: its jobs are too alike"):
        rehearsal_machine.machine("any", record(jobs), 93.0)


def test_size_answers_for_any_depth_and_says_that_it_extrapolates(tmp_path):
    path = tmp_path / "rehearsal.json"
    jobs = [caller(*size, noise=noise) for size, noise in zip(SIZES, (1, 1.01) * 3, strict=True)]
    path.write_bytes(msgspec.json.encode(record(jobs)))
    words = ["size", "--genomes", "7/week", "--rehearsal", str(path)]
    done = gpd(*words, "--json")
    assert done.exit_code == 0, done.output
    seconds = Genome(rehearsal_machine.read(path), 93.0).seconds
    answer = json.loads(done.output)["machines"][0]["quantities"]["genomes_per_day"]
    assert answer["value"] == pytest.approx(2 * 86400 / seconds.value)
    assert answer["low"] == pytest.approx(2 * 86400 / seconds.high)
    done = gpd(*words)
    assert "EXTRAPOLATED from 0.300 to 2.20 Gb a sample" in " ".join(done.output.split())


def test_another_file_is_refused_in_one_line(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"commit": 1}')
    with pytest.raises(GpdError, match=r"other\.json: not a valid other\.json"):
        rehearsal_machine.read(path)


def mapping(*gigabases):
    """A job of a whole sample for each depth."""
    return [
        RehearsedJob("map_and_sort", "map_and_sort", 3.0, 30 + 400 * gb, 1.0, f"S{number}", gigabases=gb)
        for number, gb in enumerate(gigabases, 1)
    ]


def test_shards_of_one_sample_answer():
    one = msgspec.structs.replace(record([caller(*size) for size in SIZES]), gigabases={"S1": 2.2})
    assert "EXTRAPOLATED from 2.20 Gb a sample" in rehearsal_machine.machine("any", one, 93.0).notes[0]


@pytest.mark.parametrize("depths", [(2.2,), (0.3, 0.3, 0.3)])
def test_whole_samples_of_one_depth_do_not_tell_what_reads_take(depths):
    """All of it would be taken for a start: 93 Gb as quick as these."""
    with pytest.raises(GpdError, match=r"^any: map_and_sort: its jobs are too alike to tell what reads take: rehearse"):
        rehearsal_machine.machine("any", record(mapping(*depths)), 93.0)


def test_shards_with_reads_spread_evenly_do_not_tell_what_reads_take():
    with pytest.raises(GpdError, match="too alike"):
        Law.of([caller(size, 2 * size) for size in (0.3, 0.35, 0.4, 0.5)])


def test_a_part_whose_error_nobody_knows_leaves_the_whole_without_an_interval():
    noisy = [caller(*size, noise=noise) for size, noise in zip(SIZES, (1, 1.01) * 3, strict=True)]
    assert Genome(record(noisy), 93.0).seconds.low is not None
    both = Genome(record([*noisy, *mapping(2.2, 0.3)]), 93.0).seconds
    assert (both.low, both.high) == (None, None)
    assert both.value == pytest.approx(Genome(record(noisy), 93.0).seconds.value + 30 + 400 * 93)


def test_a_sample_has_as_many_starts_as_it_had_shards():
    jobs = [caller(*size) for size in SIZES]
    found = Genome(record(jobs), 93.0).seconds.value
    assert found == pytest.approx(len(SIZES) * START + 3 * OF_REFERENCE + 93 * OF_READS)


def test_a_short_genome_is_no_rehearsal_of_a_human_one():
    short = msgspec.structs.replace(record(mapping(2.2, 0.3)), reference_gb=0.0037)
    with pytest.raises(GpdError, match=r"^any: rehearsed on 0\.0037\d* Gb of reference, .*: rehearse with SCALE=1$"):
        rehearsal_machine.machine("any", short, 93.0)


def test_an_interval_beyond_all_bounds_is_none():
    jobs = [
        msgspec.structs.replace(job, cpu_s=s) for job, s in zip(mapping(1, 1.001, 1.002), (10, 20, 10), strict=True)
    ]
    found = rehearsal_machine.machine("any", record(jobs), 93.0).measured[0].gigabases_per_day
    assert (found.low, found.high) == (None, None)


def test_a_record_without_jobs_is_refused():
    with pytest.raises(GpdError, match=r"^any: none of its jobs is of a sample"):
        rehearsal_machine.machine("any", record([]), 93.0)
