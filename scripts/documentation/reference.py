"""The reference pages: each is made from the one place that the program itself goes by."""

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import typer
import yaml
from typer.cli import get_docs_for_click

from documentation import schema
from documentation.pages import ROOT, code, page, slug, table
from gpd import cli
from gpd.machines import remedies
from gpd.machines.tool_checks import read_table
from gpd.packages import checks as package_checks
from gpd.paths import PINNED
from gpd.records.study import Study
from gpd.tables import columns

HERE = Path(__file__).parent
SCHEMAS = "workflow/schemas"


def pages() -> dict[str, str]:
    """Every page of docs/reference, by its name."""
    return {
        "configuration": configuration(),
        "sample-sheets": sample_sheets(),
        "study": study(),
        "command-line": command_line(),
        "make-targets": make_targets(),
        "job-records": job_records(),
        "tables": tables(),
        "checks": checks(),
        "quality": quality(),
        "profiles": profiles(),
        "tools": tools(),
    }


def yaml_schema(name: str) -> Mapping[str, Any]:
    return yaml.safe_load((ROOT / SCHEMAS / f"{name}.schema.yaml").read_text(encoding="utf-8"))


def configuration() -> str:
    root = yaml_schema("config")
    return page(
        "Configuration",
        f"{SCHEMAS}/config.schema.yaml",
        "The keys of `config/config.yaml`. Keys of nested parts are written with dots: `reference.fasta` is `fasta:`"
        " below `reference:`. NAME stands for a name of your choice.",
        "Paths are relative to the directory that the workflow runs in. They may hold blanks, but neither braces nor"
        " control characters. `~` and variables are not expanded.",
        *schema.sections(root, dict(schema.keys(root))),
    )


def sample_sheets() -> str:
    sheets = {
        "samples": "One sample per line.",
        "units": "One unit per line: one lane of one sample. It becomes one read group.",
    }
    parts = [f"## {code(f'config/{name}.tsv')}\n\n{text}\n\n{sheet_columns(name)}" for name, text in sheets.items()]
    return page(
        "Sample sheets",
        f"{SCHEMAS}/samples.schema.yaml and units.schema.yaml",
        "Two tables name the samples and their read files. Tabs separate the columns. Their order does not matter, and "
        "optional columns may be left out or left empty. Blank lines and lines that start with `#` are ignored.",
        "Names are made of letters, digits, `.`, `_` and `-`, and start with a letter or digit. They become names of"
        " files, so two names must differ in more than case. They have 100 characters at most.",
        *parts,
    )


def sheet_columns(name: str) -> str:
    rows = []
    for column, part in schema.keys(yaml_schema(name)):
        choices = f" One of {', '.join(map(code, part['enum']))}." if "enum" in part else ""
        rows.append((code(column), "yes" if part["needed"] else "", part["description"] + choices))
    return table(("column", "needed", "meaning"), rows)


def study_keys() -> dict[str, schema.Part]:
    """The keys of config/throughput.yaml, by the types of a study's settings; study_keys.yaml explains each."""
    root = msgspec.json.schema(Study)
    texts = yaml.safe_load((HERE / "study_keys.yaml").read_text(encoding="utf-8"))
    found = {name: part for name, part in schema.keys(root) if "." not in name}
    if set(texts) != set(found):
        raise ValueError(f"study_keys.yaml and a study's settings differ: {set(texts) ^ set(found)}")
    found["concurrent_samples"] = {
        **found["concurrent_samples"],
        "default": "saturation",
    }  # what an empty list stands for
    # the description of a setting's type is what its value must be
    return {name: {**found[name], "values": found[name]["description"], "description": texts[name]} for name in texts}


def study() -> str:
    return page(
        "Study file",
        "the settings of a study and scripts/documentation/study_keys.yaml",
        "The keys of `config/throughput.yaml`, which `gpd throughput` reads. A study is a grid of runs. "
        "Each run takes some samples of a pool through a pipeline once.",
        *schema.sections({}, study_keys()),
    )


def command_line() -> str:
    """What typer documents of itself, with links in place of cut descriptions."""
    command = typer.main.get_command(cli.app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="gpd")
    lines, at = [], ""
    for line in html.unescape(text).splitlines():
        if heading := re.match(r"#+ `(.*)`", line):
            at = heading[1]
        if listed := re.match(r"\* `([a-z]+)`: ", line):
            line = f"* [`{at} {listed[1]}`](#{slug(f'{at} {listed[1]}')})"
        lines.append(line)
    body = "\n".join(lines).partition("\n")[2].strip()
    return page("Command line", "the help texts of scripts/gpd/commands", body)


def make_targets() -> str:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rows = [
        (code(f"make {target}"), says)
        for targets, says in re.findall(r"^([a-z][a-z0-9 -]*):[^#\n]*## (.*)", text, re.MULTILINE)
        for target in targets.split()
    ]
    return page("Make targets", "the Makefile", table(("command", "does"), rows))


