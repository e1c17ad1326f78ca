"""The project speaks the field's words: words of its own that have one do not come back."""

import io
import re
import subprocess
import tokenize

import pytest
from conftest import ROOT

CLONE = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")

# what was said, and the field's word for it
WORDS = {
    r"keeper": "supervisor process",
    r"leases?|leased": "CPU allocation, allocated",
    r"verbs?": "subcommand",
    r"cells?": "run, configuration",
    r"knees?": "saturation point",
    r"bundles?": "results package",
    r"barrier": "elapsed step time",
    r"busy (?:time|seconds|hours)|busy_s|busy_h": "summed step time",
    r"series": "curve",
    r"scheduled": "shared (the mode)",
    r"stretch(?:es)?": "N-free interval",
    r"pieces?": "shard, scatter interval",
    r"figures of others|published figures?": "published results",
    r"(?:full )?of (?:its|their) like|node (?:is )?full\b": "fully loaded node",
    r"archive of classes|class archive": "AppCDS archive",
    r"contended|foreign": "CPU contention by other processes",
    r"slots?": "CPU set",
    r"sittings?": "starts (of a run)",
    r"(?<!in )fronts?": "wrapper process",
    r"by hand": "baseline script",
    r"(?:job|step)s? (?:is|are|was|were) cut|cut (?:job|step)s?|cut (?:any[wW]here|at contigs|in gaps)": "scattered",
    r"left_out\.smk|told_of_left_out": "excluded_samples.smk",
}
# where a word stands for something else: a file, and what its lines must have
OTHERWISE = {
    r"cells?": {
        "scripts/gpd/text/grid.py": "A cell of a grid",
        "docs/_static/registry.js": "[.]cells",  # of a table in a browser
        "workflow/scripts/checks/tables.py": "cell",  # of a sheet
        "workflow/rules/germline/mark_duplicates_samtools.smk": "flow cells",
        "workflow/schemas/units.schema.yaml": "Flow cell",
        "docs/reference/sample-sheets.md": "Flow cell",
        "tests/workflow/test_read_groups.py": "flow_cell",
        "resources/demo/tuxedo/": "cell line",
        "scripts/gpd/delivery/citations.tsv": "cell differentiation",
        "tests/unit/test_docs.py": "first_cells",
    },
    r"bundles?": {
        "": r"max[-_]bundle[-_]frags|git bundle",
        "docs/how-to/references.md": r"GATK's resource bundle|those of the bundle",
        "resources/references/references.tsv": "Resource-bundle",  # GATK's
        "docs/evidence/faults.md": "cuffquant",
        "scripts/bench/bundles.py": "",  # loci, as Cufflinks calls them
        "docs/evidence/bundles.md": "",
        "docs/how-to/rna-seq.md": "evidence/bundles",
        "docs/evidence/data/bundles.json": "",
    },
    r"stretch(?:es)?": {
        "resources/demo/germline/": "stretch",  # of simulated sequence
        "workflow/scripts/tuxedo/strandedness.py": "stretch of a contig",
        "tests/unit/test_tuxedo_demo.py": "free of errors",
    },
    r"slots?": {
        "scripts/gpd/machines/memory_modules.py": "slot",  # of a mainboard
        "scripts/gpd/node/test_bed.py": "firmware's names of slots",
        "scripts/gpd/records/node.py": "firmware's names of slots",
        "tests/unit/test_node_measuring.py": "slot 7|all_slots",
    },
    r"pieces?": {
        "resources/demo/germline/": "pieces",  # of simulated sequence
        "scripts/snakemake-executor-plugin-pinned/": "writev|pwritev2",
        "docs/evidence/disk.md": "0.4Mb pieces",
        "workflow/rules/common.smk": "piece_mib",  # which profiles of earlier versions set
        "tests/workflow/test_jvm.py": "piece_mib",
    },
}
# identifiers that tell nothing of what they hold, or for which the field has another word, by the folders without them
OF_STUDIES = tuple(f"scripts/gpd/{folder}" for folder in ("commands", "lab", "scaling", "tables"))
NAMES = {
    "said": ("scripts", "workflow", "tests"),
    "told": ("scripts", "workflow"),
    "point": OF_STUDIES,  # a configuration; pictures have points
    "points": OF_STUDIES,
}
MAY_SAY = (
    "CHANGELOG.md",
    "resources/published/",
    "tests/golden/",
    "tests/unit/test_words.py",
)


def lines() -> list[str]:
    """FILE:LINE:TEXT of all text that git tracks, or would."""
    found = subprocess.run(
        [
            "git",
            "-C",
            ROOT,
            "grep",
            "--untracked",
            "-nIE",
            "",
            "--",
            ".",
            ":!*.lock",
            *(f":!{path}" for path in MAY_SAY),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.splitlines()


def is_meant(word: str, line: str) -> bool:
    """Whether a word stands for something else in this line."""
    return any(
        line.startswith(path) and re.search(meant, line.partition(":")[2])
        for path, meant in OTHERWISE.get(word, {}).items()
    )


def pattern_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE)


@pytest.mark.deep
@CLONE
def test_words_of_our_own_are_not_used_where_the_field_has_one() -> None:
    text = [line for line in lines() if pattern_of("|".join(WORDS)).search(line)]  # one search of most lines
    for word, instead in WORDS.items():
        pattern = pattern_of(word)
        found = [line for line in text if pattern.search(line) and not is_meant(word, line)]
        assert found == [], f"say: {instead}"


@CLONE
def test_sentences_of_the_program_need_no_second_reading() -> None:
    no_noun = r"what ha(?:s|ve|d)|none (?:is|are)|(?:is|are) none of"
    unplain = pattern_of(rf"nobody|somebody|whoever|{no_noun}|(?<!readers )(?<!user )(?<!users )who")
    own = [line for line in lines() if line.startswith(("scripts/", "workflow/")) and "/tests/" not in line]
    assert [line for line in own if unplain.search(line)] == [], "say what is so: it is not known, no job, a user"


@CLONE
def test_what_a_word_may_stand_for_is_there() -> None:
    text = lines()
    for word, places in OTHERWISE.items():
        for path, meant in places.items():
            assert any(line.startswith(path) and re.search(meant, line) for line in text), (word, path)


@pytest.mark.deep
def test_names_tell_what_they_hold() -> None:
    for name, folders in NAMES.items():
        for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if name not in text:
                continue
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            found = [token.start[0] for token in tokens if token.type == tokenize.NAME and token.string == name]
            assert found == [], f"{path}: {name}"
