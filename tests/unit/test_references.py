"""References by name: the table, and the configuration that `gpd init` makes of one."""

import re
from pathlib import Path

import pytest
import subcommands
import yaml
from test_init import gpd, pair

from gpd.cohort import references

NAMES = references.known()


def written(*words: object) -> dict:
    pair("A_R#.fq.gz")
    gpd("reads", *words)
    return yaml.safe_load(Path("config/config.yaml").read_text())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_references_that_are_known():
    assert NAMES == ["GRCh38", "GRCh37", "T2T-CHM13", "GRCm39", "sacCer3", "dm6"]


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_fasta_and_tells_where_its_files_come_from(name):
    found = references.find(name, Path("references"))
    assert len(found.of("reference.fasta")) == 1
    assert all(re.fullmatch(r"https://[\w.-]+/\S+", file.address) for file in found.files)
    assert all(file.address.endswith(f"/{file.name}") for file in found.files)
    assert all(file.licence and file.documented.startswith("https://") for file in found.files)
    assert len({file.name for file in found.files}) == len(found.files)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pipeline", ["germline", "tuxedo"])
def test_a_configuration_of_each_is_one_that_the_workflow_takes(name, pipeline):
    """init holds what it writes against the schema."""
    config = written("--reference", name, "--pipeline", pipeline)
    assert config["reference"]["fasta"].startswith(f"references/{name}/")


def test_all_that_a_reference_brings_is_written():
    config = written("--reference", "GRCh38", "--references", "refs")
    assert config["known_sites"] == [config["vqsr"]["snps"]["resources"]["dbsnp"]["vcf"]]
    assert len(config["known_indels"]) == 2
    assert config["dbsnp"].endswith("dbsnp138.vcf")
    assert config["common_sites"].endswith("small_exac_common_3.hg38.vcf.gz")
    assert set(config["vqsr"]["snps"]["resources"]) == {"hapmap", "omni", "g1k", "dbsnp"}
    assert config["vqsr"]["indels"]["resources"]["mills"]["truth"] is True
    assert "bqsr" not in config
    text = Path("config/config.yaml").read_text()
    assert "# intervals: refs/GRCh38/wgs_calling_regions.hg38.interval_list" in text
    assert "male.bed" in text


def test_an_annotation_is_written_for_rna():
    assert written("--reference", "dm6", "--pipeline", "tuxedo")["annotation"].endswith("dm6.ensGene.gtf.gz")


def test_what_is_to_be_fetched_is_said_until_it_is_there():
    pair("A_R#.fq.gz")
    assert "gpd reference sacCer3 --into references" in gpd("reads", "--reference", "sacCer3")
    for file in references.find("sacCer3", Path("references")).files:
        path = Path("references/sacCer3", file.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert "to do" not in gpd("reads", "--reference", "sacCer3", "--directory", "again")


def test_a_reference_that_is_not_known_is_a_line():
    pair("A_R#.fq.gz")
    output = gpd("reads", "--reference", "GRCh39", code=2)
    assert "reference GRCh39: no file, and none of those that are known by name: GRCh38" in output


def test_a_list_names_them_all():
    done = subcommands.gpd("reference")
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in NAMES)


@pytest.mark.parametrize("path", sorted(references.FOLDER.glob("*.male.bed")), ids=lambda path: path.name)
def test_men_have_x_and_y_once_outside_of_the_pseudoautosomal_regions(path):
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [row[0].removeprefix("chr") for row in rows] == ["X", "Y"]
    assert all(int(start) < int(end) and ploidy == "1" for _, start, end, ploidy in rows)
