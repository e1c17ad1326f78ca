"""A cohort's GenomicsDB over an interval: made of GVCFs, or of what is kept of an earlier one.

    genomics_db.py FOLDER --samples MAP -L REGIONS [--kept] -- gatk ... GenomicsDBImport ...

It makes FOLDER/workspace of the samples in MAP (lines of a name and a GVCF). Where a database is kept that holds some
of them and no other, from the same files, over the same regions and by the same GATK, it adds the others to a copy of
that; else all are imported. GATK takes no sample out, and an import that is cut off leaves neither the old nor the new:
hence a copy. It costs little: files of arrays, which an import adds to and never changes, are hard links where the file
system has them.

To be kept, FOLDER moves to FOLDER.kept/NUMBER, and FOLDER.kept/current becomes a link to that in one step, and FOLDER
one too. Snakemake removes an output before its job, but of a link it removes no more than the link.

Without --kept all are imported, and nothing is kept. Standard library only.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

CONTENTS = "workspace.json"  # beside a workspace: what it holds


def main(folder, _samples, table, _l, regions, *rest):
    """Make the database, and keep it where that is asked for; return GATK's exit code."""
    folder, regions = Path(folder), Path(regions)
    samples = dict(line.split("\t") for line in Path(table).read_text().splitlines())
    is_kept, importer = rest[0] == "--kept", rest[rest.index("--") + 1 :]
    clear(folder)  # of an attempt that was cut off
    folder.mkdir(parents=True)
    if not is_kept:
        return run_import(importer, ["--genomicsdb-workspace-path", folder / "workspace", "-L", regions], samples)
    wanted = contents(importer[0], regions, samples)
    if (code := grow(folder, regions, samples, wanted, importer)) == 0:
        (folder / CONTENTS).write_text(json.dumps(wanted, indent=1) + "\n")
        keep(folder)
    return code


def grow(folder, regions, samples, wanted, importer):
    """Make a workspace of all samples, from what is kept of it if that serves; return GATK's exit code."""
    workspace, kept = folder / "workspace", store_of(folder) / "current"
    held = json.loads((kept / CONTENTS).read_text()) if (kept / CONTENTS).exists() else None
    if not held or not can_grow(held, wanted):
        return run_import(importer, ["--genomicsdb-workspace-path", workspace, "-L", regions], samples)
    copy(kept / "workspace", workspace)
    added = {name: path for name, path in samples.items() if name not in held["samples"]}
    print(f"{kept}/workspace holds {len(held['samples'])} samples; added to a copy of it: {len(added)}", flush=True)
    return run_import(importer, ["--genomicsdb-update-workspace-path", workspace], added) if added else 0


def run_import(importer, where, samples):
    """Have GATK import samples; return its exit code, as a shell says it: the launcher knows by it what was killed."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "samples.tsv")
        table.write_text("".join(f"{name}\t{path}\n" for name, path in samples.items()))
        code = subprocess.run([*importer, "--sample-name-map", table, *where]).returncode
        return code if code >= 0 else 128 - code


def contents(gatk, regions, samples):
    """Return what a workspace of these samples holds, by all that must be equal for it to be taken up again."""
    files = {name: Path(path).stat() for name, path in samples.items()}
    return {
        "gatk": subprocess.run([gatk, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout,
        "regions": hashlib.sha256(regions.read_bytes()).hexdigest(),
        "samples": {name: [found.st_size, found.st_mtime_ns] for name, found in files.items()},
    }


def can_grow(held, wanted):
    """Tell whether a workspace holds nothing that is not wanted."""
    return (held["gatk"], held["regions"]) == (wanted["gatk"], wanted["regions"]) and (
        held["samples"].items() <= wanted["samples"].items()
    )


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
    """Make a database the one that is kept, in place of an earlier one; all of it is on the disk before the links."""
    store = store_of(folder)
    store.mkdir(exist_ok=True)
    earlier = [path for path in store.iterdir() if path.name.isdigit()]
    number = 1 + max((int(path.name) for path in earlier), default=0)
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    folder.rename(store / str(number))
    link(str(number), store / "current")
    link(f"{store.name}/{number}", folder)
    for path in earlier:
        shutil.rmtree(path)


def link(target, path):
    """Make or change a link in one step."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(path)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
