"""The commands of all rules are those of the golden files, so that an argument which is lost is missed."""

import difflib
import functools
import re

import planned_commands
import pytest
from conftest import ROOT
from planned_commands import CONFIGURATIONS, Blocks

pytestmark = pytest.mark.e2e  # many dry runs; samtools writes files for some

RECORDED = {pipeline: planned_commands.recorded(pipeline) for pipeline in CONFIGURATIONS}
RULE = re.compile(r"^(?:use rule \w+ as|rule) (\w+)(?: with)?:$", re.MULTILINE)
WITHOUT_COMMAND = {"list_files"}  # a script makes its file
EVERY = sorted(
    {(pipeline, rule) for pipeline, names in RECORDED.items() for blocks in names.values() for rule, _ in blocks}
)
planned = functools.cache(planned_commands.planned)


@pytest.fixture(scope="module", autouse=True)
def stand_ins(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = planned_commands.provide_stand_ins(tmp_path_factory.mktemp("bin"))
        patch.setenv("PATH", str(folder), prepend=":")
        yield


def of_rule(rule: str, blocks: Blocks) -> list[str]:
    return [
        line for key, text in sorted(blocks.items()) if key[0] == rule for line in (f"== {key[1]}", *text.split("\n"))
    ]


@pytest.mark.parametrize(("pipeline", "rule"), EVERY)
def test_the_commands_of_a_rule_are_the_recorded_ones(pipeline, rule):
    for name, blocks in RECORDED[pipeline].items():
        old, new = of_rule(rule, blocks), of_rule(rule, planned(pipeline, name))
        changes = "\n".join(difflib.unified_diff(old, new, "recorded", name, n=0, lineterm=""))
        assert not changes, f"{changes}\n{planned_commands.__doc__}"


def test_every_rule_is_recorded():
    """One that no configuration runs would be changed unseen: add a configuration."""
    rules = {rule for path in (ROOT / "workflow/rules").rglob("*.smk") for rule in RULE.findall(path.read_text())}
    assert rules - WITHOUT_COMMAND == {rule for _, rule in EVERY}
