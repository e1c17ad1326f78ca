"""Packages from anybody: what is none is refused in a line, nothing is written elsewhere or grows without bound."""

import gzip
import io
import json
import resource
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packing import RECORD, raw, sealed, write_study
from subcommands import gpd

from gpd.errors import GpdError
from gpd.files import FileError
from gpd.packages import bounds, checks, evidence, pack, read
from gpd.packages import manifest as described
from gpd.packages.check_verdicts import FAILS
from gpd.packages.manifest import PackageError, may_be

RUN = "germline-n1-shared-compact-r1"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = write_study(tmp_path_factory.mktemp("runs") / "trusted", repeats=1, speed={1: 1.0}, warm_up=0)
    return pack.make(folder)


@pytest.fixture
def refused(tmp_path):
    """Read these bytes, which are no package; the one line that says why."""

    def line(content):
        path = tmp_path / "b.tar.gz"
        path.write_bytes(content)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(PackageError) as error:
            read.read(path)
        assert sorted(tmp_path.rglob("*")) == before
        (output,) = str(error.value).splitlines()
        assert output.startswith(f"{path}: ")
        return output.removeprefix(f"{path}: no package: ")

    return line


def tar_of(*members, **options):
    """A compressed tar file of (name, content), or of TarInfo."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", **({"format": tarfile.USTAR_FORMAT} | options)) as tar:
        for member in members:
            info, content = (
                (member, b"") if isinstance(member, tarfile.TarInfo) else (tarfile.TarInfo(member[0]), member[1])
            )
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def special(kind, name=f"{RUN}/run.json", target="/etc/passwd"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


# ---- the archive ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *(
            "/etc/passwd",
            "../x",
            f"{RUN}/../../x.json",
            f"{RUN}/samples/../ledger.jsonl",
            "./manifest.json",
            "a/./run.json",
        ),
        *(
            ".ssh/run.json",
            "-x/run.json",
            f"{RUN}/run.json/x",
            f"{RUN}/results/reads.fq",
            "report.html",
            "tables/x.tsv",
        ),
        *("tables/run.json", "a\\..\\run.json", "a b/run.json", "é/run.json", "a\n/run.json", f"{RUN}/ledger..jsonl"),
        *(f"{RUN}/samples/a/b/ledger.jsonl", f"{'x' * 300}/run.json", ""),
    ],
)
def test_names_that_a_package_does_not_have_are_refused(refused, name):
    assert not may_be(name)
    if 0 < len(name) < 250:
        assert refused(tar_of((name, b"{}"))).endswith("no name of a file in a package of this version")


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.DIRTYPE,
        tarfile.CONTTYPE,
    ],
)
def test_what_is_no_plain_file_is_refused(refused, kind):
    assert "not a plain file" in refused(tar_of(special(kind))) or kind == tarfile.CONTTYPE


def test_headers_that_are_hidden_are_refused(refused):
    info = tarfile.TarInfo("manifest.json")
    info.pax_headers = {"comment": "x"}
    assert "not a plain file" in refused(tar_of(info, format=tarfile.PAX_FORMAT))


def test_a_name_twice_or_out_of_order_is_refused(refused):
    assert "twice, or not in the order" in refused(tar_of(("study.json", b"{}"), ("study.json", b"[]")))
    assert "twice, or not in the order" in refused(tar_of(("study.json", b"{}"), ("manifest.json", b"[]")))


def test_bounds_are_kept_before_anything_is_looked_at(refused, monkeypatch, package, tmp_path):
    whole = package.to_bytes()
    monkeypatch.setattr(read, "MOST_MEMBERS", 3)
    assert refused(whole) == "more than 3 members"
    monkeypatch.setattr(read, "MOST_MEMBERS", 10**6)
    monkeypatch.setattr(read, "MOST_MEMBER_BYTES", 100)
    assert "more than 0 MiB" in refused(whole)
    monkeypatch.setattr(read, "MOST_FILE_BYTES", 1000)
    path = tmp_path / "large.tar.gz"
    path.write_bytes(whole)
    with pytest.raises(FileError, match="larger than 0 MiB"):
        read.read(path)


def test_a_bomb_is_not_unpacked(refused, monkeypatch):
    monkeypatch.setattr(read, "MOST_BYTES", 2**20)
    assert refused(gzip.compress(bytes(2**26))) == "more than 1 MiB when it is unpacked"


CHECK = """
import resource, sys
from typer.testing import CliRunner
from gpd.packages.check_verdicts import FAILS
from gpd.cli import app
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
done = CliRunner().invoke(app, sys.argv[1:])
print(done.exit_code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, done.stderr, sep="\\n", end="")
"""
PACKAGE, COMPARE = ("package", "check"), ("compare", "published")


def checked(path, *words):
    """Memory that a subcommand took beyond its start, MiB, and what it said; it must refuse the package."""
    ran = subprocess.run(
        [sys.executable, "-c", CHECK, *words, path], capture_output=True, text=True, timeout=120, check=True
    )
    code, kib, *output = ran.stdout.splitlines()
    assert code == "2", ran.stdout
    return int(kib) / 1024, output


def chained():
    """Headers of long names, each before the next."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1
    header = info.tobuf(tarfile.GNU_FORMAT) + b"x".ljust(512, b"\0")
    return gzip.compress(header * 5000)


