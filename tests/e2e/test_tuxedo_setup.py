"""Set-up's cures for Cufflinks, with the Cufflinks that is installed here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.e2e

INSTALL = """
set -euo pipefail
root=$PWD setup=$PWD/scripts/setup quiet= route=path prefix=
source "$setup/common.sh"
source "$setup/prefix.sh"
source "$setup/cufflinks.sh"
mkdir -p .tools/log .venv/bin
install_cufflinks
link_cufflinks
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a blank in its name, and set-up's scripts."""
    folder = tmp_path / "a clone"
    shutil.copytree(ROOT / "scripts" / "setup", folder / "scripts" / "setup")
    return folder


def path_without_cures() -> str:
    """PATH without folders in which an earlier set-up put its own cuffdiff."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / "cuffdiff").is_symlink())


def install(clone: Path) -> str:
    environment = os.environ | {"PATH": path_without_cures()}
    done = subprocess.run(
        ["bash", "-c", INSTALL], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_command_is_proved_and_the_cured_one_works(clone, figure):
    if not shutil.which("cuffdiff", path=path_without_cures()):
        pytest.skip("no cuffdiff on PATH")
    output = install(clone)
    status = (clone / ".tools/cufflinks/status").read_text().splitlines()
    figure("\n".join(status))
    assert [line.partition(":")[0] for line in status] == ["cuffmerge", "cuffdiff"]
    assert all(line.endswith("sound as packaged") or "cured by" in line for line in status)
    assert output.splitlines() == [f"cufflinks      {line}" for line in status]
    cured = {line.partition(":")[0] for line in status if "cured by" in line}
    for command in cured:
        link = clone / ".venv/bin" / command
        assert link.resolve() == clone / ".tools/cufflinks" / command
        started = subprocess.run([link], capture_output=True, text=True, check=False)
        assert "sage:" in started.stdout + started.stderr
    assert install(clone) == ""  # and once is enough


def test_a_package_that_changed_is_proved_again(clone):
    if not shutil.which("cuffdiff", path=path_without_cures()):
        pytest.skip("no cuffdiff on PATH")
    install(clone)
    (clone / ".tools/cufflinks/.stamp").write_text("of another cuffdiff\n")
    assert install(clone).startswith("cufflinks ")


def test_two_clones_on_path_do_not_start_each_other(clone, tmp_path):
    other = tmp_path / "another"
    shutil.copytree(clone, other)
    for folder in (clone, other):
        install(folder)
    if not (clone / ".venv/bin/cuffdiff").exists():
        pytest.skip("this cuffdiff needs no cure")
    path = os.pathsep.join([str(clone / ".venv/bin"), str(other / ".venv/bin"), path_without_cures()])
    started = subprocess.run(
        ["cuffdiff"], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False, timeout=30
    )
    assert "Usage:" in started.stdout + started.stderr
