"""The model of a machine from tables of a study: what a rule's jobs tell of the pieces that it is cut into."""

from random import Random

import pandas as pd
import pytest

from gpd.sizing import study
from gpd.sizing.cuts import CUTS
from gpd.tables.collect import Tables

MIB_PER_GB = 700
RULE = "haplotype_caller"
ESTIMATED = CUTS[RULE].piece_gigabases(MIB_PER_GB)


def pieces(sizes: list[float], shards: tuple[str | None, ...] = (None,)) -> float | None:
    """The smallest piece that the model sees where one sample of each size ran alone on two cores, gigabases."""
    runs, samples, jobs = [], [], []
    for number, size in enumerate(sizes):
        cell = {"cell": f"{number}", "pipeline": "germline", "mode": "scheduled", "binding": "compact", "nodes": 1}
        amounts = {"n": 1, "cores": 2, "succeeded": 1, "failed": 0, "failed_data": 0, "gigabases": size}
        disk = {"input_mib": MIB_PER_GB * size, "peak_disk_mib": None, "kept_disk_mib": None}
        known = {"makespan_s": 10, "genome_mb": 1.0}
        shared = {"shared_inputs_mib": None, "shared_outputs_mib": None}
        runs.append({**cell, **amounts, **disk, **shared, "counted": True, "sku": "made up", **known})
        samples.append({"cell": f"{number}", "sample": "A", "gigabases": size})
        for shard in shards:
            job = {"cell": f"{number}", "sample": "A", "rule": RULE, "step": RULE, "timed": True, "threads": 1}
            taken = {"start_s": 0.0, "end_s": 10.0, "cpu_s": 10.0, "peak_rss_mib": 900.0}
            jobs.append({**job, **taken, "shard": shard, "exit_code": 0})
    frames = {"runs": pd.DataFrame(runs), "samples": pd.DataFrame(samples), "jobs": pd.DataFrame(jobs)}
    tables = Tables(**frames, steps=pd.DataFrame(), points=pd.DataFrame(), unfinished=(), records=())
    (work,) = study.model(study.evidence("made up", tables), Random(1)).works
    return work.piece_gigabases


def test_a_rule_is_cut_as_small_as_the_sizes_of_files_allow():
    assert pieces([ESTIMATED / 2]) == pytest.approx(ESTIMATED)
    assert pieces([ESTIMATED * 20], shards=("1", "2")) == pytest.approx(ESTIMATED)


def test_a_job_that_stayed_whole_for_its_files_were_smaller_than_estimated_does_not_keep_larger_ones_whole():
    size = 2.2 * ESTIMATED
    found = pieces([ESTIMATED, size])
    assert found is not None
    assert size / 2 < found < 0.6 * size


def test_a_rule_whose_jobs_stay_whole_at_any_size_is_never_cut():
    assert pieces([20 * ESTIMATED]) is None