HEADERS = "not a tar file: too many headers before one member"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("subcommand", "make", "told"),
    [
        *((subcommand, chained, HEADERS) for subcommand in (PACKAGE, COMPARE)),
        (PACKAGE, lambda: gzip.compress(bytes(2**29 + 1), 1), "more than 512 MiB when it is unpacked"),
    ],
    ids=["headers", "headers-compare", "bomb"],
)
def test_what_would_take_all_memory_is_refused_in_one_line(tmp_path, subcommand, make, told):
    path = tmp_path / "b.gpd.tar.gz"
    path.write_bytes(make())
    taken_mib, (line,) = checked(path, *subcommand)
    assert line.endswith(f"{path}: no package: {told}")
    assert taken_mib < 1100  # the most that may be unpacked, and what it is copied from


def limits():
    return [resource.getrlimit(limit) for limit in (resource.RLIMIT_DATA, resource.RLIMIT_CPU)]


@pytest.mark.deep
def test_memory_and_time_of_this_process_are_bounded_while_a_package_is_read_and_no_longer(monkeypatch):
    before, path = limits(), Path("b.tar.gz")
    monkeypatch.setattr(bounds, "MOST_MIB", 256)
    refused = r"b\.tar\.gz: refused: it takes more than "
    with pytest.raises(PackageError, match=f"{refused}256 MiB of memory to read"), bounds.bounded(path):
        assert limits() != before
        bytearray(2**30)
    assert limits() == before
    bytearray(2**29)
    monkeypatch.setattr(bounds, "MOST_CPU_S", 1)
    with pytest.raises(PackageError, match=f"{refused}1 s of CPU time to read"), bounds.bounded(path):
        while True:
            with suppress(Exception):
                sum(range(1000))
    assert limits() == before


@pytest.mark.parametrize("subcommand", [PACKAGE, COMPARE])
def test_the_subcommands_that_read_packages_are_bounded(package, tmp_path, monkeypatch, subcommand):
    """The package takes long to read: a small one is read in a few of the ticks at which the kernel looks at limits."""
    reads = read.read

    def read_slowly(path):
        until = time.process_time() + 20
        while time.process_time() < until:
            sum(range(1000))
        return reads(path)

    monkeypatch.setattr(read, "read", read_slowly)
    monkeypatch.setattr(bounds, "MOST_CPU_S", 0)
    monkeypatch.setattr(bounds, "_cpu_s", lambda: 1)
    path = tmp_path / "b.tar.gz"
    path.write_bytes(package.to_bytes())
    ran = gpd(*subcommand, path)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.endswith(f"{path}: refused: it takes more than 0 s of CPU time to read\n")
    assert len(ran.stderr.splitlines()) == 1


def test_what_is_cut_or_has_more_behind_it_is_refused(refused, package):
    whole = package.to_bytes()
    assert refused(whole[: len(whole) // 2]) == "it is cut short"
    assert refused(whole + b"more") == "4 bytes behind its end"
    assert refused(whole + whole).endswith("bytes behind its end")
    tar = gzip.decompress(whole)
    assert refused(gzip.compress(tar + b"x")) == "something stands behind its last member"
    assert refused(gzip.compress(tar[:1000])).startswith("not a tar file")
    assert refused(b"") == "it is cut short"
    assert refused(gzip.compress(b"")).startswith("not a tar file")


def test_what_is_no_file_is_none(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(PackageError, match="no such file; name a package"):
            read.read(path)


# ---- its members ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{}", "manifest.json: Object missing required field `study`"),
        (b"{", "manifest.json: Input data was truncated"),
        (b"\xff{}", "manifest.json: "),
        (b"[" * 100_000, "manifest.json: "),
        (b'{"format": "other", "study": "s", "members": {}}', "manifest.json: Invalid enum value"),
        (b'{"study": "../s", "members": {}}', "manifest.json: Expected `str` matching regex"),
    ],
)
def test_what_is_no_manifest_is_refused(refused, content, told):
    assert told in refused(tar_of(("manifest.json", content)))


def test_what_has_no_manifest_is_refused(refused):
    assert refused(tar_of(("study.json", b"{}"))) == "it has no manifest.json"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("study.json", b"{", "study.json: not a valid study.json: Expecting"),
        ("study.json", b"\xff{}", "study.json: not a valid study.json: 'utf-8'"),
        ("study.json", b"[" * 100_000, "study.json: not a valid study.json: JSON of more than 12 levels"),
        ("study.json", b'{"a": NaN}', "study.json: not a valid study.json: a number beyond reason: nan"),
        ("study.json", b'{"a": ' + b"9" * 5000 + b"}", "study.json: not a valid study.json: Exceeds the limit"),
        (f"{RUN}/run.json", b"\xff", "run.json: not a valid run.json: 'utf-8'"),
        (f"{RUN}/ledger.jsonl", b'{"schema": 1}', "ledger.jsonl line 1: "),
        (f"{RUN}/ledger.jsonl", b'{"cpus": "0-9,0-9"}', "ledger.jsonl line 1: "),
        ("tables/runs.tsv", b"\xff\t", "tables/runs.tsv: has another number of rows or columns"),
    ],
)
def test_members_that_are_no_records_have_no_figures(package, name, content, told):
    """With a manifest that fits."""
    found = checks.judge(evidence.gather(sealed(package, package.members | {name: content})))
    (figures,) = (verdict for verdict in found if verdict.check == "figures")
    assert figures.state == FAILS
    assert any(told in line for line in figures.why), figures.why


