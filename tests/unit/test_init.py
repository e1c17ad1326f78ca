"""`gpd init`: the reads that lie below a folder or stand in a sheet, and what is written of them."""

import gzip
import os
import re
import time
from pathlib import Path

import pytest
import subcommands
import yaml
from conftest import ROOT
from test_inputs import bam, cram

from gpd.cohort import file_names, names, read_search
from gpd.cohort.names import usable
from gpd.cohort.notes import Notes

BASES = "ACGTACGTAC"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reads(name: str, first: str = "", folder: str = "reads") -> None:
    """A file of reads; mates have the same first read, of `first` or of what stands before the mate in the name."""
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"@{first or name[:5]}{path.parent}\n{BASES}\n+\n{'I' * len(BASES)}\n".encode()
    path.write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)


def pair(name: str, **named: str) -> None:
    """Two mates; `#` stands for their number."""
    for mate in "12":
        reads(name.replace("#", mate), named.get("first", name.replace("#", "")), named.get("folder", "reads"))


def gpd(*words: object, code: int = 0) -> str:
    done = subcommands.gpd("init", *words)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done.output


def table(name: str) -> list[dict[str, str]]:
    heading, *rows = (line.split("\t") for line in Path("config", name).read_text().splitlines())
    return [dict(zip(heading, row, strict=True)) for row in rows]


def units() -> list[tuple[str, str]]:
    return [(row["sample_name"], row["unit_name"]) for row in table("units.tsv")]


def config() -> dict:
    return yaml.safe_load(Path("config/config.yaml").read_text())


# ---- names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["A-1_S1_L001_R#_001.fastq.gz", "A-1_S1_L002_R#_001.fastq.gz"], [("A-1", "L001"), ("A-1", "L002")]),
        (["A_S1_R#_001.fastq.gz"], [("A", "L001")]),
        (["A_S1_L001_R#_001.fastq.gz", "A_S1_L001_R#_002.fastq.gz"], [("A", "001-L001"), ("A", "002-L001")]),
        (["NA12878_CGATGT_L001_R#_001.fastq.gz"], [("NA12878", "L001")]),
        (["A_#.fq.gz", "B_1_#.fq.gz"], [("A", "L001"), ("B_1", "L001")]),
        (["A.R#.fastq", "B.x.R#.fastq"], [("A", "L001"), ("B.x", "L001")]),
        (["A_L004_R#.fq.gz"], [("A", "L004")]),
        (["SRR1234567_#.fastq.gz"], [("SRR1234567", "L001")]),
        (["V300012345_L01_57_#.fq.gz", "V300012345_L02_57_#.fq.gz"],
         [("V300012345_57", "L01"), ("V300012345_57", "L02")]),
        (["E100012345_L01_read_#.fq.gz"], [("E100012345", "L01")]),
        (["A_V300012345_L01_57_#.fq.gz", "A_V300012345_L01_58_#.fq.gz"],
         [("A", "V300012345-57-L01"), ("A", "V300012345-58-L01")]),
        (["A1_FKDL210012345-1a_HFJWFDSXX_L1_#.fq.gz", "A1_FKDL210012345-1a_HFJWFDSXX_L2_#.fq.gz"],
         [("A1", "L1"), ("A1", "L2")]),
    ],
)  # fmt: skip
def test_names_tell_samples_and_lanes(names, expected):
    for name in names:
        pair(name)
    gpd("reads")
    assert units() == expected
    assert all("R2" in row["fq2"] or row["fq2"].replace("2.f", "1.f") == row["fq1"] for row in table("units.tsv"))
    assert [row["sample_name"] for row in table("samples.tsv")] == list(dict.fromkeys(sample for sample, _ in expected))


def test_reads_of_mgi_are_said_to_be_of_its_platform():
    pair("A_V300012345_L01_57_#.fq.gz")
    gpd("reads")
    assert table("units.tsv")[0]["platform"] == "DNBSEQ"


def test_numbers_of_replicates_are_no_mates():
    for number in "12":
        reads(f"ctrl_{number}.fq.gz", first=f"first{number}")
    for number in "123":
        reads(f"treated_{number}.fq.gz", first="alike")
    assert "numbers that are no mates" in gpd("reads")
    assert [sample for sample, _ in units()] == ["ctrl_1", "ctrl_2", "treated_1", "treated_2", "treated_3"]
    assert "fq2" not in table("units.tsv")[0]


