"""The documents: short, plainly written, current, and true in their links, commands and examples."""

import contextlib
import io
import json
import re
import tempfile
import tomllib
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, get_args

import pytest
import typer
import yaml
from conftest import ROOT, script
from documents import Document, documents
from launching import SCHEMA
from snakemake.cli import get_argument_parser

from documentation import drawings, everything, evidence_pages, reference, rules, schema
from gpd import cli
from gpd.lab.study_file import read_study
from gpd.lab.study_runs import StudyError

DOCUMENTS = {document.name: document for document in documents()}
OF_FOLDERS = re.compile(r"(workflow|profiles|scripts/gpd|tests/\w+)/README\.md")
BUDGETS = {  # bytes
    "README.md": 6_000,
    "config/README.md": 6_000,
    "CONTRIBUTING.md": 10_000,
    "scripts/snakemake-executor-plugin-pinned/README.md": 3_500,
    **{name: 3_000 for name in DOCUMENTS if OF_FOLDERS.fullmatch(name)},
}
OUTSIDE_DOCS = 40_000  # bytes of all documents that are not in docs/
LONGEST_MEAN, LONG, MOST_LONG = 16, 25, 0.10  # words a sentence, words, share of sentences
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
PASSING = {  # what tells of a day, a machine or an earlier state, and belongs into evidence or into a commit's message
    "a date": rf"\b20\d\d-\d\d(-\d\d)?\b|\b(\d\d? )?({MONTHS}) 20\d\d\b|\b\d\d? ({MONTHS})\b",
    "a seed": r"\bseeds? \d+",
    "today": r"(?i)\btoday\b",
    "an earlier state": r"(?i)\b(earlier (version|session)s?|the last set)\b",
    "a set of runs": r"(?i)\bsets? of runs\b",
    "a host": r"\bip-\d+-\d+|\b[\w-]+\.(local|internal|lan|localdomain)\b|\bhost was slow\b",
}
FIGURE = (
    r"\d[\d.,]* ?(%|±|(s|h|min|GiB|GB|MiB|MB)\b|seconds?|minutes?|hours?|days?|times"
    r"|(samples|genomes)( a|/| per ))"
)
MANUAL = ("docs/how-to/", "docs/explanation/", "docs/tutorials/")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
MEASURED = (  # a time of a step, or a ratio of two
    r"\d[\d.,]* (?:CPU[ -](?:seconds|minutes|hours|s\b)|(?:seconds|s) of CPU)"
    r"|\d[\d.,]*(?: times|%) (?:as (?:fast|much|little|long)|faster|slower|less|more|of the (?:time|CPU))"
)
RECORDED = r"\bin [\d.]+ s\b|± ?\d|\b\d+:\d\d:\d\d\b|[\d,]+ bytes|│ +\d+\.\d"  # what another run would print otherwise
EXAMPLES = {path.relative_to(ROOT).as_posix() for path in evidence_pages.EXAMPLES}
MINIMAL = {"reference": {"fasta": "genome.fa"}, "known_sites": ["dbsnp.vcf.gz"]}
HISTORY = ("CHANGELOG.md", "docs/evidence/")  # may tell of days and machines
NOT_PROSE = (*HISTORY, "docs/reference/command-line.md")  # of help texts

prose = pytest.mark.parametrize(
    "document", [each for name, each in DOCUMENTS.items() if not name.startswith(NOT_PROSE)], ids=lambda each: each.name
)
every = pytest.mark.parametrize("document", DOCUMENTS.values(), ids=lambda each: each.name)


# ---- how much, and how it is written -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "most"), BUDGETS.items())
def test_a_page_keeps_to_its_budget(name: str, most: int) -> None:
    assert DOCUMENTS[name].size <= most


def test_documents_outside_of_docs_keep_to_theirs() -> None:
    own = ("docs/", "scripts/snakemake-executor-plugin-pinned/")  # the latter's README goes with another package
    sizes = {name: document.size for name, document in DOCUMENTS.items() if not name.startswith(own)}
    assert sum(sizes.values()) < OUTSIDE_DOCS, sizes


@prose
def test_sentences_are_short(document: Document) -> None:
    lengths = [len(words) for words in document.sentences]
    long = [" ".join(words) for words in document.sentences if len(words) > LONG]
    assert not lengths or mean(lengths) <= LONGEST_MEAN, long
    assert len(long) <= max(1, MOST_LONG * len(lengths)), long


@prose
def test_no_page_tells_of_what_passes(document: Document) -> None:
    """Generated ones aside: fields of records have their history."""
    if document.is_generated:
        return
    found = {what: [each[0] for each in re.finditer(text, document.without_code)] for what, text in PASSING.items()}
    assert not any(found.values()), found


