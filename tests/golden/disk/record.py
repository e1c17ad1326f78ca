"""Run samples alone with the real tools, and write what disk each took into measured.tsv and docs/evidence/disk.md.

    python tests/golden/disk/record.py [NAME ...]

Simulated samples, and real reads of ../shared/data where they are there; all, or those named. tests/unit/test_disk.py
holds predictions against the table.
"""

import csv
import importlib.util
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import yaml

from documentation.pages import code, page, table
from gpd.commands.gpd_demo import simulate
from gpd.execution import workflow
from gpd.lab import disk_room
from gpd.lab.pool import read_source

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SHARED = ROOT.parent / "shared" / "data"
TABLE = HERE / "measured.tsv"
PAGE = ROOT / "docs/evidence/disk.md"
COLUMNS = ["name", "settings", "sort_mb", "genome", "units", "peak_bytes", "kept_bytes", "rules"]
LOOK_S = 0.005
MIB = 1 << 20
CORES, USUAL_MB = 1, 10_000  # one job after the other: what lies there is that job's


@dataclass(frozen=True)
class Case:
    """A sample of a configuration that is made in a folder; settings of it that are others; memory of its sorter."""

    pipeline: str
    make: Callable[[Path], None]
    sample: str
    settings: dict = field(default_factory=dict)
    sort_mb: int = USUAL_MB


