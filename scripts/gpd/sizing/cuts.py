"""Which steps the workflow cuts into pieces of the genome where cores are free, and into how small ones.

By default (`scatter: auto`) a step is cut by the size of what it walks over, which follows from that of the reads
(workflow/scripts/disk.py), against the smallest piece of its rule (`piece_mib`). Tests hold both to the workflow. Pure.
"""

from dataclasses import dataclass

ALIGNMENTS, RECALIBRATED, GVCF = 0.95, 1.05, 0.105  # MiB for each MiB of FASTQ as gzip has it


@dataclass(frozen=True)
class Cut:
    """`over`: MiB of what is walked over, for each MiB of reads. `piece_mib`: the smallest piece of that."""

    over: float
    piece_mib: float

    def piece_gigabases(self, mib_per_gb: float) -> float:
        """Gigabases of reads in the smallest piece, where a gigabase of them takes so many MiB."""
        return self.piece_mib / (self.over * mib_per_gb)


CUTS = {
    "realigner_targets": Cut(ALIGNMENTS, 16),
    "realign_indels": Cut(ALIGNMENTS, 16),
    "base_recalibrator": Cut(ALIGNMENTS, 16),
    "base_recalibration": Cut(ALIGNMENTS, 16),
    "haplotype_caller": Cut(RECALIBRATED, 4),
    "genotype_gvcfs": Cut(GVCF, 1),
}
