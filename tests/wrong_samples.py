"""Samples that are wrong, as the fault table has them: what was simulated, and what must be said of the sample."""

from typing import NamedTuple


class WrongSample(NamedTuple):
    """A row of the table; `cause` begins one of the reasons of its verdict."""

    pipeline: str
    sample: str
    injected: str
    verdict: str
    cause: str

    @property
    def id(self) -> str:
        return f"{self.pipeline}.sample.{self.sample.lower().replace('_', '-')}"

    @property
    def where(self) -> str:
        return f"{self.pipeline}: {self.sample}"

    @property
    def must(self) -> str:
        return f"is named: {self.verdict}, “{self.cause}”"

    def seen(self, verdict: str, reason: str) -> str:
        """What was said of the sample, for the table; fails where it is another thing."""
        assert verdict == self.verdict and any(part.startswith(self.cause) for part in reason.split("; ")), reason
        return f"{verdict}: {reason}"


COHORT = [
    WrongSample("germline", "MIXED", "3% of the reads are another sample's", "warn", "contamination"),
    WrongSample("germline", "LANES", "one lane of three is another person's", "fail", "lanes of another person"),
    WrongSample("germline", "OTHER_SEX", "a woman's reads, the sheet says male", "fail", "sex male in the sheet"),
    WrongSample("germline", "SWAPPED_A", "the reads of SWAPPED_B", "fail", "its genotypes are those of SWAPPED_B"),
    WrongSample("germline", "SWAPPED_B", "the reads of SWAPPED_A", "fail", "its genotypes are those of SWAPPED_A"),
    WrongSample("germline", "AGAIN", "the reads of another sample's person", "warn", "same person as FEMALE"),
    WrongSample("germline", "HALF", "half the coverage", "fail", "coverage"),
    WrongSample("germline", "COPIED", "a library with 60% duplicates", "fail", "duplicates"),
]
PANEL = [
    WrongSample("germline", "UNCAPTURED", "a capture that failed: reads of the whole genome", "warn", "on_target"),
    WrongSample("germline", "DIMERS", "25% of the pairs are adapters alone", "fail", "adapter_dimers"),
]
RNA = [
    WrongSample("tuxedo", "SWAPPED", "reads of the other condition", "warn", "condition a in the sheet, nearer to"),
    WrongSample("tuxedo", "STRAND", "mates the other way round", "fail", "strandedness fr-firststrand in the config"),
    WrongSample("tuxedo", "RIBOSOMES", "33% of the fragments are rRNA", "fail", "rrna"),
    WrongSample("tuxedo", "DEGRADED", "fragments of the last 40% of transcripts alone", "fail", "five_prime"),
]
WRONG_SAMPLES = COHORT + PANEL + RNA
