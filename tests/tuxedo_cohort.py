"""An RNA-Seq experiment as the tests make them: a cohort whose samples have conditions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conftest import Cohort, random_sequence, sample_pairs, write_fastq

GENES = """\
chr1\ttest\texon\t101\t400\t.\t+\t.\tgene_id "G1"; transcript_id "T1";
chr1\ttest\texon\t601\t900\t.\t+\t.\tgene_id "G1"; transcript_id "T1";
chr1\ttest\texon\t1201\t1900\t.\t-\t.\tgene_id "G2"; transcript_id "T2"; gene_name "second";
"""


@dataclass
class Experiment(Cohort):
    """A cohort with the condition of each sample."""

    conditions: dict[str, str] = field(default_factory=dict)

    def write(self) -> None:
        super().write()
        names = dict.fromkeys(unit["sample_name"] for unit in self.units)
        rows = "".join(f"{name}\t{self.conditions.get(name, '')}\n" for name in names)
        (self.folder / "config" / "samples.tsv").write_text(f"sample_name\tcondition\n{rows}")


def tiny_experiment(folder: Path, samples: Sequence[str] = ("A1", "A2", "B1", "B2"), lanes: int = 2) -> Experiment:
    """Two conditions, named by the first letter of their samples, of too few reads to tell their library."""
    genome = random_sequence(2000, seed=1)
    (folder / "genome.fa").write_text(f">chr1\n{genome}\n")
    (folder / "genes.gtf").write_text(GENES)
    config = {"pipeline": "tuxedo", "reference": {"fasta": "genome.fa"}, "annotation": "genes.gtf"}
    config["strandedness"] = "fr-unstranded"
    made = Experiment(folder, config)
    first, second = sample_pairs(genome, 20, seed=2)
    for sample in samples:
        made.conditions[sample] = sample[0].lower()
        for lane in range(1, lanes + 1):
            files = [folder / "reads" / f"{sample}_L{lane}_R{mate}.fq.gz" for mate in (1, 2)]
            for path, reads in zip(files, (first, second), strict=True):
                write_fastq(path, reads)
            fq1, fq2 = (path.relative_to(folder) for path in files)
            made.add_unit(sample, f"L{lane}", fq1=fq1, fq2=fq2)
    return made
