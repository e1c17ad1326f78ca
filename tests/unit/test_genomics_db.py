"""A cohort's GenomicsDB that is kept: what is imported when, and what is left of an import that fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

SCRIPT = ROOT / "workflow" / "scripts" / "germline" / "genomics_db.py"
# stands in for GATK: a workspace is a list of its samples, which an import writes anew, and a file an import
GATK = f"""#!{sys.executable}
import os, sys
from pathlib import Path

if sys.argv[1:] == ["--version"]:
    sys.exit(print(os.environ.get("VERSION", "4.6.2")))
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
names = [line.split("\\t")[0] for line in Path(given["--sample-name-map"]).read_text().splitlines()]
workspace = Path(given.get("--genomicsdb-workspace-path") or given["--genomicsdb-update-workspace-path"])
if "--genomicsdb-workspace-path" in given:
    (workspace / "array").mkdir(parents=True)
print(" ".join(sys.argv[3:4]), "imports", *names)
with (workspace / "samples").open("a") as held:
    held.write("".join(name + "\\n" for name in names))
if os.environ.get("DIES"):
    sys.exit(3)
with (workspace / "array" / names[0]).open("x") as fragment:
    fragment.write(" ".join(names))
"""


class Growing:
    """A cohort's database over an interval, made as the rule makes it."""

    def __init__(self, folder: Path):
        self.folder, self.database, self.kept = folder, folder / "cohort", folder / "cohort.kept"
        (folder / "gatk").write_text(GATK)
        (folder / "gatk").chmod(0o755)
        (folder / "regions.bed").write_text("chr1\t0\t1000\n")

    def script(self, *words: object, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-S", "-E", SCRIPT, *map(str, words)],
            env=os.environ | environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )

    def grow(self, *names: str, kept: str = "--kept", **environment: str) -> subprocess.CompletedProcess:
        for name in names:
            if not (gvcf := self.folder / f"{name}.g.vcf.gz").exists():
                gvcf.write_text(name)
        (self.folder / "samples.tsv").write_text("".join(f"{name}\t{name}.g.vcf.gz\n" for name in names))
        words = ["--samples", "samples.tsv", "-L", "regions.bed", *kept.split(), "--", "./gatk", "GenomicsDBImport"]
        return self.script(self.database, *words, **environment)

    def add(self, *names: str, **settings: str) -> list[str]:
        """Make the database of these samples, and keep it; return which were imported."""
        grown = self.grow(*names, **settings)
        assert grown.returncode == 0, grown.stderr
        assert sorted((self.database / "workspace" / "samples").read_text().split()) == sorted(names)
        return [name for line in grown.stdout.splitlines() if "imports" in line for name in line.split()[1:]][1:]


@pytest.fixture
def growing(tmp_path) -> Growing:
    return Growing(tmp_path)


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.deep
def test_samples_that_come_later_are_imported_alone(growing):
    assert growing.add("S1", "S2") == ["S1", "S2"]
    assert growing.add("S0", "S1", "S2", "S3") == ["S0", "S3"]
    assert growing.add("S0", "S1", "S2", "S3") == []
    assert sorted(path.name for path in growing.kept.iterdir()) == ["3", "current"], "earlier ones are gone"
    assert growing.database.resolve() == growing.kept / "3"


def touch(growing):
    (growing.folder / "S1.g.vcf.gz").write_text("another")


def elsewhere(growing):
    (growing.folder / "regions.bed").write_text("chr1\t0\t900\n")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("change", "names", "environment"),
    [
        (touch, ("S1", "S2", "S3"), {}),
        (elsewhere, ("S1", "S2", "S3"), {}),
        (None, ("S1", "S3"), {}),
        (None, ("S1", "S2", "S3"), {"VERSION": "4.7"}),
    ],
    ids=["a changed GVCF", "other regions", "a sample removed", "another GATK"],
)
def test_what_an_update_cannot_do_makes_the_database_anew(growing, change, names, environment):
    growing.add("S1", "S2")
    if change:
        change(growing)
    assert growing.add(*names, **environment) == [*names]
    assert growing.add(*names, **environment) == []


@pytest.mark.deep
def test_an_import_that_dies_half_way_leaves_the_kept_one_as_it_was(growing):
    growing.add("S1", "S2")
    before = tree(growing.kept / "current")
    assert growing.grow("S1", "S2", "S3", DIES="1").returncode == 3
    assert tree(growing.kept / "current") == before
    assert not (growing.database / "workspace.json").exists()
    for path in growing.database.rglob("*"):
        if path.is_file():
            path.unlink()  # as Snakemake removes what a failed job leaves
    for folder in ("workspace/array", "workspace", "."):
        (growing.database / folder).rmdir()
    assert growing.add("S1", "S2", "S3") == ["S3"]


@pytest.mark.deep
def test_an_attempt_that_was_cut_off_is_no_beginning_of_the_next(growing):
    assert growing.grow("S1", DIES="1").returncode == 3
    assert growing.add("S1") == ["S1"]
    assert (growing.database / "workspace" / "samples").read_text() == "S1\n"


@pytest.mark.deep
@pytest.mark.parametrize("after", ["the move", "the change of the link"])
def test_keeping_that_was_cut_off_is_done_again(growing, after):
    growing.add("S1")
    earlier = growing.folder / "earlier"
    shutil.copytree(growing.kept / "1", earlier)
    growing.add("S1", "S2")
    earlier.rename(growing.kept / "1")
    growing.database.unlink()
    if after == "the move":
        (growing.kept / "current").unlink()
        (growing.kept / "current").symlink_to("1")
    assert growing.add("S1", "S2") == (["S2"] if after == "the move" else [])
    assert sorted(path.name for path in growing.kept.iterdir()) == ["3", "current"]


@pytest.mark.deep
def test_files_of_arrays_are_shared_with_the_kept_database_where_links_can_be(growing, monkeypatch):
    growing.add("S1")
    old = (growing.kept / "1" / "workspace" / "array" / "S1").stat().st_ino
    growing.add("S1", "S2")
    assert (growing.database / "workspace" / "array" / "S1").stat().st_ino == old
    held = json.loads((growing.database / "workspace.json").read_text())["samples"]
    assert set(held) == {"S1", "S2"}


def test_where_links_cannot_be_files_are_copied(tmp_path, monkeypatch):
    from conftest import script

    (tmp_path / "1" / "array").mkdir(parents=True)
    (tmp_path / "1" / "array" / "S1").write_text("fragment")

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    script(SCRIPT).copy(tmp_path / "1", tmp_path / "2")
    assert (tmp_path / "2" / "array" / "S1").read_text() == "fragment"
    assert not (tmp_path / "2" / "array" / "S1").samefile(tmp_path / "1" / "array" / "S1")


@pytest.mark.deep
def test_a_temporary_database_is_made_of_all_and_nothing_is_kept(growing):
    growing.add("S1", kept="")
    assert growing.add("S1", "S2", kept="") == ["S1", "S2"]
    assert not growing.database.is_symlink()
    assert sorted(path.name for path in growing.database.iterdir()) == ["workspace"]
