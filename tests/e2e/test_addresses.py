"""Files that a configuration names by addresses: refused until they are fetched, then taken as files are."""

import importlib.util
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import Cohort, tiny_cohort
from subcommands import gpd

pytestmark = pytest.mark.e2e


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def cohort(tmp_path: Path) -> Iterator[Cohort]:
    """One whose reference, known sites and reads lie on a server."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    files = tiny_cohort(elsewhere, samples=["S1"], lanes=1)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=elsewhere)) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (tmp_path / "run").mkdir()
        made = Cohort(tmp_path / "run", {"reference": {"fasta": f"{address}/genome.fa"}})
        made.config["known_sites"] = [f"{address}/known.vcf?version=2"]
        (unit,) = files.units
        made.add_unit("S1", "L1", fq1=f"{address}/{unit['fq1']}", fq2=f"{address}/{unit['fq2']}")
        made.write()
        yield made
        server.shutdown()


def fetch(cohort: Cohort, code: int = 0) -> str:
    done = gpd("fetch", "--directory", cohort.folder)
    assert done.exit_code == code, done.output
    return done.output


def test_a_run_begins_once_all_files_are_fetched(cohort: Cohort) -> None:
    refused = cohort.snakemake("--dry-run")
    assert refused.exit_code == 1
    lines = [line for line in refused.lines if "gpd fetch" in line]
    assert len(lines) == 4
    assert f"{cohort.config['reference']['fasta']} is not here yet: gpd fetch brings it and all others" in lines
    assert "fetched: 4 files" in fetch(cohort)
    assert cohort.snakemake("--dry-run").exit_code == 0
    assert "->" not in fetch(cohort), "what is there is kept"


def test_what_a_server_lacks_is_named_and_the_same_command_goes_on(cohort: Cohort, tmp_path: Path) -> None:
    genome = tmp_path / "elsewhere/genome.fa"
    genome.rename(tmp_path / "genome.fa")
    output = fetch(cohort, code=2)
    assert f"{cohort.config['reference']['fasta']}: there is no such file" in output
    assert "4 of 4 files are missing" in output, "it is seen before any is fetched"
    (tmp_path / "genome.fa").rename(genome)
    assert "fetched: 4 files" in fetch(cohort)


def test_a_kind_of_address_without_its_plugin_is_one_line(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.endswith("_s3") else find(name))
    cohort.config["dbsnp"] = "s3://bucket/dbsnp.vcf.gz"
    cohort.write()
    line = "s3://bucket/dbsnp.vcf.gz: Snakemake's plugin for it is missing: pip install snakemake-storage-plugin-s3"
    assert line in " ".join(fetch(cohort, code=2).split())
    assert not (cohort.folder / "fetched").exists()
