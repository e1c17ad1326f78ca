"""The schemas describe every key and fill in defaults; files and manual in config/ agree with them."""

import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from snakemake.utils import validate

from gpd.lab.study import read_study
from gpd.pipelines import PIPELINES
from gpd.records.binding import Binding
from gpd.records.study import PROFILES, Pool, Study

ROOT = Path(__file__).parents[2]
SCHEMAS = {name: ROOT / f"workflow/schemas/{name}.schema.yaml" for name in ("config", "samples", "units")}
MANUAL = (ROOT / "config/README.md").read_text()


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"workflow/scripts/checks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load("tables")
CONFIG = tables.load_schema(SCHEMAS["config"])
MINIMAL = {"reference": {"fasta": "genome.fa"}, "known_sites": ["dbsnp.vcf.gz"]}


def keys(schema, prefix="", root=CONFIG):
    """Dotted name and subschema of every key; a freely chosen name counts as NAME."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]] | schema
    for name, part in schema.get("properties", {}).items():
        yield prefix + name, part
        yield from keys(part, f"{prefix}{name}.", root)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys(schema["additionalProperties"], f"{prefix}NAME.", root)


def columns():
    for name in ("samples", "units"):
        yield from tables.load_schema(SCHEMAS[name])["properties"].items()


def only_names(value):
    return value if isinstance(value, str) else ""


def described(name):
    """The cells of the manual's table row about a key or column."""
    rows = [line for line in MANUAL.splitlines() if line.startswith(f"| `{name}` |")]
    assert rows, f"config/README.md does not describe {name}"
    return [cell.strip() for cell in rows[0].strip("|").split(" | ")]


@pytest.mark.parametrize("path", SCHEMAS.values(), ids=SCHEMAS)
def test_is_a_schema(path):
    Draft202012Validator.check_schema(tables.load_schema(path))


@pytest.mark.parametrize(("name", "part"), [*keys(CONFIG), *columns()], ids=only_names)
def test_every_key_and_column_has_a_description_here_and_in_the_manual(name, part):
    assert part["description"].endswith(".")
    assert any(len(cell) > 10 for cell in described(name)[1:])


@pytest.mark.parametrize(("name", "part"), list(keys(CONFIG)), ids=only_names)
def test_the_manual_states_each_default(name, part):
    default, stated = part.get("default"), described(name)[1]
    if default == "":
        assert stated.startswith("empty")
    elif isinstance(default, list):
        assert stated == f"`[{', '.join(default)}]`"
    elif isinstance(default, bool):
        assert stated == f"`{str(default).lower()}`"
    elif isinstance(default, str | int | float):
        assert stated == f"`{default}`"
    elif default is None:
        assert stated == "needed"


def test_the_manual_names_every_choice():
    for name, part in keys(CONFIG):
        for choice in part.get("enum", []):
            assert f"`{choice}`" in " ".join(described(name)), (name, choice)
    for choice in tables.load_schema(SCHEMAS["units"])["properties"]["platform"]["enum"]:
        assert f"`{choice}`" in " ".join(described("platform"))


def test_the_manual_describes_no_key_that_is_unknown():
    known = {name for name, _ in [*keys(CONFIG), *columns()]}
    known |= {field.name for kind in (Study, Binding) for field in fields(kind)}
    known |= {f"pipelines.{name}" for name in PIPELINES} | {f"profiles.{mode}" for mode in PROFILES}
    known |= {f"pipelines.PIPELINE.{field.name}" for field in fields(Pool)}
    rows = re.findall(r"^\| `([^`/]+)` \|", MANUAL, flags=re.MULTILINE)
    assert set(rows) == known


def test_examples_in_the_manual_are_valid_and_its_hard_filters_are_the_defaults(tmp_path):
    examples = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", MANUAL, flags=re.DOTALL)]
    assert len(examples) == 6
    (study,) = (example for example in examples if "bindings" in example)
    examples.remove(study)
    path = tmp_path / "throughput.yaml"
    path.write_text(yaml.safe_dump({"pipelines": {"germline": {}}} | study))
    assert len(read_study(path).bindings) == 4
    for example in examples:
        assert tables.config_errors(MINIMAL | example, CONFIG) == []
    assert examples[3]["hard_filters"] == tables.with_defaults(MINIMAL, CONFIG)["hard_filters"]


def test_defaults_are_valid_and_complete():
    complete = tables.with_defaults(MINIMAL, CONFIG)
    assert tables.config_errors(complete, CONFIG) == []
    assert set(complete) == set(CONFIG["properties"])
    assert complete["vqsr"]["indels"]["sensitivity"] == 99.0


def test_defaults_are_those_that_snakemake_fills_in():
    config = MINIMAL | {"vqsr": {"snps": {"resources": {"hapmap": {"vcf": "h.vcf", "prior": 15}}}}}
    ours = tables.with_defaults(config, CONFIG)
    validate(config, str(SCHEMAS["config"]))
    assert ours == config
    assert ours["vqsr"]["snps"]["resources"]["hapmap"]["truth"] is False


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
    assert f"`presets/{preset.name}`" in MANUAL


def test_the_starting_tables_are_valid():
    config = MINIMAL | {"samples": str(ROOT / "config/samples.tsv"), "units": str(ROOT / "config/units.tsv")}
    cohort = tables.read_cohort(config, SCHEMAS)
    assert cohort.errors == []
    assert [len(units) for units in cohort.units.values()] == [2]
