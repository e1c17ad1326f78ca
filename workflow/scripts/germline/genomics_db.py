"""A cohort's GenomicsDB over an interval: made of GVCFs, or of what is kept of an earlier one.

    genomics_db.py FOLDER --samples MAP -L REGIONS -- gatk ... GenomicsDBImport ...

It makes FOLDER/workspace of the samples in MAP (lines of a name and a GVCF). Where a database is kept that holds some
of them and no other, from the same files, over the same regions and by the same GATK, it adds the others to a copy of
that; else all are imported. GATK takes no sample out, and an import that is cut off leaves neither the old nor the new:
hence a copy. It costs little: files of arrays, which an import adds to and never changes, are hard links where the file
system has them.

To be kept, FOLDER moves to FOLDER.kept/NUMBER, and FOLDER.kept/current becomes a link to that in one step, and FOLDER
one too. Snakemake removes an output before its job, but of a link it removes no more than the link.

Unless GPD_GENOMICSDB is kept, all are imported, and nothing is kept. Standard library only.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

KEPT, WORKSPACE = "current", "workspace"


def main(arguments=None):
    """Be the command line; return GATK's exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=Path, required=True)
    parser.add_argument("-L", dest="regions", type=Path, required=True)
    parser.add_argument("importer", nargs="+")
    given = parser.parse_args(arguments)
    is_kept = os.environ.get("GPD_GENOMICSDB") == "kept"
    code = grow(given, is_kept)
    if is_kept and code == 0:
        keep(given.folder)
    return code


def grow(given, is_kept):
    """Make a workspace of all samples, from what is kept of it if that serves; return GATK's exit code."""
    clear(given.folder)  # of an attempt that was cut off
    given.folder.mkdir(parents=True)
    workspace, kept = given.folder / WORKSPACE, store_of(given.folder) / KEPT / WORKSPACE
    wanted = contents(given) if is_kept else None
    held = is_kept and read_contents(kept)
    samples = read_samples(given.samples)
    where = ["--genomicsdb-workspace-path", workspace, "-L", given.regions]
    if held and can_grow(held, wanted):
        copy(kept, workspace)
        samples = {name: path for name, path in samples.items() if name not in held["samples"]}
        where = ["--genomicsdb-update-workspace-path", workspace]
        print(f"{kept} holds {len(held['samples'])} samples; added to a copy of it: {len(samples)}", flush=True)
    code = run_import(given.importer, where, samples) if samples else 0
    if is_kept and code == 0:
        beside(workspace).write_text(json.dumps(wanted, indent=1) + "\n")
    return code


def run_import(importer, where, samples):
    """Have GATK import samples; return its exit code, as a shell says it: the launcher knows by it what was killed."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "samples.tsv")
        table.write_text("".join(f"{name}\t{path}\n" for name, path in samples.items()))
        code = subprocess.run([*importer, "--sample-name-map", table, *where]).returncode
        return code if code >= 0 else 128 - code


def read_samples(table):
    """Return {name: path of its GVCF}."""
    return dict(line.split("\t") for line in table.read_text().splitlines())


def contents(given):
    """Return what a workspace of these samples holds, by all that must be equal for it to be taken up again."""
    files = {name: Path(path).stat() for name, path in read_samples(given.samples).items()}
    return {
        "gatk": subprocess.run([given.importer[0], "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout,
        "regions": hashlib.sha256(given.regions.read_bytes()).hexdigest(),
        "samples": {name: [found.st_size, found.st_mtime_ns] for name, found in files.items()},
    }


def read_contents(workspace):
    """Return what a kept workspace holds, or None where there is none."""
    try:
        return json.loads(beside(workspace).read_text())
    except FileNotFoundError:
        return None


def can_grow(held, wanted):
    """Tell whether a workspace holds nothing that is not wanted."""
    return (held["gatk"], held["regions"]) == (wanted["gatk"], wanted["regions"]) and (
        held["samples"].items() <= wanted["samples"].items()
    )


def beside(workspace):
    """Return the path of the file that says what a workspace holds."""
    return workspace.with_name(f"{workspace.name}.json")


def clear(folder):
    """Remove a database; of a link to one that is kept no more than the link."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def copy(kept, workspace):
    """Copy a workspace: the files in it by contents, for an import writes these anew, files of arrays as links."""

    def copy_file(source, target):
        if Path(source).parent != kept:
            with suppress(OSError):  # a file system without hard links
                return os.link(source, target)
        return shutil.copy2(source, target)

    shutil.copytree(kept, workspace, copy_function=copy_file)


def store_of(folder):
    """Return where a database is kept."""
    return folder.with_name(f"{folder.name}.kept")


def keep(folder):
    """Make a database the one that is kept, in place of an earlier one."""
    store = store_of(folder)
    store.mkdir(exist_ok=True)
    earlier = [path for path in store.iterdir() if path.name.isdigit()]
    number = 1 + max((int(path.name) for path in earlier), default=0)
    for path in folder.rglob("*"):
        if path.is_file():
            write_through(path)
    folder.rename(store / str(number))
    link(str(number), store / KEPT)
    link(f"{store.name}/{number}", folder)
    for path in earlier:
        shutil.rmtree(path)


def write_through(path):
    """Have a file on the disk: a power cut must not leave the link to it alone."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def link(target, path):
    """Make or change a link in one step."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(path)


if __name__ == "__main__":
    sys.exit(main())