def test_single_reads_are_said_to_be_such():
    reads("A.fastq.gz")
    reads("B_R1.fastq.gz")
    assert "single-end" in gpd("reads")
    assert [sample for sample, _ in units()] == ["A", "B"]


def test_a_folder_names_the_sample_where_the_file_does_not():
    pair("R#.fastq.gz", folder="reads/A")
    pair("R#.fastq.gz", folder="reads/B")
    gpd("reads")
    assert units() == [("A", "L001"), ("B", "L001")]


# ---- what is left out, and what is asked ---------------------------------------------------------------


def test_what_cannot_be_used_is_left_out_and_why():
    pair("A_R#.fq.gz")
    reads("A.fq.gz")
    reads("B_R1.fq.gz")
    reads("C_R2.fq.gz")
    reads("A_I1.fq.gz")
    reads("E_R1.fq.gz", first="one")
    reads("E_R2.fq.gz", first="another")
    pair("Undetermined_S0_L001_R#_001.fastq.gz")
    Path("reads/D_R1.fq.bz2").write_bytes(b"BZh9")
    Path("reads/D.fastq.zip").write_bytes(b"PK")
    Path("reads/empty.fq.gz").touch()
    Path("reads/gone.fq.gz").symlink_to("nowhere")
    Path("reads/copy_R1.fq.gz").symlink_to("A_R1.fq.gz")
    os.mkfifo("reads/pipe.fq")
    output = gpd("reads")
    assert units() == [("A", "L001")]
    for line in (
        "left out: reads/B_R1.fq.gz and reads/C_R2.fq.gz: a lane without its mate",
        "left out: reads/A.fq.gz: reads without mates, of a sample that has pairs",
        "left out: reads/A_I1.fq.gz: index reads",
        "left out: reads/E_R1.fq.gz and reads/E_R2.fq.gz: R1 and R2 begin with different reads",
        "left out: reads/D_R1.fq.bz2: compressed by bzip2",
        "left out: reads/D.fastq.zip: compressed by zip",
        "left out: reads/empty.fq.gz: empty (0 bytes)",
        "left out: reads/gone.fq.gz: a link to a file that does not exist",
        "left out: reads/copy_R1.fq.gz: the same file as another",
        "left out: reads/pipe.fq: no plain file",
        "reads of no sample",
    ):
        assert line in output


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("run1/A_S1_L001_R#_001.fastq.gz", "run2/A_S1_L001_R#_001.fastq.gz"),
        ("same/A_S1_L001_R#_001.fastq.gz", "same/A_S2_L001_R#_001.fastq.gz"),
        ("patient1/reads_#.fq.gz", "patient2/reads_#.fq.gz"),
    ],
)
def test_two_samples_of_one_name_are_asked_for(one, two):
    pair(one, first="one")
    pair(two, first="two")
    output = gpd("reads", code=2)
    assert "--samples-by name" in output
    assert "--samples-by folder" in output
    assert not Path("config").exists()
    gpd("reads", "--samples-by", "name", "--directory", "by-name")
    assert Path("by-name/config/samples.tsv").read_text().count("\n") == 2
    gpd("reads", "--samples-by", "folder", "--directory", "by-folder")
    names = Path("by-folder/config/samples.tsv").read_text().split()[1:]
    assert names == sorted({Path(name).parent.name for name in (one, two)})


def test_a_copy_of_a_lane_is_no_second_lane():
    pair("A_R#.fq.gz", first="alike")
    for mate in "12":
        Path("reads/backup").mkdir(exist_ok=True)
        Path(f"reads/backup/A_R{mate}.fq.gz").write_bytes(Path(f"reads/A_R{mate}.fq.gz").read_bytes())
    assert "the reads of reads/A_R1.fq.gz once more" in gpd("reads")
    assert units() == [("A", "L001")]


def test_names_that_become_one_are_refused():
    pair("S 1_R#.fq.gz")
    pair("S+1_R#.fq.gz")
    assert "samples 'S 1' and 'S+1'" in gpd("reads", code=2)
    assert not Path("config").exists()


