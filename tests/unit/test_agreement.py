"""Outputs of samples that ran in several runs: which agree, which do not, and which were seen once alone."""

from recording import run_record

from gpd.comparison.agreement import Disagreement, by_input, compared, differing, disagreements, seen_twice


def record(spec, *outputs, pipeline="germline", inputs=None):
    """A record with outputs of (kind, samples, digest)."""
    told = [{"kind": kind, "samples": samples.split(), "digest": digest} for kind, samples, digest in outputs]
    return run_record({"name": spec, "pipeline": pipeline}, inputs=inputs, outputs=told)


def test_equal_outputs_agree():
    records = [record("a", ("calls", "S1", "x"), ("calls", "S2", "y")), record("b", ("calls", "S1", "x"))]
    assert disagreements(records) == []
    assert compared(records) == 1


def test_a_difference_names_the_runs():
    records = [record(spec, ("calls", "S1", digest)) for spec, digest in (("a", "x"), ("b", "y"), ("c", "x"))]
    assert disagreements(records) == [Disagreement("calls", ("S1",), {"x": ("a", "c"), "y": ("b",)}, "germline")]
    assert compared(records) == 1


def test_what_one_run_alone_has_is_not_compared():
    records = [record("a", ("calls", "S1", "x")), record("b", ("calls", "S2", "y"))]
    assert (disagreements(records), compared(records)) == ([], 0)


def test_the_order_of_samples_does_not_matter_but_who_they_are_does():
    records = [
        record("a", ("expression", "S1 S2", "x")),
        record("b", ("expression", "S2 S1", "y")),
        record("c", ("expression", "S1 S2 S3", "z")),
    ]
    (found,) = disagreements(records)
    assert (found.samples, found.digests) == (("S1", "S2"), {"x": ("a",), "y": ("b",)})
    assert compared(records) == 1


def test_kinds_and_pipelines_are_apart():
    records = [
        record("a", ("calls", "S1", "x"), ("gvcf", "S1", "y")),
        record("b", ("calls", "S1", "z"), pipeline="tuxedo"),
    ]
    assert (disagreements(records), compared(records)) == ([], 0)


def test_an_output_without_a_digest_says_nothing():
    records = [record("a", ("calls", "S1", None)), record("b", ("calls", "S1", "x"))]
    assert (disagreements(records), compared(records)) == ([], 0)


def test_outputs_that_are_not_recorded_are_none():
    unknown, missing = run_record({"name": "a"}, outputs=None), run_record({"name": "b"})
    assert (disagreements([unknown, missing]), compared([unknown, missing])) == ([], 0)


def test_one_output_recorded_twice_by_one_run_is_in_one_run():
    assert compared([record("a", ("calls", "S1", "x"), ("calls", "S1", "x"))]) == 0


def test_between_studies_a_sample_is_what_was_read():
    """The same reads under two names are one sample; two samples of one name are two."""
    here = record(
        "a", ("calls", "S1", "x"), ("calls", "S2", "y"), inputs={"S1": {"digest": "1"}, "S2": {"digest": "2"}}
    )
    there = record(
        "a", ("calls", "HG1", "z"), ("calls", "S2", "w"), inputs={"HG1": {"digest": "1"}, "S2": {"digest": "3"}}
    )
    named = [("A", here), ("B", there)]
    (found,) = differing(named, by_input)
    assert (found.samples, found.digests) == (("S1",), {"x": ("A",), "z": ("B",)})
    assert seen_twice(named, by_input) == 1


def test_a_sample_without_a_digest_is_known_by_its_name():
    unread = record("a", ("calls", "S1", "x"), inputs={"S1": {"digest": None}})
    assert by_input(unread, "S1") == "S1"
    assert by_input(record("b", inputs=None), "S1") == "S1"
