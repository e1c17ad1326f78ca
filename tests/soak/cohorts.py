"""Random cohorts of the soak: what is drawn, and how it is laid out in a folder."""

import random
from dataclasses import dataclass
from pathlib import Path

import yaml
from conftest import UNIT_COLUMNS, random_sequence, sample_pairs, write_fastq, write_vcf
from tuxedo_cohort import GENES

BASES = 5000
OTHER = {"A": "C", "C": "G", "G": "T", "T": "A"}


@dataclass(frozen=True)
class Plan:
    """A cohort: how many pairs of reads each lane of each sample has, its settings, and up to where it is run."""

    pipeline: str
    pairs: dict[str, tuple[int, ...]]
    settings: dict[str, object]
    mapping_alone: bool

    @property
    def targets(self) -> list[str]:
        return [f"results/mark_duplicates/{name}.bam" for name in self.pairs] if self.mapping_alone else ["results"]

    @property
    def lanes(self) -> list[tuple[str, int]]:
        return [(name, lane) for name, pairs in self.pairs.items() for lane in range(1, len(pairs) + 1)]

    def reads(self, sample: str) -> int:
        """What goes in: both mates."""
        return 2 * sum(self.pairs[sample])

    def __str__(self) -> str:
        what = f"{self.pipeline}{', mapping alone' if self.mapping_alone else ''}"
        lanes = "+".join(str(len(pairs)) for pairs in self.pairs.values())
        settings = "".join(f", {key} {value}" for key, value in self.settings.items())
        return f"{what}: {len(self.pairs)} samples of {lanes} lanes{settings}"


def draw(dice: random.Random) -> Plan:
    """A cohort; of the RNA-Seq pipeline one without its tests of expression, which take several samples a condition.

    Its few reads lie on both strands, which may be too few to tell that.
    """
    pipeline = dice.choices(("germline", "tuxedo"), (4, 1))[0]
    mapping_alone = pipeline == "germline" and dice.random() < 0.6
    most = 20_000 if mapping_alone else 1000
    names = [f"S{number}" for number in range(1, dice.randint(1, 3) + 1)]
    pairs = {name: tuple(dice.randint(100, most) for _ in range(dice.randint(1, 2))) for name in names}
    if pipeline == "tuxedo":
        return Plan(pipeline, pairs, {"stop_after": "quantify", "strandedness": "fr-unstranded"}, mapping_alone)
    settings = {"scatter": dice.choice(("auto", "none", 2)), "calling": dice.choice(("per_sample", "joint"))}
    return Plan(pipeline, pairs, settings, mapping_alone)


def lay_out(plan: Plan, folder: Path, seed: int) -> None:
    """Reference, reads, tables and configuration: the same bytes wherever they are laid out."""
    genome = random_sequence(BASES, seed)
    config: dict[str, object] = {"reference": {"fasta": "genome.fa"}, **plan.settings}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "genome.fa").write_text(f">chr1\n{genome}\n")
    if plan.pipeline == "germline":
        write_vcf(folder / "known.vcf", {"chr1": BASES}, [("chr1", 100, genome[99], OTHER[genome[99]])])
        config["known_sites"] = ["known.vcf"]
    else:
        (folder / "genes.gtf").write_text(GENES)
        config["annotation"] = "genes.gtf"
    rows = [UNIT_COLUMNS]
    for number, (sample, lane) in enumerate(plan.lanes):
        own = "".join(OTHER[base] if at % 700 == 300 + number else base for at, base in enumerate(genome))
        files = [f"reads/{sample}_L{lane}_R{mate}.fq.gz" for mate in (1, 2)]
        mates = sample_pairs(own, plan.pairs[sample][lane - 1], seed + number)
        for file, reads in zip(files, mates, strict=True):
            write_fastq(folder / file, reads)
        unit = dict(zip(UNIT_COLUMNS, (sample, f"L{lane}", *files), strict=False))
        rows.append([unit.get(column, "") for column in UNIT_COLUMNS])
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config/config.yaml").write_text(yaml.safe_dump({"pipeline": plan.pipeline, **config}))
    (folder / "config/units.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    (folder / "config/samples.tsv").write_text("\n".join(["sample_name", *plan.pairs]) + "\n")
