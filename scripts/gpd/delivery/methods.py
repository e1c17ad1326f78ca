"""How results were made, as a paragraph that one can paste into a paper: tools, versions, settings, citations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpd.files import read_table
from gpd.text.formats import counted, listed

CITATIONS = Path(__file__).with_name("citations.tsv")
Config = Mapping[str, Any]


@dataclass(frozen=True)
class CitedTool:
    """A row of the table of citations: a command, its conda package, its name, and what to cite."""

    command: str
    package: str
    name: str
    citation: str


def read_tools() -> dict[str, CitedTool]:
    """The tools that can be cited, by command."""
    return {row["command"]: CitedTool(**row) for row in read_table(CITATIONS)}


@dataclass
class Cited:
    """Names tools with their versions and the numbers of their citations, in the order in which they are named."""

    versions: Mapping[str, str | None]
    tools: Mapping[str, CitedTool] = field(default_factory=read_tools)
    citations: list[str] = field(default_factory=list)

    def __call__(self, command: str) -> str:
        tool = self.tools[command]
        if tool.citation not in self.citations:
            self.citations.append(tool.citation)
        words = (tool.name, self.versions.get(command) or "", f"[{self.citations.index(tool.citation) + 1}]")
        return " ".join(filter(None, words))


def page(config: Config, samples: Sequence[str], versions: Mapping[str, str | None], gpd_version: str) -> str:
    """methods.md: the paragraph and what it cites."""
    cite = Cited(versions)
    sentences = [
        *SENTENCES[config["pipeline"]](config, len(samples), cite),
        f"Quality was summarised with {cite('multiqc')}. All steps ran as the {config['pipeline']} workflow of Genomes "
        f"per Day {gpd_version} under {cite('snakemake')}; its settings are in settings.yaml.",
    ]
    references = "".join(f"{number}. {citation}\n" for number, citation in enumerate(cite.citations, 1))
    return f"# Methods\n\n{' '.join(sentences)}\n\n## References\n\n{references}"


def germline(config: Config, samples: int, cite: Cited) -> Iterator[str]:
    marked = "sambamba" if config["duplicates"] == "sambamba" else "samtools"
    genome = name_of(config["reference"].get("fasta"))
    yield f"Reads of {counted(samples, 'sample')} were mapped to {genome} with"
    yield f"{cite(config['mapper'])}, sorted, and marked for duplicates with {cite(marked)}."
    gatk = cite("gatk3" if config["gatk"] == "gatk3" else "gatk")
    if config["bqsr"] != "none":
        known = listed(map(name_of, [*config["known_sites"], *config["known_indels"]]))
        yield f"Base qualities were recalibrated with {gatk} at the known variants of {known}."
    regions = f" in {name_of(config['intervals'])}" if config["intervals"] else ""
    mode = " in DRAGEN mode" if config["dragen_mode"] else ""
    by_way = "" if not config["gvcf"] else ", by way of GVCFs"
    together = "of all samples jointly" if config["calling"] == "joint" else "of each sample"
    yield f"Variants {together} were called{regions} with HaplotypeCaller of {gatk}{mode}{by_way}{filtered(config)}."
    if config["normalise"] != "none":
        yield f"Calls were normalised with bcftools norm ({cite('bcftools')})."
    if config["annotation"]:
        yield f"Consequences for the genes of {name_of(config['annotation'])} were predicted with {cite('csq')}."
    yield f"Coverage was measured with {cite('mosdepth')}, alignments and variants were counted with"
    yield f"{cite('samtools')} and {cite('bcftools')}."


def filtered(config: Config) -> str:
    """How variants were filtered, as the end of a sentence."""
    models = config["vqsr"]
    endings = {
        "none": ", and not filtered",
        "hard": ", and filtered by fixed thresholds",
        "vqsr": ", and filtered by variant quality score recalibration at truth sensitivities of "
        f"{models['snps']['sensitivity']}% (SNPs) and {models['indels']['sensitivity']}% (indels)",
    }
    return endings.get(config["filter"], f", and filtered ({config['filter']})")


def tuxedo(config: Config, samples: int, cite: Cited) -> Iterator[str]:
    aligner = cite("hisat2-align-s") if config["aligner"] == "hisat2" else f"{cite('tophat2')} and {cite('bowtie2')}"
    genome, genes = name_of(config["reference"].get("fasta")), name_of(config["annotation"])
    yield f"RNA-Seq reads of {counted(samples, 'sample')} were aligned to {genome}"
    yield f"with {aligner}, given the splice sites of {genes}."
    if config["assembly"] != "reference_only":
        guided = "guided by" if config["assembly"] == "guided" else "without, and then named by,"
        yield f"Transcripts were assembled with {cite('cufflinks')}, {guided} this annotation, and merged by Cuffmerge."
    if config["stop_after"] != "quantify":
        tests = config["cuffdiff"]
        yield f"Expression was quantified by Cuffquant, and conditions were compared with {cite('cuffdiff')}"
        yield f"({tests['library_norm_method']} normalisation, {tests['dispersion_method']} dispersion, false discovery"
        yield f"rate {tests['fdr']})."
    if config["stop_after"] == "visualize":
        yield f"Plots were drawn with {cite('Rscript')}."
    yield f"Fragments of the annotation's genes were counted with {cite('featureCounts')}."


SENTENCES: Mapping[str, Callable[[Config, int, Cited], Iterator[str]]] = {"germline": germline, "tuxedo": tuxedo}


def name_of(path: str | None) -> str:
    """A file's name without its folders; of a reference that is known by a name alone, that is said."""
    return Path(path).name if path else "the reference"