def job_records() -> str:
    root = json.loads((PINNED / "ledger.schema.json").read_text(encoding="utf-8"))
    return page(
        "Job records",
        str((PINNED / "ledger.schema.json").relative_to(ROOT)),
        "Every attempt of every job leaves one line in `ledger.jsonl`: the execution trace, in JSON Lines. A value "
        "that is not known is empty (`null`), never zero. `gpd ledger check` checks the file.",
        "An allocation is an exclusive set of CPUs. A shard is one part of a scattered step.",
        schema.fields(root),
    )


def tables() -> str:
    """Those of a study, then those of a scaling study."""
    parts = []
    of_scaling = {f"scaling: {name}": found for name, found in columns.SCALING.items()}
    for name, found in {**columns.TABLES, **columns.DERIVED, **of_scaling}.items():
        rows = ((code(each.name), each.unit, each.description) for each in found)
        parts.append(f"## {name}\n\n{table(('column', 'unit', 'meaning'), rows)}")
    return page(
        "Tables of results",
        "scripts/gpd/tables/columns.tsv",
        "`gpd throughput` and `gpd report` write these tables into `tables/` of a study, as TSV and Parquet. "
        "Each Parquet column carries its unit and its meaning.",
        *parts,
    )


def checks() -> str:
    found = [(check.name, check.says) for check in package_checks.CHECKS]
    return page(
        "Checks of a results package",
        "scripts/gpd/packages/checks.py",
        "`gpd package check FILE` computes all results of a package again from its job records, and applies these "
        f"{len(found)} checks. Each one holds, fails, or is not known to hold; the output says why.",
        table(("check", "holds where"), ((code(name), says) for name, says in found)),
    )


def quality() -> str:
    """The columns of the table of samples, by the table that the workflow itself goes by."""
    source = "workflow/scripts/quality"
    parts, sides = [], {}
    for pipeline in ("germline", "tuxedo"):
        lines = (ROOT / source / f"{pipeline}.tsv").read_text(encoding="utf-8").splitlines()[1:]
        found = (["" if word == "-" else word for word in line.split("\t")[:4]] for line in lines)
        rows = ((code(name), *others) for name, *others in found)
        sides |= {line.split("\t")[0]: line.split("\t")[5] for line in lines}
        parts.append(f"## {pipeline.capitalize()}\n\n{table(('column', 'unit', 'from', 'meaning'), rows)}")
    parts.append(thresholds(ROOT / source / "thresholds.tsv", sides))
    return page(
        "Quality of samples",
        f"the tables in {source}",
        "`results/qc/samples.tsv` has a row for each sample. What is not known is empty, not "
        "zero. [Which sample is wrong?](../how-to/which-sample-is-wrong.md) says how to read it, and "
        "the [thresholds](#thresholds) what the verdicts go by.",
        "From 10 samples on, `results/qc/robust_z.tsv` has the robust z of each figure: (figure - median) / (1.4826 x "
        "median absolute deviation), over the cohort.",
        *parts,
    )


def thresholds(path: Path, sides: Mapping[str, str]) -> str:
    """The limits of each figure and whose they are, with the side of them on which it passes."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        name, kinds, *limits, whose, why = ("" if word == "-" else word for word in line.split("\t"))
        names = " and ".join(whose.split("/"))
        rows.append((code(name), sides.get(name, "at most"), kinds.replace(",", ", "), *limits, names, why))
    text = (
        "A figure beyond `warn` is named, and one beyond `fail` fails its sample. What you give a figure in "
        "`qc.thresholds` replaces all of its own. A reason names whose limit it was: gpd's, another project's, or "
        "yours."
    )
    heads = ("figure", "side", "of", "`warn`", "`fail`", "whose", "why")
    return f"## Thresholds\n\n{text}\n\n{table(heads, rows)}"


def profiles() -> str:
    parts = []
    for path in sorted((ROOT / "profiles").glob("*/config*.yaml")):
        text = path.read_text(encoding="utf-8").strip()
        parts.append(f"## {code(f'profiles/{path.parent.name}')}\n\n```yaml\n{text}\n```")
    return page(
        "Profiles",
        "the files of profiles/",
        "A profile is a folder of settings for Snakemake: `snakemake --profile profiles/slurm`. `snakemake` takes "
        "`profiles/default` when you name none, `gpd run` [chooses](../how-to/tune-threads.md).",
        *parts,
    )


def tools() -> str:
    rows = []
    for tool in read_table():
        package = code(target) if (target := remedies.of_make(tool.apt)) else " or ".join(tool.apt)
        environment = code(f"envs/{tool.conda}") if tool.conda else ""
        rows.append((code(tool.command), tool.minimum, package, environment, ", ".join(tool.needed_by), tool.purpose))
    return page(
        "Tools",
        "workflow/tools.tsv",
        "`make setup` installs what is missing, as far as the distribution has it. `gpd doctor` lists what it finds.",
        table(("command", "from version", "Debian package", "conda environment", "needed by", "purpose"), rows),
    )