def test_names_that_differ_in_case_alone_are_refused():
    pair("s1_R#.fq.gz")
    pair("S1_R#.fq.gz")
    assert "differ in more than case" in gpd("reads", code=2)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("S 1", "S-1"),
        ("-x", "x"),
        ("Müller", "M-ller"),
        ("a'b\"c", "a-b-c"),
        ("cohort", ""),
        ("é", ""),
        ("A" * 120, ""),
    ],
)
def test_names_are_made_such_as_the_workflow_takes(name, made):
    assert usable(name) == made


# ---- hostile folders -----------------------------------------------------------------------------------


def test_odd_names_are_written_as_the_sheets_take_them(folder):
    for name in ("a b_R#.fq.gz", "-dash_R#.fq.gz", "quo'te\"_R#.fq.gz", "#hash_R@.fq.gz"):
        for mate in "12":
            reads(name.replace("@" if "@" in name else "#", mate), first=name)
    for name in ("new\nline_R1.fq.gz", "{brace}_R1.fq.gz", "tab\t_R1.fq.gz"):
        reads(name)
    Path(os.fsdecode(b"reads/\xff_R1.fq.gz")).write_bytes(b"@a\nA\n+\nI\n")
    output = gpd("reads")
    assert "braces, control characters" in output
    assert "\x1b" not in output
    assert [sample for sample, _ in units()] == ["hash", "dash", "a-b", "quo-te"]
    assert all(Path(row["fq1"]).is_file() for row in table("units.tsv"))


def test_reads_beside_the_configuration_may_begin_with_a_dash(folder):
    pair("-x_R#.fq.gz", folder=".")
    gpd(".")
    assert table("units.tsv")[0]["fq1"] == "./-x_R1.fq.gz"


def test_links_in_a_circle_end():
    pair("A_R#.fq.gz", folder="reads/deep/er")
    Path("reads/deep/er/up").symlink_to("..")
    Path("reads/again").symlink_to("deep")
    gpd("reads")
    assert units() == [("A", "L001")]


def test_results_of_a_run_and_hidden_folders_are_no_reads():
    pair("A_R#.fq.gz", folder="cohort/reads")
    pair("B_R#.fq.gz", folder="cohort/results/x")
    pair("C_R#.fq.gz", folder="cohort/.trash")
    Path("cohort/.snakemake").mkdir()
    assert "results of a run of Snakemake" in gpd("cohort")
    assert units() == [("A", "L001")]


def test_nothing_is_overwritten():
    pair("A_R#.fq.gz")
    Path("config").mkdir()
    Path("config/units.tsv").write_text("mine")
    assert "nothing is overwritten" in gpd("reads", code=2)
    assert [path.name for path in Path("config").iterdir()] == ["units.tsv"]


def test_a_folder_without_reads_says_what_it_has():
    Path("reads").mkdir()
    Path("reads/A.fq.bz2").touch()
    output = gpd("reads", code=2)
    assert "no reads that can be used" in output
    assert "bzip2" in output


