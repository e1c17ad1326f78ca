"""References by name, fetched from a server of ours: whole and as the table says, or not at all."""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from subcommands import gpd

pytestmark = pytest.mark.e2e
CONTENT = {"genome.fa": b">chr1\nACGT\n" * 1000, "known.vcf.gz": b"some bytes " * 5000}
COLUMNS = ("reference", "keys", "file", "address", "gb", "bytes", "md5", "licence", "documented")


@dataclass
class Provider:
    """A server, what each of its files does, and how often each was fetched."""

    address: str = ""
    faults: dict[str, str] = field(default_factory=dict)
    fetched: Counter = field(default_factory=Counter)

    def send(self, handler: BaseHTTPRequestHandler, has_body: bool) -> None:
        name = handler.path.lstrip("/")
        fault, content = self.faults.get(name, ""), CONTENT.get(name, b"")
        if fault == "missing" or not content:
            handler.send_error(404)
            return
        content = content[:-1] + b"!" if fault == "changed" else content + b"more" if fault == "longer" else content
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        handler.end_headers()
        if has_body:
            self.fetched[name] += 1
            self.body(handler, content, fault)

    def body(self, handler: BaseHTTPRequestHandler, content: bytes, fault: str) -> None:
        if fault == "slow":
            for start in range(0, len(content), 1 + len(content) // 10):
                handler.wfile.write(content[start : start + 1 + len(content) // 10])
                time.sleep(0.3)
            return
        handler.wfile.write(content[: len(content) // 2] if fault == "cut short" else content)


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.send(self, has_body=True)

        def do_HEAD(self) -> None:
            made.send(self, has_body=False)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()


@pytest.fixture
def table(tmp_path: Path, provider: Provider) -> Path:
    """A reference of two files, of one of which a size and a checksum are known."""
    sums = {"genome.fa": (str(len(CONTENT["genome.fa"])), hashlib.md5(CONTENT["genome.fa"]).hexdigest())}
    rows = [
        ("tiny", key, name, f"{provider.address}/{name}", "0.1", *sums.get(name, ("-", "-")), "free", "here")
        for key, name in (("reference.fasta", "genome.fa"), ("known_sites", "known.vcf.gz"))
    ]
    path = tmp_path / "references.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in [COLUMNS, *rows]))
    return path


def fetch(table: Path, code: int = 0) -> str:
    into = table.parent / "my references"
    done = gpd("reference", "tiny", "--into", into, "--table", table)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done.output


def there(table: Path) -> dict[str, bytes]:
    folder = table.parent / "my references" / "tiny"
    return {name: path.read_bytes() for name in CONTENT if (path := folder / name).exists()}


def test_files_are_fetched_once_however_slow(table: Path, provider: Provider) -> None:
    provider.faults = {"known.vcf.gz": "slow"}
    assert "fetched: 2 files" in fetch(table)
    assert there(table) == CONTENT
    assert "all 2 files are in" in fetch(table)
    assert set(provider.fetched.values()) == {1}


@pytest.mark.parametrize(
    ("name", "fault", "line"),
    [
        pytest.param("genome.fa", "changed", "genome.fa has another MD5 sum", marks=pytest.mark.long),
        ("genome.fa", "longer", "genome.fa has 11004 bytes"),
        ("known.vcf.gz", "cut short", "of 2 files are missing"),
        pytest.param("known.vcf.gz", "missing", "of 2 files are missing", marks=pytest.mark.long),
    ],
)
def test_a_file_that_is_not_whole_is_not_kept_and_fetched_again(
    table: Path, provider: Provider, name: str, fault: str, line: str
) -> None:
    provider.faults = {name: fault}
    output = fetch(table, code=2)
    assert line in output
    assert name not in there(table)
    before = there(table)
    provider.faults = {}
    fetch(table)
    assert there(table) == CONTENT
    assert all(provider.fetched[kept] == 1 for kept in before), "what was whole is fetched once more"
