"""The read group of a unit that comes as a BAM file and is mapped anew."""

import re
import subprocess

import pytest
from conftest import Cohort, tiny_cohort

pytestmark = pytest.mark.e2e  # samtools writes the files


@pytest.fixture
def cohort(tmp_path) -> Cohort:
    made = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    made.config["bam_input"] = "remap"
    return made


def read_group(cohort: Cohort, group: str, **columns: str) -> dict[str, str]:
    """The read group that bwa gets for a file with this one."""
    header = f"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:2000\n{group}"
    bam = cohort.folder / "s1.bam"
    subprocess.run(["samtools", "view", "-b", "-o", bam, "-"], input=header, text=True, check=True)
    cohort.units = []
    cohort.add_unit("S1", "L1", bam="s1.bam", **columns)
    ran = cohort.snakemake("--dry-run", "--printshellcmds", "results/map_and_sort/S1/L1.bam")
    assert ran.exit_code == 0, ran.output
    (line,) = re.findall(r" -R '@RG\\t(.*?)' ", ran.output)
    return dict(field.split(":", 1) for field in line.split(r"\t"))


OURS = {"ID": "S1.L1", "SM": "S1", "LB": "S1", "PL": "ILLUMINA", "PU": "L1"}


def test_what_the_file_says_is_kept_but_for_id_and_sample(cohort):
    group = "@RG\tID:7\tSM:other\tLB:lib 7\tPL:ELEMENT\tPU:FC1.2\tCN:a{b}c\tDS:one\\name: $(x)\n"
    kept = {"LB": "lib 7", "PL": "ELEMENT", "PU": "FC1.2", "CN": "a{b}c", "DS": r"one\\name: $(x)"}
    assert read_group(cohort, group) == OURS | kept


def test_the_table_goes_before_the_file(cohort):
    given = read_group(cohort, "@RG\tID:7\tLB:x\tPL:ELEMENT\n", library="mine", platform="Ultima")
    assert given == OURS | {"LB": "mine", "PL": "ULTIMA"}


def test_flow_cell_and_centre_of_the_table_go_before_those_of_the_file(cohort):
    group = "@RG\tID:7\tPU:x\tCN:elsewhere\n"
    assert read_group(cohort, group) == OURS | {"PU": "x", "CN": "elsewhere"}
    given = read_group(cohort, group, platform_unit="HFJWFDSXX:1", center="here")
    assert given == OURS | {"PU": "HFJWFDSXX:1", "CN": "here"}


def test_a_file_without_read_group_gets_ours(cohort):
    assert read_group(cohort, "") == OURS