def test_more_cpus_than_can_be_held_against_each_other_are_refused(package):
    """A ledger of so many attempts, each on all CPUs that a list may name."""
    name = f"{RUN}/ledger.jsonl"
    line = json.loads(package.members[name].decode().splitlines()[0])
    lines = [json.dumps(line | {"id": f"{number:016x}", "cpus": "0-65535"}) for number in range(50)]
    found = evidence.gather(sealed(package, package.members | {name: "\n".join(lines).encode()}))
    assert found.broken == "ledgers: more than 2,000,000 CPUs in all its lines"


def test_a_record_that_points_elsewhere_is_not_followed(package, tmp_path):
    """A process whose folder is another would have a ledger of this machine read as its own."""
    (tmp_path / "ledger.jsonl").write_text("secret")
    name = f"{RUN}/run.json"
    for place in ("..", str(tmp_path), "samples/../..", "samples/HG001/..", "other"):
        record = json.loads(package.members[name])
        record["processes"][0]["directory"] = place
        tampered = sealed(package, package.members | {name: json.dumps(record).encode()})
        found = {verdict.check: verdict for verdict in checks.judge(evidence.gather(tampered))}
        assert found["figures"].state == FAILS
        assert "no folder of a sample or of a copy" in found["figures"].why[0]


def test_nothing_is_left_behind(package, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    evidence.gather(package)
    with read.laid_out(package) as folder:
        assert folder.is_relative_to(tmp_path)
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == []


# ---- anything at all -----------------------------------------------------------------------------------

names = st.one_of(
    st.sampled_from(
        ["manifest.json", "study.json", "starts.jsonl", f"{RUN}/run.json", f"{RUN}/ledger.jsonl", "../x", "/x"]
    ),
    st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=60),
)
documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
contents = st.one_of(st.binary(max_size=60), documents.map(lambda document: json.dumps(document).encode()))
kinds = st.sampled_from(
    [tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)


def reads_or_refuses(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    before = sorted(path.parent.rglob("*"))
    try:
        found = read.read(path)
        checks.judge(evidence.gather(found))
    except GpdError as error:
        assert "\n" not in str(error)
    assert sorted(path.parent.rglob("*")) == before


SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]  # where others are at work on the machine, too
hostile = settings(max_examples=50, deadline=None, suppress_health_check=SLOW)


@hostile
@given(members=st.lists(st.tuples(names, contents, kinds), max_size=5))
def test_any_tar_is_a_package_or_one_line(tmp_path, members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "../../x"
            tar.addfile(info, io.BytesIO(content))
    reads_or_refuses(tmp_path / "b.tar.gz", gzip.compress(buffer.getvalue(), compresslevel=1))


@pytest.mark.deep
@hostile
@given(data=st.data())
def test_a_package_with_any_bytes_changed_is_a_package_or_one_line(tmp_path, package, data):
    tar = bytearray(gzip.decompress(package.to_bytes()))
    for _ in range(data.draw(st.integers(1, 4))):
        # headers are where a tar file can be made to lie
        at = data.draw(st.one_of(st.integers(0, 511), st.integers(0, len(tar) - 1)))
        tar[at] = data.draw(st.integers(0, 255))
    reads_or_refuses(tmp_path / "b.tar.gz", gzip.compress(bytes(tar), compresslevel=1))


@hostile
@given(content=st.binary(max_size=400))
def test_any_bytes_are_one_line(tmp_path, content):
    reads_or_refuses(tmp_path / "b.tar.gz", content)


@pytest.mark.deep
@hostile
@given(data=st.data())
def test_records_of_any_content_are_judged_or_refused(tmp_path, package, data):
    """With a manifest that fits: a field of a record, whichever, is something else."""
    name = data.draw(st.sampled_from([n for n in sorted(package.members) if n.endswith((".json", ".jsonl"))]))
    lines = package.members[name].decode().split("\n") if name.endswith("l") else [package.members[name].decode()]
    at = data.draw(st.integers(0, max(len(lines) - 2, 0)))
    document = json.loads(lines[at])
    place = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(documents)
        break
    lines[at] = json.dumps(document)
    tampered = sealed(package, package.members | {name: "\n".join(lines).encode()})
    reads_or_refuses(tmp_path / "b.tar.gz", tampered.to_bytes())


def test_the_manifest_of_any_members_is_read_again(package, tmp_path):
    path = tmp_path / "b.tar.gz"
    path.write_bytes(raw(package.members, package.manifest))
    assert read.read(path).manifest == package.manifest
    assert described.differences(package.manifest, package.members) == []
    assert RECORD.CORES == 2
