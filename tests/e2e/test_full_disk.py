"""A full disk under the real tools: the job fails, nothing half written counts, and with room it all ends well."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import one_contig_cohort, sample_pairs, tiny_cohort
from launching import Node

pytestmark = pytest.mark.e2e

PAGE = 4096


@pytest.fixture
def disk() -> Iterator[Callable[[Path, int], Callable[[], None]]]:
    """Put a small file system over a folder, with so many pages of room left; what it returns gives the room back."""
    mounted: list[Path] = []

    def small(folder: Path, pages: int) -> Callable[[], None]:
        folder.mkdir(parents=True, exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={(8 + pages) * PAGE}", "tmpfs", str(folder)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here: that takes root's rights")
        mounted.append(folder)
        (folder / "filler").write_bytes(bytes(8 * PAGE))

        def free() -> None:
            subprocess.run(["umount", str(mounted.pop(mounted.index(folder)))], check=True)

        return free

    yield small
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def last_record(folder: Path) -> dict:
    return json.loads((folder / "ledger.jsonl").read_text().splitlines()[-1])


@pytest.mark.long
def test_a_recalibration_table_that_is_cut_off(tmp_path: Path, disk) -> None:
    """GATK says nothing of it, and ends with 0."""
    cohort = tiny_cohort(tmp_path, samples=("S1",), lanes=1)
    table = tmp_path / "results/base_recalibrator/S1.table"
    free = disk(table.parent, 1)
    ran = cohort.snakemake("--notemp", "--", str(table.relative_to(tmp_path)))
    record = last_record(tmp_path)
    assert (ran.exit_code, record["rule"], record["cause"]) == (1, "base_recalibrator", "disk_full"), ran.output
    what = "results/base_recalibrator/S1.table is cut off: its last line is incomplete (No space left on device"
    assert record["message"].startswith(what)
    assert not table.exists()
    free()
    ran = cohort.snakemake("--notemp", "--", "results/base_recalibration/S1.bam")
    assert ran.exit_code == 0, ran.output
    table.write_bytes(table.read_bytes()[:PAGE])  # as a version left it that did not look
    ran = cohort.snakemake("--notemp", "--rerun-triggers", "mtime", "--", "results/base_recalibration/S1.bam")
    record = last_record(tmp_path)
    assert (ran.exit_code, record["rule"], record["cause"]) == (1, "base_recalibration", "broken_input"), ran.output
    assert "results/base_recalibrator/S1.table is cut off" in record["message"]
    assert "delete it and start again" in record["message"]


def test_a_full_disk_of_logs_alone(node: Node, disk) -> None:
    """No line of the log can say so."""
    free = disk(node.folder / "logs", 0)
    code, _, record = node.run("printf x >>logs/a.log 2>>logs/a.log")
    assert (code, record["cause"]) == (1, "disk_full"), record["message"]
    free()
    assert node.run("printf x >>logs/a.log")[0] == 0


COMMANDS = {
    "samtools sort": ("samtools sort -o results/x/x.bam in.bam", "results/x/x.bam"),
    "sambamba markdup": ("sambamba markdup --tmpdir tmp in.bam results/x/x.bam", "results/x/x.bam results/x/x.bam.bai"),
    "samtools view, CRAM": ("samtools view -C -T genome.fa -o results/x/x.cram in.bam", "results/x/x.cram"),
    "samtools stats": ("samtools stats in.bam > results/x/x.txt", "results/x/x.txt"),
    "samtools dict": ("samtools dict -o results/x/x.dict many.fa", "results/x/x.dict"),
    "bcftools stats": ("bcftools stats many.vcf > results/x/x.txt", "results/x/x.txt"),
    "bcftools view": ("bcftools view -O z -o results/x/x.vcf.gz many.vcf", "results/x/x.vcf.gz"),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A sorted BAM file of 2,000 random pairs, and as many variants."""
    _, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    first, second = sample_pairs(genome, 2000, seed=6)
    rows = (
        f"{name}\t{flag}\tchr1\t{genome.find(sequence) + 1 or 1}\t60\t100M\t=\t1\t0\t{sequence}\t{'I' * 100}\n"
        for flag, reads in ((99, first), (147, second))
        for name, sequence in reads
    )
    (tmp_path / "in.sam").write_text("@SQ\tSN:chr1\tLN:5000\n" + "".join(rows))
    subprocess.run(["samtools", "sort", "-o", "in.bam", "in.sam"], cwd=tmp_path, check=True, capture_output=True)
    header = "##fileformat=VCFv4.2\n##contig=<ID=chr1,length=5000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    variants = "".join(f"chr1\t{at}\tid{at * 7919 % 10007}\t{genome[at - 1]}\tN\t.\t.\t.\n" for at in range(1, 5001))
    (tmp_path / "many.vcf").write_text(header + variants)
    (tmp_path / "many.fa").write_text("".join(f">contig{number}\nACGT\n" for number in range(400)))
    (tmp_path / "tmp").mkdir()
    return tmp_path


@pytest.mark.parametrize("tool", COMMANDS)
@pytest.mark.parametrize("pages", [0, 1])
def test_what_a_tool_cannot_write_to_its_end(data: Path, node: Node, disk, tool: str, pages: int) -> None:
    """Whatever the tool makes of it, the job fails; with room it does not."""
    command, outputs = COMMANDS[tool]
    free = disk(data / "results/x", pages)
    code, output, _ = node.run(command, "--outputs", *outputs.split())
    assert code != 0, output
    free()
    code, output, _ = node.run(command, "--outputs", *outputs.split())
    assert code == 0, output


@pytest.mark.parametrize("tool", COMMANDS)
def test_a_disk_that_was_full_for_a_moment(data: Path, node: Node, disk, laid_out: Path, tool: str) -> None:
    """At ten moments; when the job ends there is room again, so that nothing but the tool can tell. It need not."""
    node.launch = laid_out
    command, outputs = COMMANDS[tool]
    job = f"{command}; mount -o remount,size=64m results/x", "--outputs", *outputs.split()
    free = disk(data / "results/x", 1000)
    assert node.run(*job)[0] == 0
    whole = {path: (data / path).read_bytes() for path in outputs.split()}
    free()
    pages = sum(-(-len(content) // PAGE) for content in whole.values())
    for room in sorted({pages * tenth // 10 for tenth in range(10)}):
        free = disk(data / "results/x", room)
        code, output, _ = node.run(*job)
        assert code or whole == {path: (data / path).read_bytes() for path in whole}, (
            f"{room} of {pages} pages: {output}"
        )
        free()
