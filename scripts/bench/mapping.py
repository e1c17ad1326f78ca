"""Measure the CPU time of each mapper that is installed here, and whether all give the same records.

    python scripts/bench/mapping.py [--genomes ecoli_like human germline_chr20 FASTA ...] [--repeats 5]
                                        [--smallest]

`ecoli_like`: 4.6 Mb of the demo's simulator at 6x. `human`: 1 Mb of chr22, which Debian's package of HISAT2 has among
its examples, with reads of dwgsim at 30x. `germline_chr20`: real reads of NA12878. A FASTA file, as a tenth of a human
genome that `make rehearsal-data SCALE=0.1` simulates: 400,000 pairs of dwgsim from anywhere in it. What is not here is
left out, with a line. All mappers map the same reads in turns: on one thread, on two, and in two copies of one thread
side by side. Figures are user and system seconds a gigabase, with those that loading the index takes. Exits with 1
where records differ. On 2 cores it takes some 20 minutes; `--smallest` takes 20 kb.
"""

import gzip
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benches import cohorts, measurements
from benches.measurements import Measurement, timed

MAPPERS = ("bwa", "bwa-mem2", "bwa-mem4")
BATCH_BASES = 100_000_000
RUNS = {"threads 1": (1, 1), "threads 2": (2, 1), "copies 2": (1, 2)}  # threads, copies
HUMAN = Path("/usr/share/doc/hisat2/examples/reference/22_20-21M.fa")
HUMAN_PAIRS = 100_000  # of 2 x 150 bases over 1 Mb
FASTA_PAIRS = 400_000  # loading a large index is a small part of mapping them
ECOLI = cohorts.Simulated("ecoli_like", samples=1, length=4_600_000, coverage=6)


@dataclass(frozen=True)
class Reads:
    """A genome's FASTA file and the pairs of read files that are mapped to it."""

    fasta: Path
    lanes: tuple[tuple[Path, Path], ...]

    @property
    def gigabases(self) -> float:
        return sum(bases(path) for lane in self.lanes for path in lane) / 1e9


def bases(path: Path) -> int:
    with gzip.open(path) as lines:
        return sum(len(line) - 1 for number, line in enumerate(lines) if number % 4 == 1)


def of_cohort(cohort: cohorts.Simulated | cohorts.Real, folder: Path, seed: int) -> Reads:
    source = cohort.write(folder / "pool", seed)
    lanes = tuple((Path(row["fq1"]), Path(row["fq2"])) for row in source.units)
    return Reads(plain(Path(source.config["reference"]["fasta"]), folder), lanes)


def drawn(source: Path, pairs: int, folder: Path, seed: int) -> Reads:
    """A genome and reads that are drawn from it, with errors and variants."""
    simulate = ["dwgsim", "-z", str(seed), "-N", str(pairs), "-1", "150", "-2", "150"]
    errors = ["-e", "0.002-0.01", "-E", "0.002-0.01"]
    fasta = plain(source, folder)
    subprocess.run([*simulate, *errors, fasta, folder / "reads"], check=True, capture_output=True)
    return Reads(fasta, ((folder / "reads.bwa.read1.fastq.gz", folder / "reads.bwa.read2.fastq.gz"),))


def plain(fasta: Path, folder: Path) -> Path:
    """An uncompressed copy of a FASTA file."""
    opened = gzip.open if fasta.suffix == ".gz" else open
    with opened(fasta, "rb") as source, (folder / "genome.fa").open("wb") as copy:
        shutil.copyfileobj(source, copy)
    return folder / "genome.fa"


def genome(name: str, folder: Path, seed: int) -> Reads | None:
    """A genome with its reads; None, and a line, where it is not here."""
    if cohort := {"ecoli_like": ECOLI, "tiny": cohorts.TINY, "germline_chr20": cohorts.CHR20}.get(name):
        if cohort is not cohorts.CHR20 or cohorts.CHR20.data.is_dir():
            return of_cohort(cohort, folder, seed)
    else:
        source, pairs = (HUMAN, HUMAN_PAIRS) if name == "human" else (Path(name), FASTA_PAIRS)
        if source.is_file() and shutil.which("dwgsim"):
            return drawn(source, pairs, folder, seed)
    print(f"{name}: not here", flush=True)
    return None


