"""Why jobs of public workflows failed, as their records say it: by what wrappers and scripts print, log or not."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from folders import Folder
from snakemake_executor_plugin_pinned.launcher.diagnose import diagnose

HINT = "used by some of the sorting collections.  If you are running out of memory, try reducing\nthis number.\n"
WRAPPED = """
import sys
from snakemake.shell import shell
if snakemake.wildcards.way == "says":
    print("Unable to download the genome", file=sys.stderr)
    sys.exit(1)
if snakemake.wildcards.way == "raises":
    raise ValueError("no such strand")
text = "Unknown option -Xmx4g" if snakemake.wildcards.way == "logs" else ""
shell("echo {text} > {snakemake.log}; exit 1")
"""
WAYS = {  # of a script to fail, and what the record then says
    "says": "Unable to download the genome",
    "raises": "ValueError: no such strand",
    "logs": "Unknown option -Xmx4g",
    "nothing": "exit code 1, and nothing in the log says why",
}
SCRIPTS = f"""
rule all:
    input: expand("{{way}}.{{of}}.txt", way={list(WAYS)}, of=["script", "wrapper"])

rule in_script:
    output: "{{way}}.script.txt"
    log: "logs/{{way}}.script.log"
    script: "wrapped/wrapper.py"

rule in_wrapper:
    output: "{{way}}.wrapper.txt"
    log: "logs/{{way}}.wrapper.log"
    wrapper: "file:wrapped"
"""


def cause(folder: Path, log: str) -> tuple[str, str]:
    (folder / "log").write_text(log)
    return diagnose(1, None, SimpleNamespace(log=str(folder / "log"), stall_s=0), 0)


def test_a_hint_about_memory_in_a_tools_usage_proves_nothing(tmp_path: Path) -> None:
    assert cause(tmp_path, HINT) == ("tool_error", WAYS["nothing"])
    assert cause(tmp_path, HINT + "sort: out of memory\n") == ("out_of_memory", "sort: out of memory")


def test_an_option_that_a_tool_does_not_know_is_its_error(tmp_path: Path) -> None:
    assert cause(tmp_path, "Unknown option -Xmx4g\nUsage: TOOL\n") == ("tool_error", "Unknown option -Xmx4g")


@pytest.mark.e2e
def test_what_a_script_says_beside_its_log_is_the_cause_where_the_log_is_silent(tmp_path: Path) -> None:
    (tmp_path / "wrapped").mkdir()
    (tmp_path / "wrapped" / "wrapper.py").write_text(WRAPPED)
    (tmp_path / "wrapped" / "environment.yaml").write_text("channels: [conda-forge]\n")
    here = Folder(tmp_path)
    done = here.run(SCRIPTS, "--keep-going")
    assert done.returncode == 1
    found = {(each["rule"], each["wildcards"]["way"]): each["message"] for each in here.records()}
    assert found == {(rule, way): WAYS[way] for rule in ("in_script", "in_wrapper") for way in WAYS}
    assert "Unable to download the genome" in done.stderr  # who looks at the terminal sees it, too