# ---- generated pages, and figures --------------------------------------------------------------------


@cache
def generated() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): text for path, text in everything().items()}


def test_generated_pages_are_current_and_no_other_page_says_it_is_generated() -> None:
    stale = [name for name, text in generated().items() if name not in DOCUMENTS or DOCUMENTS[name].text != text]
    assert not stale, "make docs writes them anew"
    marked = {name for name, document in DOCUMENTS.items() if document.is_generated}
    of_others = {"docs/evidence/faults.md", "docs/evidence/disk.md", *map("docs/reference/{}.md".format, rules.NAMES)}
    assert marked == set(generated()) - EXAMPLES | of_others


@pytest.mark.deep
def test_drawings_are_current() -> None:
    """What they are drawn of is; the rules' graphs are Snakemake's own, the imports those of the code."""
    stale = [name for name, _, source in drawings.sources() if not drawings.is_current(name, source)]
    assert not stale, "make docs draws them anew"


def test_the_readme_cites_no_figure_but_recorded_ones() -> None:
    """A number of seconds, bytes, per cent or samples a day stands in a block that `make docs` writes from a record."""
    readme = DOCUMENTS["README.md"].text
    assert evidence_pages.OUTPUT.search(readme)
    assert [found[0] for found in re.finditer(FIGURE, evidence_pages.OUTPUT.sub("", readme))] == []


def test_the_manual_leaves_what_was_measured_to_evidence() -> None:
    """A time, and how much faster or smaller something is, would be wrong elsewhere: a page links to the bench's."""
    manual = {name: document.text for name, document in DOCUMENTS.items() if name.startswith(MANUAL)}
    assert manual
    prose = {name: evidence_pages.OUTPUT.sub("", FENCE.sub("", text)) for name, text in manual.items()}
    found = {name: [match[0] for match in re.finditer(MEASURED, text)] for name, text in prose.items()}
    assert {name: figures for name, figures in found.items() if figures} == {}


def test_measured_output_in_the_manual_is_taken_from_a_record() -> None:
    """A time, an interval or a size in output stands between marks, where `make docs` puts what was recorded."""
    manual = {name: evidence_pages.OUTPUT.sub("", document.text) for name, document in DOCUMENTS.items()}
    shown = [
        (name, fence[0]) for name, text in manual.items() for fence in FENCE.finditer(text) if name.startswith(MANUAL)
    ]
    output = [(name, text) for name, text in shown if text.startswith("```\n")]
    assert output
    assert [name for name, text in output if re.search(RECORDED, text)] == []


def test_no_evidence_is_of_a_bench_in_its_smallest_size() -> None:
    found = evidence_pages.records()
    assert found
    assert [name for name, record in found.items() if "--smallest" in record["command"]] == []


def test_the_version_is_the_same_wherever_it_stands() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    released = re.findall(r"^## (\d\S+)", DOCUMENTS["CHANGELOG.md"].text, re.MULTILINE)
    assert project["version"] == citation["version"] == released[0]


def test_every_key_of_the_schemas_is_described() -> None:
    for name in ("config", "samples", "units"):
        for key, part in schema.keys(reference.yaml_schema(name)):
            assert len(part["description"]) > 10, key


def first_cells(page: str) -> list[str]:
    """The names in code in the first columns of a page's tables."""
    return re.findall(r"^\| `([^`]+)` \|", DOCUMENTS[page].text, re.MULTILINE)


def test_every_rule_says_what_it_makes_and_is_in_the_reference() -> None:
    says = rules.says_of_rules()
    assert [name for name, text in says.items() if not text] == [], "a docstring says it"
    assert set(says) - {*first_cells("docs/reference/outputs.md")} == {"all", "results", "prepare"} & set(says), (
        "make docs lists them; where no plan has one, scripts/documentation/rules.py lacks a configuration"
    )


@pytest.mark.deep
def test_the_pages_about_rules_are_what_plans_say() -> None:
    stale = [name for name, text in rules.pages().items() if DOCUMENTS[f"docs/reference/{name}.md"].text != text]
    assert not stale, "make docs writes them anew"


def test_every_cause_of_failures_is_in_the_reference() -> None:
    causes = json.loads(SCHEMA.read_text())["properties"]["cause"]["enum"]
    assert set(first_cells("docs/reference/messages.md")) == set(filter(None, causes))


# ---- links -------------------------------------------------------------------------------------------


@every
def test_links_lead_somewhere(document: Document) -> None:
    wrong = [link for link in document.links if "://" not in link and not leads_somewhere(document, link)]
    assert not wrong