def simulated(pipeline: str, *options: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        simulate(pipeline, folder, 1, *options)

    return make


def germline_reads(name: str, fasta: str, sites: str) -> Callable[[Path], None]:
    """All lanes of a folder of real reads as one sample."""

    def make(folder: Path) -> None:
        data = SHARED / name
        units = [("NA12878", fq1.name, fq1) for fq1 in sorted((data / "reads").glob("*_R1.fastq.gz"))]
        config = {"reference": {"fasta": str(data / fasta)}, "known_sites": [str(data / "known_sites" / sites)]}
        write(folder, config, units)

    return make


def rna_reads(name: str, sample: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        data = SHARED / name
        config = {"reference": {"fasta": str(data / "genome.fa.gz")}, "annotation": str(data / "genes.gtf.gz")}
        write(folder, config, [(sample, "L1", data / "reads" / f"{sample}_R1.fastq.gz")])

    return make


def write(folder: Path, config: dict, units: list[tuple[str, str, Path]]) -> None:
    rows = [f"{sample}\t{unit}\t{fq1}\t{str(fq1).replace('_R1.', '_R2.')}" for sample, unit, fq1 in units]
    (folder / "units.tsv").write_text("\n".join(["sample_name\tunit_name\tfq1\tfq2", *rows]) + "\n")
    (folder / "samples.tsv").write_text("\n".join(["sample_name", *{sample for sample, *_ in units}]) + "\n")
    tables = {"samples": "samples.tsv", "units": "units.tsv"}
    (folder / "config.yaml").write_text(yaml.safe_dump(config | tables))


CHR20 = germline_reads("germline_chr20", "chr20_1100kb.fa.gz", "HG002_only.sites.1100kb.vcf.gz")
CHR22 = germline_reads("germline_chr22", "chr22_40kb.fa.gz", "dbsnp_146.hg38.vcf.gz")
SMALL = simulated("germline", "--samples", "1", "--length", "400000")
THIN = simulated("germline", "--samples", "1", "--length", "10000000", "--coverage", "0.5")
GAPS = simulated("germline", "--samples", "1", "--length", "400000", "--gaps-every", "80000")
QUANTIZED = {"quantize": [10, 20, 30]}
CASES = {
    "simulated_0.4Mb": Case("germline", SMALL, "DEMO01"),
    "simulated_0.4Mb_cram": Case("germline", SMALL, "DEMO01", {"alignment_format": "cram"}),
    "simulated_0.4Mb_spilled": Case("germline", SMALL, "DEMO01", sort_mb=40),
    "simulated_0.4Mb_samtools": Case("germline", SMALL, "DEMO01", {"duplicates": "samtools"}),
    "simulated_0.4Mb_pieces": Case("germline", GAPS, "DEMO01", {"scatter": 4}),
    "simulated_10Mb_thin": Case("germline", THIN, "DEMO01"),
    "simulated_10Mb_thin_cram": Case("germline", THIN, "DEMO01", {"bqsr": "none", "alignment_format": "cram"}),
    "chr20": Case("germline", CHR20, "NA12878"),
    "chr20_samtools": Case("germline", CHR20, "NA12878", {"duplicates": "samtools"}),
    "chr20_cram": Case("germline", CHR20, "NA12878", {"alignment_format": "cram"}),
    "chr20_quantized": Case("germline", CHR20, "NA12878", QUANTIZED),
    "chr20_quantized_cram": Case("germline", CHR20, "NA12878", QUANTIZED | {"alignment_format": "cram"}),
    "chr20_not_recalibrated": Case("germline", CHR20, "NA12878", {"bqsr": "none"}),
    "chr20_not_recalibrated_cram": Case("germline", CHR20, "NA12878", {"bqsr": "none", "alignment_format": "cram"}),
    "chr20_reblocked": Case("germline", CHR20, "NA12878", {"reblock": True}),
    "chr22": Case("germline", CHR22, "NA12878"),
    "simulated_rna": Case("tuxedo", simulated("tuxedo"), "treated1"),
    "yeast": Case("tuxedo", rna_reads("rnaseq_yeast_chrI", "WT_rep1"), "WT_rep1"),
    "yeast_spilled": Case("tuxedo", rna_reads("rnaseq_yeast_chrI", "WT_rep1"), "WT_rep1", sort_mb=16),
}
USUAL = {
    "germline": {"filter": "hard", "calling": "per_sample", "scatter": "none"},
    "tuxedo": {"stop_after": "quantify"},
}
SORTS = {"germline": "map_and_sort", "tuxedo": "align"}


def measure(case: Case, folder: Path) -> dict[str, object]:
    """What the sample took, and what is known of it before."""
    given, run = folder / "given", folder / "run"
    given.mkdir()
    case.make(given)
    source = read_source(given, Path("config.yaml"), case.pipeline)
    settings = USUAL[case.pipeline] | case.settings
    source.lay_out([case.sample], run, **settings)
    snakemake(case, run, "prepare", folder)
    with tempfile.TemporaryDirectory() as scratch:
        shared = disk_room.used_mib(run / "results") * MIB
        with watch(run / "results", Path(scratch)) as looks:
            snakemake(case, run, "results", folder, TMPDIR=scratch)
    script = load(ROOT / "workflow/scripts/resources/disk.py")
    units = source.units_of(case.sample)
    return {
        "settings": json.dumps({"pipeline": case.pipeline} | settings),
        "sort_mb": case.sort_mb,
        "genome": genome(Path(source.config["reference"]["fasta"])),
        "units": json.dumps([round(sum(script.fastq_bytes(str(path)) for path in unit.values())) for unit in units]),
        "peak_bytes": round(max(look.results + look.temporary for look in looks) - shared),
        "kept_bytes": round(disk_room.used_mib(run / "results") * MIB - shared),
        "rules": json.dumps(dict(by_rule(run / "ledger.jsonl", looks, shared))),
    }


def genome(fasta: Path) -> int:
    """About how many bases a genome has, as the workflow takes it."""
    return fasta.stat().st_size * (4 if fasta.suffix == ".gz" else 1)


@dataclass(frozen=True)
class Look:
    """Bytes in the folder of results and in that of temporary files, at a time."""

    at: datetime
    results: float
    temporary: float


@contextmanager
def watch(results: Path, temporary: Path) -> Iterator[list[Look]]:
    """Look at both folders again and again."""
    looks: list[Look] = []
    over = threading.Event()

    def keep_looking() -> None:
        while not over.wait(LOOK_S):
            taken = [disk_room.used_mib(folder) * MIB for folder in (results, temporary)]
            looks.append(Look(datetime.now(UTC), taken[0], taken[1] + unlinked(temporary)))

    watcher = threading.Thread(target=keep_looking)
    watcher.start()
    try:
        yield looks
    finally:
        over.set()
        watcher.join()


def unlinked(folder: Path) -> float:
    """Bytes of files without a name there any more, which samtools still has open."""
    files = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            links = process.glob("fd/*") if (process / "comm").read_text() == "samtools\n" else ()
            for link in links:
                target = str(link.readlink())
                if target.startswith(f"{folder}/") and target.endswith(" (deleted)"):
                    files[link.stat().st_ino] = link.stat().st_blocks * disk_room.BLOCK_BYTES
    return sum(files.values())


def by_rule(ledger: Path, looks: list[Look], shared: float) -> Iterator[tuple[str, list[int]]]:
    """The most of each folder while jobs of each rule ran."""
    spans: dict[str, list[tuple[datetime, datetime]]] = {}
    for line in ledger.read_text().splitlines():
        row = json.loads(line)
        spans.setdefault(row["rule"], []).append((row["start"], row["end"]))
    for rule, times in sorted(spans.items()):
        spent = [(datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in times]
        then = [look for look in looks if any(start <= look.at <= end for start, end in spent)]
        if then:
            yield (
                rule,
                [round(max(look.results for look in then) - shared), round(max(look.temporary for look in then))],
            )


def snakemake(case: Case, run: Path, target: str, folder: Path, **environment: str) -> None:
    options = ["--set-resources", f"{SORTS[case.pipeline]}:mem_mb={case.sort_mb}"]
    command = workflow.command(run, CORES, None, workflow.PROFILES / "throughput", [], ["--", target], options)
    ended = workflow.run(command, folder / f"{target}.log", lambda state: None, environment)
    if ended.exit_code:
        sys.exit("\n".join(ended.output))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(names: list[str]) -> None:
    rows = {row["name"]: row for row in read()}
    for name in names or CASES:
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = {"name": name} | measure(CASES[name], Path(folder))
        print(*rows[name].values(), sep="\t", flush=True)
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[name] for name in CASES if name in rows)
    PAGE.write_text(disk_page())


def read() -> Iterator[dict[str, str]]:
    if TABLE.exists():
        with TABLE.open(newline="") as file:
            yield from csv.DictReader(file, delimiter="\t")


def disk_page() -> str:
    """What the table holds, for each byte of compressed FASTQ, of which it has a number a unit."""
    rows = []
    for row in read():
        fastq = sum(json.loads(row["units"]))
        given = ((key, json.dumps(value).strip('"')) for key, value in json.loads(row["settings"]).items())
        settings = ", ".join(code(f"{key}: {text}") for key, text in given)
        ratios = (f"{int(row[name]) / fastq:.2f}" for name in ("peak_bytes", "kept_bytes"))
        rows.append((row["name"].replace("_", " "), settings, f"{fastq / 1e6:.1f}", *ratios))
    heads = ("sample", "settings", "compressed FASTQ, MB", "peak, bytes per byte", "kept, bytes per byte")
    return page(
        "Disk",
        "tests/golden/disk/measured.tsv",
        "How much disk one sample takes while it runs, and how much it keeps, for each byte of its compressed FASTQ.",
        "```sh\npython tests/golden/disk/record.py\n```",
        "Each sample ran alone, once (n = 1), one job after the other. Sizes of files do not depend on the machine. "
        "The tests hold the estimates by which a run warns, or is refused, against this table.",
        table(heads, rows),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
