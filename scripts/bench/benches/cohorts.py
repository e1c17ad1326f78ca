"""The cohorts of the benches: simulated ones, whose genome has contigs and gaps, regions of real samples; of RNA."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from gpd.commands import gpd_demo
from gpd.lab.pool import Source, read_pool
from gpd.paths import ROOT
from gpd.records.study import Pool
from gpd.text.formats import counted

SHARED = ROOT.parent / "shared" / "data"
UNITS, SAMPLES, CONFIG = "units.tsv", "samples.tsv", "config.yaml"
# The sets of true variants for `filter: vets`, of those that the simulator writes; it names those for `filter: vqsr`.
BOTH, TRAINING = {"training": True, "calibration": True}, {"training": True}
VETS = {
    "snps": {
        "resources": {
            "hapmap": {"vcf": "known/hapmap.vcf.gz", **BOTH},
            "thousand_genomes": {"vcf": "known/thousand_genomes.vcf.gz", **TRAINING},
        }
    },
    "indels": {"resources": {"mills": {"vcf": "known/mills.vcf.gz", **BOTH}}},
}


@dataclass(frozen=True)
class Simulated:
    """Samples of the demo's simulator: how many, bases, depth, and how far apart gaps and variants are.

    A third of the population's variants are a sample's, so that these have one a kilobase, as people have. With
    `str_errors` reads slip in all short tandem repeats, else in runs of one base.
    """

    name: str
    samples: int
    length: int
    coverage: float
    gaps_every: int = 200_000
    variants_every: int = 340
    str_errors: bool = False

    def write(self, folder: Path, seed: int) -> Source:
        options = ("samples", "length", "coverage", "gaps_every", "variants_every")
        words = (word for name in options for word in (f"--{name.replace('_', '-')}", str(getattr(self, name))))
        gpd_demo.simulate("germline", folder, seed, *words, *(["--str-errors"] if self.str_errors else []))
        return read_pool("germline", Pool(str(folder), CONFIG))

    def __str__(self) -> str:
        errors = ", with errors in short tandem repeats" if self.str_errors else ""
        size = f"{counted(self.samples, 'sample')} x {self.length / 1e6:g} Mb x {self.coverage:g}x"
        return f"{self.name}: {size}{errors}"


@dataclass(frozen=True)
class Experiment:
    """Samples of the demo's simulator of RNA-Seq: of two conditions, each with so many replicates."""

    name: str
    replicates: int
    genes: int = 120

    @property
    def samples(self) -> int:
        return 2 * self.replicates

    def write(self, folder: Path, seed: int) -> Source:
        """As Simulated.write()."""
        gpd_demo.simulate("tuxedo", folder, seed, "--replicates", str(self.replicates), "--genes", str(self.genes))
        return read_pool("tuxedo", Pool(str(folder), CONFIG))

    def __str__(self) -> str:
        return f"{self.name}: {counted(self.samples, 'sample')} of two conditions, {self.genes} genes"


@dataclass(frozen=True)
class Real:
    """A region of NA12878 in the shared data; `config` is the YAML of its files below `data`."""

    name: str
    title: str
    config: str

    @property
    def data(self) -> Path:
        return SHARED / self.name

    def write(self, folder: Path, seed: int) -> Source:
        """As Simulated.write(), without a seed."""
        lanes = [path.name.partition("_R1.")[0] for path in sorted((self.data / "reads").glob("*_R1.fastq.gz"))]
        units = {lane: (lane.partition("_")[0], lane.partition("_")[2]) for lane in lanes}
        sample = units[lanes[0]][0]
        return self._write(folder, "germline", ["sample_name", sample], units)

    def _write(
        self, folder: Path, pipeline: str, samples: Sequence[str], units: Mapping[str, tuple[str, str]]
    ) -> Source:
        """A pool of lines of the table of samples, and of reads/{file}_R{mate}.fastq.gz, each of a sample and unit."""
        folder.mkdir()
        (folder / "data").symlink_to(self.data)
        (folder / SAMPLES).write_text("\n".join(samples) + "\n")
        rows = (
            "\t".join((sample, unit, *(f"data/reads/{file}_R{mate}.fastq.gz" for mate in (1, 2))))
            for file, (sample, unit) in units.items()
        )
        (folder / UNITS).write_text("\n".join(["sample_name\tunit_name\tfq1\tfq2", *rows]) + "\n")
        config = {"samples": SAMPLES, "units": UNITS, **yaml.safe_load(self.config)}
        (folder / CONFIG).write_text(yaml.safe_dump(config))
        return read_pool(pipeline, Pool(str(folder), CONFIG))

    def __str__(self) -> str:
        return f"{self.name}: {self.title}"


@dataclass(frozen=True)
class RealExperiment(Real):
    """Samples of two conditions: reads/{condition}_rep{n}_R{mate}.fastq.gz of so many replicates."""

    conditions: tuple[str, str]
    replicates: int

    def write(self, folder: Path, seed: int) -> Source:
        names = {f"{each}_rep{n}": each for each in self.conditions for n in range(1, self.replicates + 1)}
        samples = ["sample_name\tcondition", *("\t".join(row) for row in names.items())]
        return self._write(folder, "tuxedo", samples, {name: (name, "L1") for name in names})


def configured(pool: Path, **settings: object) -> Source:
    """A pool of the germline pipeline with some settings in place of its own; paths in them begin at its folder."""
    path = pool / CONFIG
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | settings))
    return read_pool("germline", Pool(str(pool), CONFIG))


def write_common_sites(source: Source, path: Path) -> None:
    """SNPs of a simulated cohort's first known sites, 10 kb and more apart, for `common_sites`, with an index."""
    apart = ["--window", "10kb", "--nsites-per-win", "1", "--nsites-per-win-mode", "1st"]
    known = source.config["known_sites"][0]
    subprocess.run(["bcftools", "+prune", *apart, "--include", 'TYPE="snp"', "-O", "z", "-o", path, known], check=True)
    subprocess.run(["tabix", path], check=True)


SMALL = Simulated("small", samples=4, length=1_000_000, coverage=20)
LARGE = Simulated("large", samples=4, length=4_900_000, coverage=21)
REPEATS = Simulated("repeats", samples=2, length=1_200_000, coverage=30, str_errors=True)
TINY = Simulated("tiny", samples=1, length=20_000, coverage=10, gaps_every=10_000, variants_every=100)
CHR20 = Real(
    "germline_chr20",
    "NA12878, 100 kb of chr20 x 52x",
    """
    reference: {fasta: data/chr20_1100kb.fa.gz}
    known_sites: [data/known_sites/HG002_only.sites.1100kb.vcf.gz]
    known_indels: [data/known_sites/HG002_only.indels.1100kb.vcf.gz]
    intervals: data/truth/calling_region.1100kb.bed
    """,
)
CHR22 = Real(
    "germline_chr22",
    "NA12878, 40 kb of chr22 x 33x",
    """
    reference: {fasta: data/chr22_40kb.fa.gz}
    known_sites: [data/known_sites/dbsnp_146.hg38.vcf.gz]
    known_indels: [data/known_sites/mills_and_1000G.indels.vcf.gz]
    """,
)
YEAST = RealExperiment(
    "rnaseq_yeast_chrI",
    "S. cerevisiae, chr I, 3 replicates of wild type and of RAP1 depleted, 25,000 pairs each",
    """
    reference: {fasta: data/genome.fa.gz}
    annotation: data/genes.gtf.gz
    assembly: reference_only
    strandedness: fr-firststrand
    """,
    ("WT", "RAP1_IAA2H"),
    3,
)
