"""Measure how fast a joint cohort is called here, against a public Snakemake workflow for the same task.

    python scripts/bench/peer.py --peer CLONE --wrappers CLONE [--pairs 3] [--seed 1] [--smallest]

The peer is snakemake-workflows/dna-seq-gatk-variant-calling up to its filtered calls, with its own settings, in the
same Snakemake and with the same bwa, samtools and GATK; indexes are made before. Of it one line is changed, for pandas
2. It also trims reads, which this workflow leaves to its user, and removes duplicates. Times are of whole commands,
planning in them. Ratios are taken within a pair.

CLONE are clones of the peer, and of snakemake/snakemake-wrappers with its tags. It also wants Debian's packages
picard-tools and trimmomatic, and `pip install snakemake-wrapper-utils==0.1.3`. On 2 cores it takes some 30 minutes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import cohorts, measurements
from benches.measurements import Measurement, timed
from benches.runs import Runner, run_bench

from gpd.lab.pool import Source
from gpd.machines import launcher

SETTINGS = {"calling": "joint", "filter": "hard"}
BOUNDS = {"bwa": 2.0, "bwa-mem4": 2.3}  # by mapper
COHORTS = {cohort.name: cohort for cohort in (cohorts.SMALL, cohorts.TINY)}
WRAPPERS = ("0.59.0", "0.74.0")  # tags that its rules name
OF_WRAPPERS = (":(glob)bio/**/wrapper.py", ":(glob)bio/**/environment.yaml")
OF_PANDAS_1 = "usecols=[0], squeeze=True, dtype=str)", "usecols=[0], dtype=str)[0]"
INDEXES = [f"resources/genome.fasta.{end}" for end in ("fai", "bwt")] + ["resources/genome.dict"]
VARIATION = ("variation.vcf.gz", "variation.noiupac.vcf.gz")
CALLS = "results/filtered/all.vcf.gz"
COMMANDS = {
    "picard": 'exec PicardCommandLine "$@"',
    "trimmomatic": 'mode=$1; shift; exec "Trimmomatic$mode" "$@"',
}


@dataclass(frozen=True)
class Peer:
    """The peer's workflow in a folder of its own, and the wrappers of its rules."""

    folder: Path

    @classmethod
    def of(cls, source: Source, folder: Path, peer: Path, wrappers: Path) -> "Peer":
        """Lay it out over a pool, and make its indexes."""
        export(peer, "HEAD", folder, "workflow", "config")
        for tag in WRAPPERS:
            export(wrappers, tag, folder / "wrappers" / tag, *OF_WRAPPERS)
        common = folder / "workflow/rules/common.smk"
        common.write_text(common.read_text().replace(*OF_PANDAS_1))
        for name, script in COMMANDS.items():
            command = folder / "bin" / name
            command.parent.mkdir(exist_ok=True)
            command.write_text(f"#!/bin/bash\n{script}\n")
            command.chmod(0o755)
        samples = ["sample", *(member.name for member in source.members)]
        (folder / "config/samples.tsv").write_text("\n".join(samples) + "\n")
        rows = [("sample", "unit", "platform", "fq1", "fq2")]
        rows += [(row["sample_name"], row["unit_name"], "ILLUMINA", row["fq1"], row["fq2"]) for row in source.units]
        (folder / "config/units.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
        sites = Path(source.config["known_sites"][0])
        resources = folder / "resources"
        resources.mkdir()
        (resources / "genome.fasta").write_bytes(Path(source.config["reference"]["fasta"]).read_bytes())
        made = cls(folder)
        made.run(*INDEXES)
        for name in VARIATION:  # in this order: each is newer than what the peer would make it of
            (resources / name).write_bytes(sites.read_bytes())
        made.run(f"resources/{VARIATION[-1]}.tbi")
        return made

    def run(self, *targets: str) -> tuple[float, float]:
        """Wall and CPU seconds up to the targets, on all cores."""
        cores = str(launcher.limits().cpus)
        prefix = f"file://{self.folder / 'wrappers'}/"
        options = ["--directory", self.folder, "--snakefile", self.folder / "workflow/Snakefile", "--cores", cores]
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        command = ["snakemake", *options, "--wrapper-prefix", prefix, "--", *targets]
        wall_s, cpu_s, _ = timed(command, env=os.environ | {"PATH": path})
        return wall_s, cpu_s

    def call(self) -> tuple[float, float]:
        """Wall and CPU seconds from the reads to the calls."""
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        return self.run(CALLS)


def export(clone: Path, revision: str, folder: Path, *paths: str) -> None:
    """The files of a revision below these paths."""
    folder.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", clone, "archive", revision, *paths], stdout=subprocess.PIPE, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def measure(name: str, folder: Path, clones: tuple[Path, Path], pairs: int, seed: int) -> Iterator[Measurement]:
    """Call a cohort's samples jointly in each way, in turns."""
    source = COHORTS[name].write(folder / "pool", seed)
    samples = tuple(member.name for member in source.members)
    peer = Peer.of(source, folder / "peer", *clones)
    ours = {choice: Runner(source, samples, SETTINGS | {"mapper": choice}) for choice in BOUNDS if shutil.which(choice)}
    for choice, runner in ours.items():
        runner.begin(folder / f"{choice}-prepared", ["prepare"])
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ("peer", *ours)}
    for pair in range(pairs):
        print(f"{name}: pair {pair + 1}", file=sys.stderr)
        for choice, runner in ours.items():
            run = runner.go_on(folder / f"{choice}-prepared", folder / choice)
            found[choice].append((run.wall_s, run.cpu_s))
        found["peer"].append(peer.call())
    for way, runs in found.items():
        wall_s, cpu_s = zip(*runs, strict=True)
        yield Measurement(f"{name}: {way}: wall time, s", wall_s, decimals=0)
        yield Measurement(f"{name}: {way}: CPU seconds a sample", [each / len(samples) for each in cpu_s], decimals=0)
    for choice, bound in {choice: BOUNDS[choice] for choice in ours}.items():
        pairs_of = [zip(*runs, strict=True) for runs in zip(found["peer"], found[choice], strict=True)]
        wall, cpu = zip(*([theirs / mine for theirs, mine in each] for each in pairs_of), strict=True)
        yield Measurement(f"{name}: genomes a day with {choice}, against the peer's", wall, least=bound, decimals=2)
        yield Measurement(f"{name}: CPU time of the peer to that with {choice}", cpu, decimals=2)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--wrappers", type=Path)
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    missing = [name for name in ("PicardCommandLine", "TrimmomaticPE") if not shutil.which(name)]
    missing += [f"--{name}" for name in ("peer", "wrappers") if not vars(arguments)[name]]
    if missing:
        print(f"not measured without {', '.join(missing)}: see --help")
        return 0
    arguments.cohorts, pairs = (["tiny"], 1) if arguments.smallest else (["small"], arguments.pairs)
    clones = (arguments.peer.resolve(), arguments.wrappers.resolve())
    return run_bench(arguments, COHORTS, lambda name, folder: measure(name, folder, clones, pairs, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