def map_reads(mapper: str, reads: Reads, folder: Path, threads: int, copies: int) -> tuple[float, set[str]]:
    """CPU seconds of each of so many copies, the mean, and the digests of the records."""
    options = ["-v", "1", "-t", str(threads), "-Y", "-K", str(BATCH_BASES), "-R", r"@RG\tID:a\tSM:a"]

    def one(number: int) -> tuple[float, str]:
        output, cpu_s, digest = folder / f"{mapper}.{number}.sam", 0.0, hashlib.sha256()
        for lane in reads.lanes:
            command = [mapper, "mem", *options, "-o", output, folder / mapper / reads.fasta.name, *lane]
            cpu_s += timed(command)[1]
            with output.open("rb") as lines:
                for line in lines:
                    digest.update(b"" if line.startswith(b"@PG\t") else line)
        return cpu_s, digest.hexdigest()

    with ThreadPoolExecutor(copies) as pool:
        found = list(pool.map(one, range(copies)))
    return sum(cpu_s for cpu_s, _ in found) / copies, {digest for _, digest in found}


def measure(name: str, reads: Reads, folder: Path, repeats: int) -> Iterator[Measurement]:
    """Map the reads with each mapper in turns."""
    mappers = [mapper for mapper in MAPPERS if shutil.which(mapper)]
    for mapper in mappers:
        (folder / mapper).mkdir()
        shutil.copy(reads.fasta, folder / mapper)
        subprocess.run([mapper, "index", folder / mapper / reads.fasta.name], check=True, capture_output=True)
    digests: set[str] = set()
    for what, (threads, copies) in RUNS.items():
        cpu_s: dict[str, list[float]] = {mapper: [] for mapper in mappers}
        for _ in range(repeats):
            for mapper in mappers:
                taken, found = map_reads(mapper, reads, folder, threads, copies)
                cpu_s[mapper].append(taken)
                digests |= found
        for mapper, values in cpu_s.items():
            each = tuple(value / reads.gigabases for value in values)
            yield Measurement(f"{name}, {what}: CPU seconds a gigabase of {mapper}", each, decimals=0)
        for mapper in mappers[1:]:
            ratios = tuple(one / other for one, other in zip(cpu_s["bwa"], cpu_s[mapper], strict=True))
            yield Measurement(f"{name}, {what}: CPU time of bwa to that of {mapper}", ratios, decimals=2)
    yield Measurement(f"{name}: different records", (len(digests) - 1,), most=0, decimals=0, of_results=True)


def main() -> int:
    """Print the figures; return 1 when one is out of bounds."""
    names = ["ecoli_like", "human", "germline_chr20"]
    parser = measurements.parser(__doc__)
    parser.add_argument("--genomes", nargs="+", default=names, metavar="GENOME", help="names, or FASTA files")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.genomes if name not in names and not Path(name).is_file()]:
        parser.error(f"--genomes: {unknown[0]}: no such FASTA file, and none of {', '.join(names)}")
    if arguments.smallest:
        arguments.genomes, arguments.repeats = ["tiny"], 1
    for mapper in MAPPERS:
        if not shutil.which(mapper):
            print(f"{mapper}: not installed here", flush=True)
    measurements.show_machine()
    holds = True
    for name in arguments.genomes:
        with tempfile.TemporaryDirectory(prefix="gpd-bench-") as made:
            if reads := genome(name, Path(made), arguments.seed):
                found = measure(Path(name).stem, reads, Path(made), arguments.repeats)
                holds &= measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds, "germline-bwa-mem4")


if __name__ == "__main__":
    sys.exit(main())
