"""The cohorts of the benches: simulated ones, whose genome has contigs and gaps, regions of real samples; of RNA."""

import subprocess
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
class RealExperiment:
    """Samples of two conditions in the shared data: reads/{condition}_rep{n}_R{mate}.fastq.gz of so many replicates."""

    name: str
    title: str
    conditions: tuple[str, str]
    replicates: int
    config: str

    @property
    def data(self) -> Path:
        return SHARED / self.name

    def write(self, folder: Path, seed: int) -> Source:
        """As Simulated.write(), without a seed."""
        folder.mkdir()
        (folder / "data").symlink_to(self.data)
        names = {f"{each}_rep{n}": each for each in self.conditions for n in range(1, self.replicates + 1)}
        samples = [f"{name}\t{condition}" for name, condition in names.items()]
        units = ["\t".join((name, "L1", *(f"data/reads/{name}_R{mate}.fastq.gz" for mate in (1, 2)))) for name in names]
        (folder / SAMPLES).write_text("\n".join(["sample_name\tcondition", *samples]) + "\n")
        (folder / UNITS).write_text("\n".join(["sample_name\tunit_name\tfq1\tfq2", *units]) + "\n")
        config = {"samples": SAMPLES, "units": UNITS, **yaml.safe_load(self.config)}
        (folder / CONFIG).write_text(yaml.safe_dump(config))
        return read_pool("tuxedo", Pool(str(folder), CONFIG))

    def __str__(self) -> str:
        return f"{self.name}: {self.title}"


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
        folder.mkdir()
        (folder / "data").symlink_to(self.data)
        rows = ["sample_name\tunit_name\tfq1\tfq2"]
        for fq1 in sorted((folder / "data/reads").glob("*_R1.fastq.gz")):
            sample, _, lane = fq1.name.removesuffix("_R1.fastq.gz").partition("_")
            rows.append(f"{sample}\t{lane}\t{fq1}\t{fq1.with_name(fq1.name.replace('_R1.', '_R2.'))}")
        (folder / UNITS).write_text("\n".join(rows) + "\n")
        (folder / SAMPLES).write_text(f"sample_name\n{sample}\n")
        config = {"samples": SAMPLES, "units": UNITS, **yaml.safe_load(self.config)}
        (folder / CONFIG).write_text(yaml.safe_dump(config))
        return read_pool("germline", Pool(str(folder), CONFIG))

    def __str__(self) -> str:
        return f"{self.name}: {self.title}"


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
    ("WT", "RAP1_IAA2H"),
    3,
    """
    reference: {fasta: data/genome.fa.gz}
    annotation: data/genes.gtf.gz
    assembly: reference_only
    strandedness: fr-firststrand
    """,
)