def leads_somewhere(document: Document, link: str) -> bool:
    place, _, anchor = link.removeprefix("mailto:").partition("#")
    target = (document.path.parent / place).resolve() if place else document.path
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or target.suffix != ".md" or anchor in Document(target).anchors


def test_the_catalog_s_page_has_no_heading_of_its_own_and_no_relative_link() -> None:
    """It is pasted into a page of the workflow catalog, under a heading there."""
    page = DOCUMENTS["config/README.md"]
    assert not re.search(r"^# ", page.without_fences, re.MULTILINE)
    assert all("://" in link or link.startswith("#") for link in page.links), page.links


def test_the_workflow_catalog_takes_us() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    readme = DOCUMENTS["README.md"].text.lower()
    assert "snakemake" in readme and "workflow" in readme


# ---- commands and examples ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document", [each for name, each in DOCUMENTS.items() if name != "CHANGELOG.md"], ids=lambda each: each.name
)
def test_commands_parse(document: Document) -> None:
    """An option that is only named, as `gpd topology --xml`, stands for one with a value."""
    wrong = []
    for program, *words in document.commands:
        faults = [PARSERS[program]([*words, *value]) for value in ((), ("1",))[: 1 + words[-1].startswith("--")]]
        if all(faults):
            wrong.append(f"{program} {' '.join(words)}: {faults[0]}")
    assert not wrong


def fault_of_gpd(words: list[str]) -> str:
    """What the command line finds wrong in a command; it reads no file and runs nothing."""
    command, context = typer.main.get_command(cli.app), None
    try:
        while hasattr(command, "resolve_command"):
            if not words or words[0].startswith("-") or words[0].isupper():
                return ""
            context = command.context_class(command, parent=context, info_name="gpd")
            command.parse_args(context, [*words])
            _, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.context_class(command, parent=context, **command.context_settings)
        given, rest, _ = command.make_parser(context).parse_args(args=[*words])
    except Exception as error:  # typer's own, which it does not name
        return str(error)
    if rest and context.allow_extra_args:
        return fault_of_snakemake(rest)
    if rest:
        return f"too much: {rest}"
    return ", ".join(word for parameter in command.params for word in no_choice(parameter, given.get(parameter.name)))


def no_choice(parameter: Any, given: Any) -> list[str]:
    """What is none of the values that a parameter takes; capitals stand for any."""
    kind = parameter.type_descriptor.annotation
    kind = (get_args(kind) or (kind,))[0]
    if given is None or not (isinstance(kind, type) and issubclass(kind, Enum)):
        return []
    words = given if isinstance(given, list | tuple) else [given]
    return [word for word in words if word not in {value.value for value in kind} and not word.isupper()]


def fault_of_make(words: list[str]) -> str:
    targets = set(re.findall(r"^([a-z][a-z0-9 -]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {name for names in targets for name in names.split()}
    return ", ".join(word for word in words if "=" not in word and not word.isupper() and word not in known)


def fault_of_snakemake(words: list[str]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stderr(output):
        try:
            snakemake_parser().parse_args(["4" if word == "N" else word for word in words])
        except SystemExit:
            return output.getvalue().strip().splitlines()[-1]
    return ""


@cache
def snakemake_parser() -> Any:
    return get_argument_parser()


PARSERS = {"gpd": fault_of_gpd, "make": fault_of_make, "snakemake": fault_of_snakemake}


@pytest.mark.deep
@every
def test_yaml_examples_are_valid(document: Document) -> None:
    if document.is_generated:
        return
    for fence in document.fences:
        if fence.language in ("yaml", "yml"):
            example = yaml.safe_load(fence.text)
            assert isinstance(example, dict), fence.text
            assert faults_of_yaml(example) == [], fence.text


def faults_of_yaml(example: Mapping[str, Any]) -> list[str]:
    """What is wrong in a part of a configuration, of a study's file, or of a Snakemake profile."""
    config, settings = reference.yaml_schema("config"), reference.study_keys()
    if set(example) <= set(config["properties"]):
        return script(ROOT / "workflow/scripts/checks/tables.py").config_errors(MINIMAL | example, config)
    if set(example) <= set(settings):
        return faults_of_study(example)
    options = {option.lstrip("-") for action in snakemake_parser()._actions for option in action.option_strings}
    unknown = set(example) - options
    return [f"neither a configuration, nor a study, nor a profile: {sorted(unknown)}"] if unknown else []


def faults_of_study(example: Mapping[str, Any]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "throughput.yaml"
        path.write_text(yaml.safe_dump({"pipelines": {"germline": {}}} | dict(example)))
        try:
            read_study(path)
        except StudyError as error:
            return str(error).splitlines()
    return []
