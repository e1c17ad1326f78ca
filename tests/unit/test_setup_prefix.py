"""make setup PREFIX=FOLDER on machines made here: packages are fetched and unpacked, and nothing is installed."""

import hashlib
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from test_setup import APT_CACHE, ROOT, Machine
from test_setup import machine as machine

# Fetches by writing empty packages where apt's configuration has its cache; refuses to do more.
APT_OF_A_USER = """\
echo "apt-get $*" >>"$CALLS"
case "$*" in
    *update*) ;;
    *--download-only*install*)
        for package; do
            case $package in
                bwa | hwloc-nox | cufflinks) : >"$(dirname "$APT_CONFIG")/cache/archives/${package}_1_amd64.deb" ;;
            esac
        done
        : >"$(dirname "$APT_CONFIG")/cache/archives/libc6_2_amd64.deb" ;;
    *) exit 100 ;;
esac
"""
# Unpacks commands that say where they are and which libraries they would load.
DPKG_DEB = """\
echo "dpkg-deb $*" >>"$CALLS"
case $2 in
    */bwa_*) names=bwa ;;
    */hwloc-nox_*) names=lstopo-no-graphics ;;
    */cufflinks_*) names='cufflinks cuffmerge cuffdiff cuffquant' ;;
esac
mkdir -p "$3/usr/bin" "$3/usr/lib/x86_64-linux-gnu" "$3/etc"
printf 'settings\\n' >"$3/etc/$names" 2>/dev/null || true
: >"$3/usr/lib/x86_64-linux-gnu/libown.so.1"
ln -sfn /etc/bwa "$3/usr/lib/bwa.conf"
for name in $names; do
    printf '#!%s\\necho "$0 $LD_LIBRARY_PATH $*"\\n' "$BIN/bash" >"$3/usr/bin/$name"
    chmod +x "$3/usr/bin/$name"
done
"""


@pytest.fixture
def user(machine: Machine) -> Machine:
    """A machine without root and with apt, on which bwa and lstopo are missing."""
    machine.add_tools()
    for name, body in {"apt-get": APT_OF_A_USER, "apt-cache": APT_CACHE, "dpkg-deb": DPKG_DEB}.items():
        machine.add(name, body)
    machine.add("dpkg", "exit 0")
    for name in ("basename", "find"):
        (machine.bin / name).symlink_to(shutil.which(name))
    for name in ("bwa", "lstopo"):
        (machine.bin / name).unlink()
    return machine


@pytest.mark.deep
def test_packages_are_unpacked_and_their_commands_found(user, tmp_path):
    done = user.setup("--prefix", str(tmp_path / "own"))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"apt fetches bwa hwloc-nox and what they need into {tmp_path}/own\n" in done.stdout
    root = tmp_path / "own/root"
    for name in ("bwa", "lstopo"):
        ran = subprocess.run([user.clone / ".venv/bin" / name, "a b"], capture_output=True, text=True, check=True)
        assert ran.stdout == f"{root}/usr/bin/{name} {root}/usr/lib/x86_64-linux-gnu a b\n"
    assert str((root / "usr/lib/bwa.conf").readlink()) == "../../etc/bwa"
    assert not (tmp_path / "own/apt").exists()
    assert not [call for call in user.calls() if call.startswith("dpkg-deb") and "libc6" in call]


def test_a_later_call_needs_no_name_and_fetches_nothing(user, tmp_path):
    user.setup("--prefix", str(tmp_path / "own"))
    calls = user.calls()
    again = user.setup("--quiet")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert user.calls() == calls


def test_a_tilde_that_the_shell_left_is_the_home(user, tmp_path):
    assert user.setup("--prefix", "~/own", HOME=str(tmp_path)).returncode == 0
    assert (user.clone / ".tools/prefix").resolve() == tmp_path / "own"


def test_what_apt_does_not_have_is_named_in_one_line(user, tmp_path):
    (user.bin / "samtools").unlink()
    done = user.setup("--prefix", str(tmp_path / "own"))
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "apt-get install" in line]
    assert line.endswith("--no-install-recommends samtools")
    assert "make setup PREFIX=FOLDER" in done.stderr


def test_a_folder_that_library_paths_cannot_name_is_refused(user, tmp_path):
    done = user.setup("--prefix", str(tmp_path / "own folder"))
    assert done.returncode == 1
    assert "paths of libraries can hold no blank" in done.stderr
    assert not (user.clone / ".tools/prefix").exists()


def test_a_cured_cuffdiff_starts_the_unpacked_one(tmp_path):
    tools = tmp_path / ".tools"
    for name in ("cufflinks/cuffdiff", "prefix/bin/cuffdiff"):
        (tools / name).parent.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/setup/cufflinks/preload", tools / "cufflinks/cuffdiff")
    (tools / "cufflinks/libarchive_end.so").touch()
    (tools / "prefix/bin/cuffdiff").write_text('#!/bin/sh\necho "unpacked $*"\n')
    (tools / "prefix/bin/cuffdiff").chmod(0o755)
    environment = {"PATH": f"{tools}/cufflinks:{Path(shutil.which('env')).parent}"}
    command = [tools / "cufflinks/cuffdiff", "-p", "2"]
    system = shutil.which("cuffdiff", path=environment["PATH"].partition(":")[2])
    if system:  # a machine with Debian's own, which comes first
        (tmp_path / "bin").mkdir()
        for name in ("bash", "basename", "dirname", "readlink"):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name))
        environment["PATH"] = f"{tools}/cufflinks:{tmp_path}/bin"
        command.insert(0, shutil.which("bash"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "unpacked -p 2\n"


def test_a_trust_store_holds_each_certificate_once(tmp_path):
    pem = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"
    target = tmp_path / "java/cacerts"
    subprocess.run(
        [sys.executable, ROOT / "scripts/setup/trust_store.py", target],
        input=f"# first\n{pem.format('Zmlyc3Q=')}{pem.format('c2Vjb25k')}{pem.format('Zmlyc3Q=')}",
        text=True,
        check=True,
    )
    content, digest = target.read_bytes()[:-20], target.read_bytes()[-20:]
    assert struct.unpack(">III", content[:12]) == (0xFEEDFEED, 2, 2)
    assert content.count(b"X.509") == 2
    assert content.endswith(struct.pack(">I", 6) + b"second")
    assert digest == hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()
