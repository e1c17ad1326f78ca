"""Cohorts whose GVCFs are made without a caller: what joint calling makes of them is known."""

import random
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conftest import Cohort, random_sequence, write_vcf

DEPTH = 30
HEADER = """\
##fileformat=VCFv4.2
##ALT=<ID=NON_REF,Description="Any other allele">
##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Depths of alleles">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
##FORMAT=<ID=GQ,Number=1,Type=Integer,Description="Genotype quality">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=MIN_DP,Number=1,Type=Integer,Description="Least depth of a block">
##FORMAT=<ID=PL,Number=G,Type=Integer,Description="Likelihoods">
##FORMAT=<ID=SB,Number=4,Type=Integer,Description="Strands">
##INFO=<ID=BaseQRankSum,Number=1,Type=Float,Description="Base qualities">
##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">
##INFO=<ID=END,Number=1,Type=Integer,Description="End of a block">
##INFO=<ID=ExcessHet,Number=1,Type=Float,Description="Excess heterozygosity">
##INFO=<ID=MLEAC,Number=A,Type=Integer,Description="Allele counts">
##INFO=<ID=MLEAF,Number=A,Type=Float,Description="Allele frequencies">
##INFO=<ID=MQRankSum,Number=1,Type=Float,Description="Mapping qualities">
##INFO=<ID=RAW_MQandDP,Number=2,Type=Integer,Description="Squares of mapping qualities, and depth">
##INFO=<ID=ReadPosRankSum,Number=1,Type=Float,Description="Places in reads">
"""
NO_DEPTH = "chrom\tlength\tbases\tmean\tmin\tmax\ntotal\t0\t0\t0.00\t0\t0\n"
DUPLICATES = """finding positions of the duplicate reads in the file...
  sorted 100 end pairs
     and 10 single ends (among them 0 unmatched pairs)
  collecting indices of duplicate reads...   done in 1 ms
  found 4 duplicates
"""
TABLE = "#:GATKReport.v1.1:1\n#:GATKTable:1:1:%s:;\n#:GATKTable:Quantized:None\nCount\n1\n\n"
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"


@dataclass(frozen=True, order=True)
class Site:
    """A variant, at a position from 1."""

    contig: str
    position: int
    ref: str
    alt: str


def gvcf(sample: str, genome: Mapping[str, str], carried: Mapping[Site, int], block: int, seed: int) -> str:
    """The GVCF of a sample with so many alleles of each site, and blocks of the reference of at most so many bases."""
    draw, lines = random.Random(seed), []
    for contig, sequence in genome.items():
        done = 0
        for site in sorted(site for site in carried if site.contig == contig):
            lines += blocks(contig, sequence, done, site.position - 1, block)
            lines.append(variant(site, carried[site], draw))
            done = site.position - 1 + len(site.ref)
        lines += blocks(contig, sequence, done, len(sequence), block)
    contigs = "".join(f"##contig=<ID={name},length={len(sequence)}>\n" for name, sequence in genome.items())
    return f"{HEADER}{contigs}{COLUMNS}\t{sample}\n" + "".join(lines)


def blocks(contig: str, sequence: str, start: int, end: int, size: int) -> Iterable[str]:
    for first in range(start, end, size):
        last = min(first + size, end)
        yield (
            f"{contig}\t{first + 1}\t.\t{sequence[first]}\t<NON_REF>\t.\t.\tEND={last}\tGT:DP:GQ:MIN_DP:PL\t"
            f"0/0:{DEPTH}:81:{DEPTH}:0,81,1215\n"
        )