def test_a_folder_that_cannot_be_read_is_said(monkeypatch):
    Path("closed").mkdir()
    notes = Notes()

    def denied(path: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", denied)
    assert read_search.find(Path("closed"), notes) == {"reads": [], "alignment": []}
    assert notes.left_out == {"a folder that cannot be read: Permission denied": ["closed"]}


@pytest.mark.deep
def test_many_files_take_seconds():
    text = gzip.compress(f"@read\n{BASES}\n+\n{'I' * len(BASES)}\n".encode(), mtime=0)
    for number in range(10_000):
        place = Path("reads", f"batch{number % 50}")
        place.mkdir(parents=True, exist_ok=True)
        for mate in "12":
            (place / f"S{number}_R{mate}.fastq.gz").write_bytes(text)
    began = time.process_time()
    output = gpd("reads")
    assert time.process_time() - began < 60
    assert len(units()) == 10_000
    assert "and 9,980 more samples" in output


# ---- alignments ----------------------------------------------------------------------------------------


def alignment(name: str, *samples: str, **header) -> None:
    Path("reads").mkdir(exist_ok=True)
    make = cram if name.endswith(".cram") else bam
    Path("reads", name).write_bytes(make({"chr1": 100}, [f"SM:{sample}" for sample in samples], **header))


def test_alignments_name_their_samples():
    alignment("one.bam", "A")
    alignment("two.cram", "B")
    alignment("both.bam", "A", "B")
    output = gpd("reads")
    assert [(row["sample_name"], row["unit_name"], row["bam"]) for row in table("units.tsv")] == [
        ("A", "aligned", "reads/one.bam"),
        ("B", "aligned", "reads/two.cram"),
    ]
    assert "reads/both.bam: alignments of several samples" in output
    assert "bam_input" not in config()


def test_alignments_that_cannot_be_kept_are_mapped_again():
    alignment("one.bam", "A", order="unsorted")
    alignment("two.bam")
    assert "bam_input: remap" in gpd("reads")
    assert config()["bam_input"] == "remap"
    assert [sample for sample, _ in units()] == ["A", "two"]


def test_qualities_that_were_recalibrated_are_left_as_they_are():
    alignment("one.bam", "A", programs=["ID:GATK ApplyBQSR"])
    gpd("reads", "--known-sites", "known.vcf.gz")
    assert config()["bqsr"] == "none"


def test_alignments_of_reads_that_are_here_are_no_second_data():
    pair("A_R#.fq.gz")
    alignment("A.bam", "A")
    assert "alignments of samples whose FASTQ files are here" in gpd("reads")
    assert units() == [("A", "L001")]


def test_damaged_alignments_are_left_out():
    alignment("one.bam", "A")
    Path("reads/bad.bam").write_bytes(b"no alignment")
    assert "reads/bad.bam: is neither BAM nor CRAM" in gpd("reads")


# ---- sheets of others ----------------------------------------------------------------------------------


def sheet(name: str, *lines: str) -> None:
    Path(name).write_text("\n".join(lines) + "\n")


def test_the_sheet_of_sarek():
    for lane in ("L1", "L2"):
        pair(f"x_{lane}_R#.fq.gz")
    pair("tumour_R#.fq.gz")
    sheet(
        "samplesheet.csv",
        "patient,sex,status,sample,lane,fastq_1,fastq_2",
        "P,XX,0,HG002,L1,reads/x_L1_R1.fq.gz,reads/x_L1_R2.fq.gz",
        "P,XX,0,HG002,L2,reads/x_L2_R1.fq.gz,reads/x_L2_R2.fq.gz",
        "P,XX,1,T,L1,reads/tumour_R1.fq.gz,reads/tumour_R2.fq.gz",
        "Q,NA,0,gone,L1,reads/gone_R1.fq.gz,reads/gone_R2.fq.gz",
    )
    output = gpd("--from", "samplesheet.csv")
    assert units() == [("HG002", "L1"), ("HG002", "L2")]
    assert table("samples.tsv") == [{"sample_name": "HG002", "sex": "XX"}]
    assert "left out: T: tumour samples" in output
    assert "left out: gone L1: files that are not here" in output


def test_the_sheet_of_nf_core_rnaseq_asks_for_conditions():
    for lane in ("a", "b"):
        pair(f"x_{lane}_R#.fq.gz")
    sheet(
        "samplesheet.csv",
        "sample,fastq_1,fastq_2,strandedness",
        "C1,reads/x_a_R1.fq.gz,reads/x_a_R2.fq.gz,reverse",
        "C1,reads/x_b_R1.fq.gz,reads/x_b_R2.fq.gz,reverse",
    )
    output = gpd("--from", "samplesheet.csv")
    assert (config()["pipeline"], config()["strandedness"]) == ("tuxedo", "fr-firststrand")
    assert table("samples.tsv") == [{"sample_name": "C1", "condition": ""}]
    assert "give each sample its condition in config/samples.tsv" in output
    assert len(set(units())) == 2


def test_a_table_of_units_and_the_samples_beside_it():
    pair("x_R#.fq.gz")
    sheet(
        "units.tsv",
        "sample_name\tunit_name\tfq1\tfq2\tsra",
        "A\tu1\treads/x_R1.fq.gz\treads/x_R2.fq.gz\t",
        "B\tu1\t\t\tSRR1",
    )
    sheet("samples.tsv", "sample_name\tcondition", "A\ttreated", "B\tcontrol")
    output = gpd("--from", "units.tsv", "--pipeline", "tuxedo")
    assert table("samples.tsv") == [{"sample_name": "A", "condition": "treated"}]
    assert "left out: B u1: rows that name no file of reads" in output
    assert "condition" not in output.partition("to do")[2].replace("conditions", "")


def test_a_table_of_runs_finds_what_was_fetched():
    pair("SRR1_#.fastq.gz", folder="fetched/SRR1")
    reads("SRR2.fastq.gz", folder="fetched")
    address = "ftp.sra.ebi.ac.uk/vol1/fastq"
    files = ";".join(f"{address}/SRR1{mate}.fastq.gz" for mate in ("", "_1", "_2"))
    sheet(
        "filereport.tsv",
        "run_accession\tsample_accession\tsample_alias\tinstrument_platform\tfastq_ftp",
        f"SRR1\tSAMN1\tpatient 1\tILLUMINA\t{files}",
        f"SRR2\tSAMN1\tpatient 1\tILLUMINA\t{address}/SRR2.fastq.gz",
        f"SRR3\tSAMN3\tpatient 3\tILLUMINA\t{address}/SRR3_1.fastq.gz;{address}/SRR3_2.fastq.gz",
    )
    output = gpd("fetched", "--from", "filereport.tsv")
    assert units() == [("patient-1", "SRR1"), ("patient-1", "SRR2")]
    assert table("units.tsv")[0]["fq2"] == "fetched/SRR1/SRR1_2.fastq.gz"
    assert "left out: patient 3 SRR3: files that are not here" in output


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ((), "empty"),
        (("a,b", "1,2"), "none of the sheets that are known"),
        (("sample,fastq_1",), "no row below its heading"),
        (("sample,fastq_1", "A,x,y"), "3 columns in a row, and 2 in the heading"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_a_line(lines, line):
    Path("sheet.csv").write_text("".join(f"{each}\n" for each in lines))
    assert line in gpd("--from", "sheet.csv", code=2)


def test_a_folder_or_a_sheet_is_asked_for():
    assert "name the folder of the reads" in gpd(code=2)


# ---- what is written -----------------------------------------------------------------------------------


def test_what_is_not_known_is_asked_for():
    pair("A_R#.fq.gz")
    output = gpd("reads")
    assert "to do: name the FASTA file of your genome in config/config.yaml" in output
    assert "guessed: bqsr: none" in output
    assert "next: gpd run germline --dry-run" in output
    assert config() == {
        "pipeline": "germline",
        "samples": "config/samples.tsv",
        "units": "config/units.tsv",
        "reference": {"fasta": "GENOME.fa.gz"},
        "bqsr": "none",
    }


def test_what_is_given_is_written(folder):
    pair("A_R#.fq.gz")
    gpd("reads", "--reference", "genome.fa", "--known-sites", folder.parent / "a.vcf", "--directory", "elsewhere")
    written = yaml.safe_load(Path("elsewhere/config/config.yaml").read_text())
    assert written["reference"] == {"fasta": str(folder / "genome.fa")}
    assert written["known_sites"] == [str(folder.parent / "a.vcf")]
    assert str(folder / "reads/A_R1.fq.gz") in Path("elsewhere/config/units.tsv").read_text()


def test_the_endings_that_are_known_are_those_of_files():
    assert {
        name: file_names.kind(name) for name in ("a.FQ.GZ", "a.bam", "a.bam.bai", "a.gz", "a.fa", "x.txt.bz2", "a.sra")
    } == {
        "a.FQ.GZ": "reads",
        "a.bam": "alignment",
        "a.bam.bai": "",
        "a.gz": "",
        "a.fa": "",
        "x.txt.bz2": "",
        "a.sra": ".sra",
    }


def test_names_are_those_of_the_schema():
    schema = yaml.safe_load((ROOT / "workflow/schemas/units.schema.yaml").read_text())["$defs"]
    assert schema["name"]["pattern"] == "^[A-Za-z0-9][A-Za-z0-9._-]*$"
    assert names.NAME.pattern == f"[A-Za-z0-9][A-Za-z0-9._-]{{0,{schema['name']['maxLength'] - 1}}}"
    assert {character for character in map(chr, range(256)) if read_search.UNUSABLE.search(character)} == {
        character for character in map(chr, range(256)) if not re.search(schema["file"]["pattern"], f"a{character}a")
    }
