"""Every command that a rule runs, itself or through a script of ours, comes with the rule's conda environment."""

import re
from collections.abc import Iterator
from pathlib import Path

import conda_stand_in
import conftest
import pytest
from conftest import ROOT

WORKFLOW = ROOT / "workflow"
MAPPERS = conftest.script(WORKFLOW / "scripts/resources/mappers.py").MAPPERS
TOOLS = conftest.script(WORKFLOW / "scripts/checks/tools.py").read_table(WORKFLOW / "tools.tsv")
BY_SETUP = {row["command"] for row in TOOLS if row["command"] in MAPPERS and row["conda"] == "-"}  # no channel has them
KNOWN = BY_SETUP.union(*(commands for commands, _ in conda_stand_in.packages().values()))
OF_COREUTILS = {
    "bwa_alt",
    "left_out",
    "list_files",
}  # rules of bash and coreutils alone
# what a rule's environment may follow from: each tool's
CHOICES = {
    "{mapper.conda}": {name: mapper.conda for name, mapper in MAPPERS.items()},
    "{config['gatk']}": {name: name for name in ("gatk4", "gatk3")},
    "{marking_conda}": {name: name for name in ("sambamba", "bwa")},
}
# how scatter.py makes one of shards
GATHERING = {"vcf": {"bcftools"}, "gvcf": {"bcftools"}, "bam": {"samtools"}, "report": {"gatk"}, "lines": set()}
AT_A_START = r'(?:^|[|;&({{]|\|\||&&|\bif|\bthen)\s*(?:"?\$\()?({names})(?=[\s"])'


def rules() -> Iterator[tuple[str, str, str]]:
    """File and name of each rule with an environment, and its text."""
    for path in sorted(WORKFLOW.rglob("*.smk")):
        _, *parts = re.split(r"^ *rule (\w+):", path.read_text(), flags=re.MULTILINE)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if "envs/" in text:
                chosen = next((word for word in CHOICES if f"envs/{word}" in text), "")
                for tool, environment in CHOICES[chosen].items() if chosen else [("", "")]:
                    named = text.replace(f"envs/{chosen}", f"envs/{environment}") if chosen else text
                    named = re.sub(r"{config\['\w+'\]}", tool, named).replace("{params.bwa}", tool)
                    for other in {"gatk4", "gatk3"} - {tool}:
                        named = re.sub(rf'{other}=r?""".*?"""', "", named, flags=re.DOTALL)
                    yield path.stem, name, named


CALLED = re.compile(r"\*\*(?:scripts|checks)\((.*?)\),\n", re.DOTALL)  # with the scripts that a rule calls


def scripts_of(text: str) -> list[Path]:
    return [
        WORKFLOW / "scripts" / path for found in CALLED.findall(text) for path in re.findall(r'"([^"]+\.py)"', found)
    ]


def commands_of(text: str) -> set[str]:
    """The commands of any package that a rule's text names where a command begins, and those of its scripts."""
    names = "|".join(sorted(map(re.escape, KNOWN), key=len, reverse=True))
    shell = text[text.index("shell:") :] if "shell:" in text else ""
    found = set(re.findall(AT_A_START.format(names=names), shell.replace('"""', "\n").replace('"', "\n"), re.MULTILINE))
    found |= {"java"} if "params.gatk3}" in shell else set()  # its jar is the user's
    for path in scripts_of(text):
        found |= set(re.findall(r'\["([\w-]+)"', path.read_text())) & KNOWN
    for kind in re.findall(r"--gather (\w+)", text):
        found |= GATHERING[kind]
    return found


@pytest.mark.parametrize(("file", "name", "text"), list(rules()), ids=lambda value: value if len(value) < 40 else "")
def test_a_rule_finds_its_commands(file, name, text):
    (environment,) = re.findall(r"envs/([\w-]+\.yaml)", text)
    needed = commands_of(text)
    assert needed or CALLED.search(text) or name in OF_COREUTILS, "no command was recognised"
    assert needed - BY_SETUP <= conda_stand_in.commands(ROOT / "envs" / environment)


def test_what_gathers_shards_is_looked_at():
    scatter = conftest.script(WORKFLOW / "scripts/scatter.py")
    assert GATHERING.keys() == scatter.GATHERS.keys()
    found = [(name, commands_of(text)) for _, name, text in rules() if "--gather " in text]
    for name, commands in (("base_recalibration", {"samtools", "gatk"}), ("haplotype_caller", {"bcftools", "gatk"})):
        assert any(rule == name and commands <= named for rule, named in found)


def test_every_package_is_in_the_table():
    for environment in sorted((ROOT / "envs").glob("*.yaml")):
        assert isinstance(conda_stand_in.commands(environment), set)


def test_commands_are_recognised():
    text = 'params:\n**checks("tuxedo/strandedness.py"),\nshell:\n'
    text += 'r"""\n(samtools view a \\\n| tee >(bcftools x) | bwa mem)\n"""'
    assert commands_of(text) == {"samtools", "bcftools", "bwa"}
    assert Path(conda_stand_in.COMMANDS).exists()