def variant(site: Site, copies: int, draw: random.Random) -> str:
    """A record as HaplotypeCaller writes it. Annotations vary, as VQSR wants them to."""
    depth = max(8, round(draw.gauss(DEPTH, 5)))
    alt = depth if copies == 2 else depth // 2
    ref = depth - alt
    least = 40 * depth
    pl = (
        f"{least},{3 * depth},0,{least},{3 * depth},{least}"
        if copies == 2
        else f"{least},0,{least},{least},{least},{least}"
    )
    ranks = "".join(f"{name}={draw.gauss(0, 1):.3f};" for name in ("BaseQRankSum", "MQRankSum", "ReadPosRankSum"))
    strands = [draw.randint(0, count) for count in (ref, alt)]
    info = (
        f"{'' if copies == 2 else ranks}DP={depth};ExcessHet=0.0000;MLEAC={copies},0;MLEAF={copies / 2:.2f},0.00;"
        f"RAW_MQandDP={round(depth * draw.gauss(58, 1) ** 2)},{depth}"
    )
    call = f"{'1/1' if copies == 2 else '0/1'}:{ref},{alt},0:{depth}:{3 * depth if copies == 2 else 99}:{pl}:"
    call += f"{strands[0]},{ref - strands[0]},{strands[1]},{alt - strands[1]}"
    return (
        f"{site.contig}\t{site.position}\t.\t{site.ref}\t{site.alt},<NON_REF>\t{least}.60\t.\t{info}\t"
        f"GT:AD:DP:GQ:PL:SB\t{call}\n"
    )


def write(
    folder: Path,
    genome: Mapping[str, str],
    samples: Mapping[str, Mapping[Site, int]],
    block: int = 500,
    **config: object,
) -> Cohort:
    """A cohort of these samples, called up to its GVCFs: they are newer than what is made of the reference."""
    (folder / "genome.fa").write_text("".join(f">{name}\n{sequence}\n" for name, sequence in genome.items()))
    first = next(iter(genome))
    known = [(first, 100, genome[first][99], "A" if genome[first][99] != "A" else "C")]
    write_vcf(folder / "known.vcf", {name: len(sequence) for name, sequence in genome.items()}, known)
    made = Cohort(
        folder, {"reference": {"fasta": "genome.fa"}, "known_sites": ["known.vcf"], "calling": "joint", **config}
    )
    (folder / "reads").mkdir()
    for sample in samples:
        (folder / f"reads/{sample}.fq").write_text("@r\nACGT\n+\nIIII\n")
        made.add_unit(sample, "L1", fq1=f"reads/{sample}.fq")
    ran = made.snakemake("prepare")
    assert ran.exit_code == 0, ran.output
    # what is said of alignments, of which there are none
    empty = "".join(f"@SQ\tSN:{name}\tLN:{len(sequence)}\n" for name, sequence in genome.items())
    stats = subprocess.run(["samtools", "stats", "-"], input=empty, capture_output=True, text=True, check=True).stdout
    texts = {"base_recalibrator/{}.table": TABLE, "mark_duplicates/{}.txt": DUPLICATES, "samtools_stats/{}.txt": stats}
    texts |= {"depth/{}.txt": NO_DEPTH, "depth/distribution/{}.txt": "total\t0\t1.00\n"}
    for pattern, text in texts.items():
        for path in (folder / "results" / pattern.format(sample) for sample in samples):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    (folder / "results/haplotype_caller").mkdir()

    def compress(number: int, sample: str) -> None:
        path = folder / f"results/haplotype_caller/{sample}.g.vcf.gz"
        with path.open("wb") as out:
            text = gvcf(sample, genome, samples[sample], block, number).encode()
            subprocess.run(["bgzip", "-c"], input=text, stdout=out, check=True)
        subprocess.run(["tabix", "-p", "vcf", path], check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compress, range(len(samples)), samples))
    return made


def sites(genome: Mapping[str, str], every: int, seed: int, indels: float = 0.1) -> list[Site]:
    """A site each so many bases on each contig: SNPs, and deletions of up to 12 bases."""
    draw, found = random.Random(seed), []
    for contig, sequence in genome.items():
        for start in range(every, len(sequence) - every, every):
            place = start + draw.randrange(every // 2)
            length = draw.randint(2, 12) if draw.random() < indels else 1
            ref = sequence[place : place + length]
            alt = ref[0] if length > 1 else draw.choice([base for base in "ACGT" if base != ref])
            found.append(Site(contig, place + 1, ref, alt))
    return found


def contigs(seed: int, **lengths: int) -> dict[str, str]:
    return {name: random_sequence(length, seed + number) for number, (name, length) in enumerate(lengths.items())}
