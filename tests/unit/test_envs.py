"""The conda environments: form, exact versions, and that rules, table and CI name those that exist."""

import re
from pathlib import Path

import pytest
import yaml
from conftest import script

from gpd.machines import tool_checks

ROOT = Path(__file__).parents[2]
ENVS = {path.stem: path for path in (ROOT / "envs").glob("*.yaml")}

# environments of rules that are still to be written
AHEAD = {"cufflinks", "cummerbund", "gffread", "hisat2", "tophat"}
MAPPERS = script(ROOT / "workflow/scripts/resources/mappers.py").MAPPERS
CHOICES = [("{mapper.conda}", mapper.conda) for mapper in MAPPERS.values()]
CHOICES += [("{marking_conda}", name) for name in ("sambamba", "bwa")]
CHOICES += [("{config['gatk']}", gatk) for gatk in ("gatk3", "gatk4")]


def used_by_rules() -> set[str]:
    rules = (ROOT / "workflow").rglob("*.smk")
    texts = (rule.read_text().replace(word, environment) for rule in rules for word, environment in CHOICES)
    return {Path(name).stem for text in texts for name in re.findall(r"envs/([\w-]+\.yaml)", text)}


@pytest.mark.parametrize("name", sorted(ENVS))
def test_channels_and_exact_versions(name):
    environment = yaml.safe_load(ENVS[name].read_text())
    assert set(environment) == {"channels", "dependencies"}
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    for dependency in environment["dependencies"]:
        assert re.fullmatch(r"[a-z0-9-]+=\d+(\.\d+)+", dependency), dependency


def test_one_version_of_a_tool_everywhere():
    pins: dict[str, set[str]] = {}
    for path in ENVS.values():
        for dependency in yaml.safe_load(path.read_text())["dependencies"]:
            package, _, version = dependency.partition("=")
            pins.setdefault(package, set()).add(version)
    assert {package: versions for package, versions in pins.items() if len(versions) > 1} == {}


def test_every_environment_that_a_rule_names_exists():
    assert used_by_rules() - set(ENVS) == set()


def test_every_environment_that_the_table_names_exists():
    named = {Path(tool.conda).stem for tool in tool_checks.read_table() if tool.conda}
    assert named - set(ENVS) == set()


def test_no_environment_is_left_over():
    tabled = {Path(tool.conda).stem for tool in tool_checks.read_table() if tool.conda}
    assert set(ENVS) - used_by_rules() - tabled == AHEAD - used_by_rules()


def test_gatk_is_the_same_by_conda_and_by_maven():
    pom = (ROOT / "envs/gatk/pom.xml").read_text()
    maven = re.search(r"<artifactId>gatk</artifactId>\s*<version>(.+?)</version>", pom).group(1)
    assert f"gatk4={maven}" in yaml.safe_load(ENVS["gatk4"].read_text())["dependencies"]


def test_ci_solves_every_environment():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert set(workflow["jobs"]["conda"]["strategy"]["matrix"]["environment"]) == set(ENVS)
