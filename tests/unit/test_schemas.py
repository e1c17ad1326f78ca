"""The schemas fill in defaults, and the files in config/ are valid by them."""

import importlib.util
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from snakemake.utils import validate

ROOT = Path(__file__).parents[2]
SCHEMAS = {name: ROOT / f"workflow/schemas/{name}.schema.yaml" for name in ("config", "samples", "units")}


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"workflow/scripts/checks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load("tables")
CONFIG = tables.load_schema(SCHEMAS["config"])
MINIMAL = {"reference": {"fasta": "genome.fa"}, "known_sites": ["dbsnp.vcf.gz"]}


@pytest.mark.parametrize("path", SCHEMAS.values(), ids=SCHEMAS)
def test_is_a_schema(path):
    Draft202012Validator.check_schema(tables.load_schema(path))


def test_defaults_are_valid_and_complete():
    complete = tables.with_defaults(MINIMAL, CONFIG)
    assert tables.config_errors(complete, CONFIG) == []
    assert set(complete) == set(CONFIG["properties"])
    assert complete["vqsr"]["indels"]["sensitivity"] == complete["vets"]["indels"]["sensitivity"] == 99.0


def test_defaults_are_those_that_snakemake_fills_in():
    config = MINIMAL | {"vqsr": {"snps": {"resources": {"hapmap": {"vcf": "h.vcf", "prior": 15}}}}}
    ours = tables.with_defaults(config, CONFIG)
    validate(config, str(SCHEMAS["config"]))
    assert ours == config
    assert ours["vqsr"]["snps"]["resources"]["hapmap"]["truth"] is False


def test_a_preset_sets_defaults_and_a_key_that_is_given_goes_before():
    usual, dragen = (
        tables.with_defaults(MINIMAL | {"preset": name}, CONFIG) for name in ("gatk-best-practices", "dragen-gatk")
    )
    assert usual == tables.with_defaults(MINIMAL, CONFIG)
    hard, by_gvcf = {"DRAGENHardQUAL": "QUAL < 10.4139"}, {"QUAL30": "QUAL < 30.0"}
    changed = {"dragen_mode": True, "bqsr": "none", "hard_filters": {"snps": by_gvcf, "indels": hard}}
    extra = usual["extra"] | {"genotype_gvcfs": "--standard-min-confidence-threshold-for-calling 10.0"}
    assert dragen == usual | changed | {"preset": "dragen-gatk", "extra": extra}
    at_once = tables.with_defaults(MINIMAL | {"preset": "dragen-gatk", "gvcf": False}, CONFIG)
    assert at_once["hard_filters"] == {"snps": hard, "indels": hard}
    assert at_once["extra"] == usual["extra"]
    own = {"bqsr": "gatk", "dragen_mode": False, "hard_filters": {"snps": {"QD2": "QD < 2.0"}}}
    mixed = tables.with_defaults(MINIMAL | {"preset": "dragen-gatk"} | own, CONFIG)
    assert mixed["hard_filters"] == {"snps": {"QD2": "QD < 2.0"}, "indels": hard}
    assert (mixed["bqsr"], mixed["dragen_mode"]) == ("gatk", False)


def test_what_presets_set_is_valid():
    assert tables.config_errors(MINIMAL | {"preset": "dragen-gatk", "known_sites": []}, CONFIG) == []
    for preset in CONFIG["properties"]["preset"]["enum"]:
        complete = tables.with_defaults(MINIMAL | {"preset": preset}, CONFIG)
        assert tables.config_errors(complete, CONFIG) == []


def test_filling_in_defaults_leaves_the_configuration_and_the_schema_alone():
    before = tables.load_schema(SCHEMAS["config"])
    config = {"reference": {"fasta": "genome.fa"}}
    tables.with_defaults(config, CONFIG)["vqsr"]["snps"]["annotations"].append("DP")
    assert config == {"reference": {"fasta": "genome.fa"}}
    assert before == CONFIG


def test_keys_that_share_a_value_have_defaults_of_their_own():
    """As by an alias in YAML: indels had the SNPs' largest number of Gaussians."""
    shared = yaml.safe_load("snps: &sets {resources: {a: {vcf: a.vcf, prior: 1}}}\nindels: *sets\n")
    models = tables.with_defaults(MINIMAL | {"vqsr": shared}, CONFIG)["vqsr"]
    assert [models[kind]["max_gaussians"] for kind in ("snps", "indels")] == [6, 4]
    assert "MQ" not in models["indels"]["annotations"]


@pytest.mark.parametrize("preset", sorted((ROOT / "config/presets").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_starting_file_is_valid_with_each_preset(preset):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    assert tables.config_errors(config, CONFIG) == []
    sets = {"mills": {"vcf": "mills.vcf.gz", "training": True, "truth": True, "prior": 12}}
    models = {"vqsr": {"snps": {"resources": sets}, "indels": {"resources": sets}}}
    assert tables.config_errors(config | models | yaml.safe_load(preset.read_text()), CONFIG) == []


def test_the_starting_tables_are_valid():
    config = MINIMAL | {"samples": str(ROOT / "config/samples.tsv"), "units": str(ROOT / "config/units.tsv")}
    cohort = tables.read_cohort(config, tables.SCHEMAS)
    assert cohort.errors == []
    assert [len(units) for units in cohort.units.values()] == [2]
