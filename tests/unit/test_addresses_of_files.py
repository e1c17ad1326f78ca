"""Where the file of an address lies, and which values of a configuration are addresses."""

import pytest
from conftest import ROOT, script

tables = script(ROOT / "workflow/scripts/checks/tables.py")


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("https://a.org/b/c.fa.gz", "fetched/a.org/b/c.fa.gz"),
        ("s3://bucket/c.fq.gz", "fetched/bucket/c.fq.gz"),
        ("gs://bucket/a%20b.vcf", "fetched/bucket/a b.vcf"),
        ("ftp://name:word@a.org/c.fa", "fetched/a.org/c.fa"),
        ("https://a.org/../../etc/%2e%2e/passwd", "fetched/a.org/etc/passwd"),
        ("https://a.org/{sample}.fa", "fetched/a.org/_sample_.fa"),
    ],
)
def test_a_file_lies_by_server_and_path_below_the_folder(address: str, file: str) -> None:
    assert tables.file_of(address) == file


def test_what_is_asked_of_a_server_tells_files_apart() -> None:
    one, other = (tables.file_of(f"https://a.org/get.fa?id={number}") for number in (1, 2))
    assert one != other
    assert one.endswith("/get.fa")


def test_all_but_the_container_is_a_file() -> None:
    config = {
        "reference": {"fasta": "https://a.org/a.fa"},
        "known_sites": ["gs://b/k.vcf", "here.vcf"],
        "container": "https://a.org/image.sif",
        "qc": {"thresholds": {"coverage": 5}},
    }
    files, addresses = tables.with_files(config)
    assert files == config | {
        "reference": {"fasta": "fetched/a.org/a.fa"},
        "known_sites": ["fetched/b/k.vcf", "here.vcf"],
    }
    assert addresses == {"fetched/a.org/a.fa": "https://a.org/a.fa", "fetched/b/k.vcf": "gs://b/k.vcf"}
