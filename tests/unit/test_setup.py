"""make setup on machines made here: PATH holds coreutils and stand-ins for apt, conda, Python and Maven."""

import os
import re
import shutil
import signal
import stat
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COREUTILS = (
    "bash cat chmod cmp cp cut dirname env flock grep head install ln mkdir mv paste readlink rm sed"
    " sha256sum sleep sort stat tail tr xargs"
)
TOOLS = (
    "bwa fastp mosdepth samtools sambamba bcftools tabix bgzip dwgsim numactl lstopo time likwid-bench fio"
    " hisat2-align-s gffread cufflinks cuffmerge cuffdiff featureCounts as cc Rscript"
)

# As a Python it answers the questions of set-up and makes environments that hold a copy of itself.
PYTHON = """\
case "$*" in
    *sys.executable*) echo "$0" ;;
    --version) echo Python 3.11.9 ;;
    '-m venv --clear '*) rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
    '-m pip install'*)
        echo "pip $*" >>"$CALLS"
        [ -z "$PIP_FAILS" ] || { echo "ERROR: $PIP_FAILS"; exit 1; } ;;
esac
"""
JAVA = """\
case "$*" in
    -version) echo 'openjdk version "17.0.9"' >&2 ;;
    *) printf '%s\\n' "$@" ;;
esac
"""
MAVEN = """\
echo "mvn $*" >>"$CALLS"
for argument; do case $argument in -DoutputDirectory=*) lib=${argument#*=} ;; esac; done
mkdir -p "$lib"
echo half >"$lib/gatk.jar"
[ -z "$MAVEN_FAILS" ] || { echo "[ERROR] $MAVEN_FAILS"; exit 1; }
"""
# Installs by making the commands of the packages that it is given.
APT = """\
echo "apt-get $*" >>"$CALLS"
for package; do
    case $package in
        hwloc-nox) cp "$BIN/true" "$BIN/lstopo" ;;
        tabix) cp "$BIN/true" "$BIN/tabix"; cp "$BIN/true" "$BIN/bgzip" ;;
        openjdk-21-jre-headless) cp "$SPARE/java" "$BIN/java" ;;
        python3-venv) cp "$SPARE/python3" "$BIN/python3" ;;
        maven) cp "$SPARE/mvn" "$BIN/mvn" ;;
        hisat2) cp "$BIN/true" "$BIN/hisat2-align-s" ;;
        likwid) cp "$BIN/true" "$BIN/likwid-bench" ;;
        cufflinks) for tool in cufflinks cuffmerge cuffdiff; do cp "$BIN/true" "$BIN/$tool"; done ;;
        subread) cp "$BIN/true" "$BIN/featureCounts" ;;
        binutils) cp "$BIN/true" "$BIN/as" ;;
        gcc) cp "$BIN/true" "$BIN/cc" ;;
        cargo-web) cp "$SPARE/cargo" "$BIN/cargo" ;;
        r-bioc-cummerbund) cp "$BIN/true" "$BIN/Rscript" ;;
        slurm-wlm)
            [ "$("$SBIN/policy-rc.d"; echo $?)" = 101 ] && echo "nothing is started" >>"$CALLS"
            for command in slurmctld slurmd srun; do cp "$BIN/true" "$BIN/$command"; done ;;
        munge) cp "$BIN/true" "$BIN/munged" ;;
        gffread | bwa | mosdepth | samtools | sambamba | bcftools | dwgsim) cp "$BIN/true" "$BIN/$package" ;;
        fio | numactl | time) cp "$BIN/true" "$BIN/$package" ;;
    esac
done
"""
# Builds what prints its version.
CARGO = """\
case "$*" in
    --version) echo "cargo $RUST (a commit)" ;;
    *)
        echo "cargo $*" >>"$CALLS"
        [ -z "$CARGO_FAILS" ] || { echo "error: $CARGO_FAILS"; exit 101; }
        while [ "$1" != --root ]; do shift; done
        mkdir -p "$2/bin"
        cp "$BIN/true" "$2/bin/bwa-mem4" ;;
esac
"""
# A release without OpenJDK 17.
APT_CACHE = """\
case $2 in
    openjdk-17-*) ;;
    openjdk-21-*) echo '  Candidate: 21.0.1+9-1' ;;
    python3-venv) echo '  Candidate: 3.13.5-1' ;;
    *) echo '  Candidate: 99.0' ;;
esac
"""
# dpkg --compare-versions A ge B
DPKG = """[ "$(printf '%s\\n' "$4" "$2" | sort -V | head -n 1)" = "$4" ]"""


OF_VETS = "envs/vets/requirements.lock"
PROJECTS = ("pyproject.toml", "scripts/snakemake-executor-plugin-pinned/pyproject.toml")


class Machine:
    """A clone of the repository and a PATH on which only what was added is found."""

    def __init__(self, directory: Path) -> None:
        self.clone = directory / "a clone"
        self.bin = directory / "bin"
        self.spare = directory / "spare"
        self.sbin = directory / "sbin"
        self.calls_file = directory / "calls"
        for made in (self.bin, self.spare, self.sbin, self.clone / "envs/gatk", self.clone / "scripts/gpd/machines"):
            made.mkdir(parents=True)
        shutil.copytree(ROOT / "scripts/setup", self.clone / "scripts/setup")
        for name in ("workflow/tools.tsv", "envs/gatk/pom.xml", OF_VETS, "requirements.lock", *PROJECTS):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.clone / name)
        for name in COREUTILS.split():
            (self.bin / name).symlink_to(shutil.which(name))
        self.add("true", "exit 0")
        for name, body in {"python3": PYTHON, "java": JAVA, "mvn": MAVEN, "cargo": CARGO}.items():
            self.add(name, body, self.spare)
        self.environment = {
            "PATH": str(self.bin),
            "BIN": str(self.bin),
            "SPARE": str(self.spare),
            "SBIN": str(self.sbin),
            "CALLS": str(self.calls_file),
            "JAVA_HOME": "",
        }

    def add(self, name: str, body: str, directory: Path | None = None) -> None:
        path = (directory or self.bin) / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def add_tools(self) -> None:
        for name in TOOLS.split():
            self.add(name, "exit 0")
        for name in ("python3", "java", "mvn"):
            shutil.copy(self.spare / name, self.bin / name)

    def become(self, uid: int) -> None:
        self.add("id", f"echo {uid}")

    def setup(self, *arguments: str, script: str = "install", **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.clone / "scripts/setup" / script, *arguments],
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []


@pytest.fixture
def machine(tmp_path, monkeypatch):
    made = Machine(tmp_path)
    # a JVM of the machine that runs the tests must not be found in the one made here
    system = made.clone / "scripts/setup/system.sh"
    system.write_text(system.read_text().replace("/usr/lib/jvm/", f"{tmp_path}/jvm/"))
    slurm = made.clone / "scripts/setup/slurm"
    slurm.write_text(slurm.read_text().replace("/usr/sbin", str(made.sbin)))
    made.become(1000)
    return made


@pytest.mark.deep
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o600), (0o002, 0o660)])
def test_a_reader_cannot_hold_the_set_up_up(machine, umask, mode):
    machine.add_tools()
    before = os.umask(umask)
    try:
        assert machine.setup().returncode == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((machine.clone / ".tools/lock").stat().st_mode) == mode


@pytest.mark.deep
def test_nothing_is_installed_twice(machine):
    machine.add_tools()
    first = machine.setup()
    assert first.returncode == 0, first.stderr
    calls = machine.calls()
    assert [call.split()[0] for call in calls].count("mvn") == 1
    assert sum("--require-hashes -r requirements.lock" in call for call in calls) == 1
    assert sum("--editable" in call for call in calls) == 1
    second = machine.setup("--quiet")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert machine.calls() == calls


@pytest.mark.deep
def test_what_changed_is_installed_again(machine):
    machine.add_tools()
    machine.setup()
    before = len(machine.calls())
    pom = machine.clone / "envs/gatk/pom.xml"
    pom.write_text(pom.read_text() + "<!-- changed -->\n")
    machine.setup()
    assert [call.split()[0] for call in machine.calls()[before:]] == ["mvn"]
    before = len(machine.calls())
    with (machine.clone / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    machine.setup()
    assert [call.split()[0] for call in machine.calls()[before:]] == ["pip", "pip"]


def test_without_apt_and_conda_one_list_names_everything(machine):
    done = machine.setup()
    assert done.returncode == 1
    assert done.stdout == ""
    listed = [line.split()[0] for line in done.stderr.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted([*TOOLS.split(), "python3", "java", "mvn"])
    assert "apt-get install -y --no-install-recommends" in done.stderr
    assert "conda, mamba or micromamba" in done.stderr


@pytest.mark.deep
def test_without_root_apt_is_not_called(machine):
    machine.add("apt-get", APT)
    machine.add("apt-cache", APT_CACHE)
    machine.add("dpkg", DPKG)
    machine.add("sudo", "exit 1")
    done = machine.setup()
    assert done.returncode == 1
    assert "openjdk-21-jre-headless" in done.stderr.splitlines()[-3]
    assert "make setup PREFIX=FOLDER" in done.stderr.splitlines()[-2]
    assert machine.calls() == []


@pytest.mark.deep
def test_only_what_is_missing_comes_from_apt(machine):
    machine.become(0)
    machine.add("apt-get", APT)
    machine.add("apt-cache", APT_CACHE)
    machine.add("dpkg", DPKG)
    for name in ("bwa", "samtools", "lstopo"):
        machine.add(name, "exit 0")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    (install,) = [call for call in machine.calls() if call.startswith("apt-get") and " install " in call]
    wanted = (
        "bcftools binutils cufflinks dwgsim fastp fio gcc gffread hisat2 libhts-dev likwid maven mosdepth numactl"
        " openjdk-21-jre-headless python3-venv r-bioc-cummerbund sambamba subread tabix time"
    )
    assert sorted(install.partition(" install ")[2].split()) == wanted.split()


def test_slurm_is_installed_and_none_of_its_daemons_started(machine):
    machine.become(0)
    for name, body in {"apt-get": APT, "apt-cache": APT_CACHE, "dpkg": DPKG}.items():
        machine.add(name, body)
    for _ in range(2):
        done = machine.setup("--quiet", script="slurm")
        assert (done.returncode, done.stderr) == (0, "")
    assert [call.rpartition(" install ")[2] for call in machine.calls() if " update " not in call] == [
        "munge slurm-client slurm-wlm",
        "nothing is started",
    ]
    assert list(machine.sbin.iterdir()) == []


def test_without_apt_slurm_is_done_without(machine):
    done = machine.setup("--quiet", script="slurm")
    assert (done.returncode, done.stderr) == (0, "")
    assert "tests/slurm is skipped (with apt, as root: munge slurm-client slurm-wlm)" in done.stdout


def test_bwa_mem4_is_built_once_by_a_rust_that_is_new_enough(machine):
    machine.become(0)
    for name, body in {"apt-get": APT, "apt-cache": APT_CACHE, "dpkg": DPKG}.items():
        machine.add(name, body)
    machine.add("cargo", "echo cargo 1.95.0", machine.sbin)
    machine.environment |= {"PATH": f"{machine.sbin}:{machine.bin}", "RUST": "1.96.0"}
    (machine.clone / ".venv/bin").mkdir(parents=True)
    done = machine.setup(script="bwa-mem4")
    assert (done.returncode, done.stderr) == (0, "")
    *_, apt, built = machine.calls()
    assert apt.endswith(" install cargo-web rustc-web")
    assert built.startswith("cargo install bwa-mem4 --version =4.4.0 --locked --no-default-features ")
    assert [path.name for path in (machine.clone / ".tools/bwa-mem4").glob("[!.]*")] == ["bwa-mem4"]
    assert (machine.clone / ".venv/bin/bwa-mem4").resolve() == machine.clone / ".tools/bwa-mem4/bwa-mem4"
    calls = machine.calls()
    assert machine.setup("--quiet", script="bwa-mem4").stdout == ""
    assert machine.calls() == calls


@pytest.mark.parametrize(
    ("rust", "fault"),
    [
        ("1.95.0", "it is built by Rust 1.96 or newer, and there is none on PATH (cargo and rustc)"),
        ("1.100.0", "error: no space left (all of it: "),
    ],
)
def test_half_a_bwa_mem4_is_none(machine, rust, fault):
    shutil.copy(machine.spare / "cargo", machine.bin / "cargo")
    done = machine.setup(script="bwa-mem4", RUST=rust, CARGO_FAILS="no space left")
    assert done.returncode == 1
    assert done.stderr.startswith(f"set-up: bwa-mem4: {fault}")
    assert len(done.stderr.splitlines()) == 1
    assert not (machine.clone / ".tools/bwa-mem4").exists()


DEBIAN = """\
Types: deb
URIs: mirror
Suites: bookworm
Components: main
"""
ONE_LINE = "deb mirror bookworm\tmain contrib # ours\ndeb-src mirror bookworm main\n"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("origin", "before", "after"),
    [
        ("Debian", DEBIAN, DEBIAN.replace("main", "main non-free")),
        ("Debian", ONE_LINE, ONE_LINE.replace("\tmain contrib", "\tmain non-free contrib")),
        ("Ubuntu", "deb mirror noble main universe\n", "deb mirror noble main multiverse universe\n"),
        ("Debian", "deb mirror bookworm main non-free\n", "deb mirror bookworm main non-free\n"),
    ],
)
def test_the_component_of_cufflinks_goes_into_the_distributions_own_list(machine, tmp_path, origin, before, after):
    own, other = tmp_path / "own.list", tmp_path / "other.list"
    own.write_text(before)
    other.write_text("deb elsewhere bookworm main\n")
    machine.become(0)
    machine.add_tools()
    (machine.bin / "cufflinks").unlink()
    # apt knows whose lists it read, and has Cufflinks once it has read the component
    told = f'[ "$1 $4" != "indextargets Origin: {origin}" ] || {{ echo "{own}:1"; exit; }}\n'
    machine.add("apt-get", told + APT)
    has = f'[ "$2" != cufflinks ] || grep -qE "non-free|multiverse" "{own}" && [ ! -e "$BIN/cufflinks" ] || exit 0\n'
    machine.add("apt-cache", has + APT_CACHE)
    machine.add("dpkg", DPKG)
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert own.read_text() == after
    assert other.read_text() == "deb elsewhere bookworm main\n"
    assert any(call.endswith(" install cufflinks") for call in machine.calls())


@pytest.mark.deep
@pytest.mark.parametrize("tool", ["dwgsim", "fastp"])  # the demo's, and that of a choice
def test_what_apt_does_not_have_is_asked_for_once(machine, tool):
    machine.become(0)
    machine.add("apt-get", APT)
    machine.add("apt-cache", APT_CACHE.replace("openjdk-17-*)", f"{tool} | openjdk-17-*)"))
    machine.add("dpkg", DPKG)
    machine.add_tools()
    (machine.bin / tool).unlink()
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert f"go without: {tool}\n" in done.stdout
    calls = machine.calls()
    again = machine.setup("--quiet")
    assert (again.returncode, again.stdout) == (0, "")
    assert machine.calls() == calls


def test_conda_where_apt_is_not(machine):
    machine.add("conda", "echo conda 24.9.2")
    shutil.copy(machine.spare / "python3", machine.bin / "python3")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "snakemake --sdm conda" in done.stdout
    assert not (machine.clone / ".tools/conda").exists()
    assert (machine.clone / ".venv/.packages").exists()
    assert not (machine.clone / ".tools/gatk").exists()


def test_a_conda_that_snakemake_refuses_brings_a_newer_one(machine):
    machine.add(
        "conda",
        'if [ "$1" = --version ]; then echo conda 23.11.0; exit; fi; echo "conda $*" >>"$CALLS"\n'
        'mkdir -p .tools/conda/bin; cp "$SPARE/python3" .tools/conda/bin/python; cp "$BIN/true" .tools/conda/bin/conda',
    )
    shutil.copy(machine.spare / "python3", machine.bin / "python3")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert machine.calls()[0].endswith("-c conda-forge conda>=24.7.1 python=3.12")
    assert (machine.clone / ".venv/bin/conda").resolve() == machine.clone / ".tools/conda/bin/conda"


def test_micromamba_brings_conda_and_a_python(machine):
    machine.add(
        "micromamba",
        'echo "micromamba $*" >>"$CALLS"; mkdir -p .tools/conda/bin\n'
        'cp "$SPARE/python3" .tools/conda/bin/python; cp "$BIN/true" .tools/conda/bin/conda',
    )
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "create" in machine.calls()[0]
    assert (machine.clone / ".venv/bin/conda").resolve() == machine.clone / ".tools/conda/bin/conda"


def test_half_a_gatk_is_none(machine):
    machine.add_tools()
    done = machine.setup(MAVEN_FAILS="Could not transfer artifact")
    assert done.returncode == 1
    assert done.stderr.startswith("set-up: gatk: [ERROR] Could not transfer artifact (all of it: ")
    assert len(done.stderr.splitlines()) == 1
    assert not (machine.clone / ".tools/gatk").exists()
    assert machine.setup().returncode == 0
    assert (machine.clone / ".venv/bin/gatk").exists()


def test_an_interrupt_ends_what_was_started(machine, tmp_path):
    machine.add_tools()
    machine.add("mvn", 'echo $$ >"$CALLS.new"; mv "$CALLS.new" "$CALLS.maven"; exec sleep 60')
    started = subprocess.Popen([machine.clone / "scripts/setup/install"], env=machine.environment)
    maven = tmp_path / "calls.maven"
    wait_for(maven.exists)
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=10) == 130
    wait_for(lambda: not running(maven.read_text().strip()))
    assert not (machine.clone / ".tools/gatk").exists()


def running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""  # empty: ended, but not yet waited for
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_gatk_that_does_not_start_is_none(machine):
    machine.add_tools()
    machine.add("java", 'case "$*" in -version) echo \'version "17"\' ;; *) echo no GATK; exit 1 ;; esac')
    done = machine.setup()
    assert done.returncode == 1
    assert "no GATK" in done.stderr
    assert not (machine.clone / ".tools/gatk").exists()


@pytest.mark.deep
def test_packages_that_do_not_install(machine):
    machine.add_tools()
    done = machine.setup(PIP_FAILS="hashes do not match")
    assert done.returncode == 1
    assert "set-up: python: ERROR: hashes do not match (all of it: " in done.stderr
    assert not (machine.clone / ".venv/.packages").exists()
    assert machine.setup().returncode == 0


def test_the_python_of_vets_is_made_once_and_linked(machine):
    machine.add_tools()
    assert "packages into .tools/vets" in machine.setup().stdout
    assert (machine.clone / ".venv/bin/vets-python").resolve() == machine.clone / ".tools/vets/vets-python"
    (call,) = [call for call in machine.calls() if OF_VETS in call]
    assert "--only-binary :all: --no-deps --require-hashes" in call
    calls = machine.calls()
    assert machine.setup("--quiet").stdout == ""
    assert machine.calls() == calls


def test_set_up_goes_on_where_no_python_can_be_that_of_vets(machine):
    machine.add_tools()
    machine.add("python3", f'case "$*" in *"(3, 13)"*) exit 1 ;; esac\n{PYTHON}')
    done = machine.setup()
    assert (done.returncode, done.stderr) == (0, "")
    assert "vets           not here: filter: vets wants Python 3.11 or 3.12, or conda" in done.stdout
    assert not (machine.clone / ".tools/vets").exists()


@pytest.mark.parametrize("there", [True, False])
def test_an_environment_that_is_a_link_is_refused(machine, tmp_path, there):
    machine.add_tools()
    other = tmp_path / "other tree"
    if there:
        (other / "bin").mkdir(parents=True)
        (other / "bin/python").touch()
    (machine.clone / ".venv").symlink_to(other)
    done = machine.setup()
    assert done.returncode == 1
    why = f"{machine.clone}/.venv is a link to {other}, which set-up would empty: remove the link"
    assert done.stderr == f"set-up: python: {why}\n"
    assert [path.name for path in other.rglob("*")] == (["bin", "python"] if there else [])
    assert [call for call in machine.calls() if call.startswith("pip") and OF_VETS not in call] == []


@pytest.mark.deep
@pytest.mark.parametrize("home", ["", "/nonexistent", "writable"])
def test_maven_without_a_home(machine, tmp_path, home):
    machine.add_tools()
    place = tmp_path if home == "writable" else home
    machine.add("getent", f"echo 'somebody:x:1000:1000::{place}:/bin/sh'" if home else "exit 2")
    assert machine.setup().returncode == 0
    (call,) = [call for call in machine.calls() if call.startswith("mvn")]
    assert ("-Dmaven.repo.local=" in call) is (home != "writable")


def test_an_old_java_is_passed_over(machine):
    machine.add_tools()
    machine.add("java", "echo 'java version \"1.8.0_402\"' >&2")
    new = machine.clone.parent / "jvm/java-17/bin"
    new.mkdir(parents=True)
    shutil.copy(machine.spare / "java", new / "java")
    assert machine.setup().returncode == 0
    assert (machine.clone / ".tools/java").resolve() == new / "java"


MAKE_ARCHIVE = """\
echo "archive of $2" >>"$CALLS"
[ -z "$ARCHIVE_FAILS" ] || { echo no room; exit 1; }
echo classes >"$3"
"""


def test_the_class_archive_is_made_anew_where_java_changes(machine):
    machine.add_tools()
    machine.add("make", MAKE_ARCHIVE, machine.clone / "scripts/setup/appcds")
    made = f"archive of {machine.clone}/.tools/gatk/lib"
    assert "starts from an AppCDS archive" in machine.setup().stdout
    assert (machine.clone / ".tools/gatk/classes/archive.jsa").read_text() == "classes\n"
    machine.setup()
    assert machine.calls().count(made) == 1
    machine.add("java", JAVA.replace("17.0.9", "17.0.10"))
    machine.setup()
    assert machine.calls().count(made) == 2


def test_set_up_goes_on_without_a_class_archive(machine):
    machine.add_tools()
    machine.add("make", MAKE_ARCHIVE, machine.clone / "scripts/setup/appcds")
    done = machine.setup(ARCHIVE_FAILS="yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert "without an AppCDS archive, some seconds later: no room (" in done.stdout
    assert not (machine.clone / ".tools/gatk/classes/archive.jsa").exists()
    assert (machine.setup("--quiet").stdout, sum("archive of" in call for call in machine.calls())) == ("", 1)


@pytest.fixture
def gatk(tmp_path):
    """The launcher where set-up puts it, beside a Java that prints its arguments; called through a link."""
    home = tmp_path / "some tools/gatk"
    (home / "lib").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/setup/gatk", home / "gatk")
    java = home.parent / "java"
    java.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    java.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gatk").symlink_to("../some tools/gatk/gatk")

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [tmp_path / "bin/gatk", *arguments]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=30, check=False)

    return run


def arguments_of(done: subprocess.CompletedProcess) -> tuple[list[str], list[str]]:
    """Split what Java was given at the main class: options, arguments of GATK."""
    words = done.stdout.splitlines()
    main = words.index("org.broadinstitute.hellbender.Main")
    return words[:main], words[main + 1 :]


@pytest.mark.parametrize("place", [0, 1, 3])
def test_gatk_takes_java_options_at_any_place(gatk, place):
    words = ["HaplotypeCaller", "-I", "a b.bam"]
    words[place:place] = ["--java-options", "-Xmx4g -XX:+UseSerialGC"]
    options, arguments = arguments_of(gatk(*words))
    assert arguments == ["HaplotypeCaller", "-I", "a b.bam"]
    assert {"-Xmx4g", "-XX:+UseSerialGC"} < set(options)


def test_gatk_keeps_quoted_words_together_and_runs_none(gatk):
    options, arguments = arguments_of(
        gatk("--java-options", "-Xmx1g '-Djava.io.tmpdir=/my scratch' \"-Da=$(id)\"", "Tool", "$(id)", "*", "")
    )
    assert "-Djava.io.tmpdir=/my scratch" in options
    assert "-Da=$(id)" in options
    assert arguments == ["Tool", "$(id)", "*", ""]


def test_gatk_finds_its_jars_from_anywhere(gatk, tmp_path):
    options, _ = arguments_of(gatk("Tool"))
    assert options[options.index("-cp") + 1] == f"{tmp_path}/some tools/gatk/lib/*"


def test_gatk_finds_the_python_of_vets_first_where_there_is_one(gatk, tmp_path):
    java = tmp_path / "some tools/java"
    java.write_text("#!/bin/sh\ncommand -v python\n")
    assert "some tools" not in gatk("Tool").stdout
    python = tmp_path / "some tools/vets/bin/python"
    python.parent.mkdir(parents=True)
    python.touch(0o755)
    assert gatk("Tool").stdout == f"{python}\n"


def test_gatk_starts_from_its_class_archive_where_there_is_one(gatk, tmp_path):
    assert "-XX:Shared" not in gatk("Tool").stdout
    archive = tmp_path / "some tools/gatk/classes/archive.jsa"
    archive.parent.mkdir()
    archive.touch()
    options, _ = arguments_of(gatk("Tool"))
    assert f"-XX:SharedArchiveFile={archive}" in options


def test_gatk_does_without_its_class_archive_where_it_is_told_to(gatk, tmp_path, monkeypatch):
    archive = tmp_path / "some tools/gatk/classes/archive.jsa"
    archive.parent.mkdir()
    archive.touch()
    monkeypatch.setenv("GATK_CLASS_ARCHIVE", "")
    assert "-XX:Shared" not in gatk("Tool").stdout


@pytest.mark.parametrize("words", [[], ["--list"], ["--java-options", "", "--list"]])
def test_gatk_lists_its_tools(gatk, words):
    assert arguments_of(gatk(*words))[1] == ["--help"]


@pytest.mark.parametrize("words", [["--java-options"], ["--java-options", "'-Xmx4g"]])
def test_gatk_refuses_options_that_are_none(gatk, words):
    done = gatk(*words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("gatk: --java-options")


LOCKS = {"requirements.lock": "dev", "docs/requirements.lock": "docs"}  # the extra that each of them pins


@pytest.mark.parametrize("name", [*LOCKS, OF_VETS])
def test_a_lock_names_no_place(name):
    lock = (ROOT / name).read_text()
    assert not re.search(r"://|^\s*-|index|find-links|file:|/(home|root|tmp|work)/", lock, re.MULTILINE | re.I) or [
        line for line in lock.splitlines() if not line.startswith(("    --hash=", "#"))
    ]


def pinned(name):
    """The version of each package that a lock names."""
    lock = (ROOT / name).read_text()
    entries = re.split(r"\n(?=\S)", "\n".join(line for line in lock.splitlines() if not line.startswith("#")))
    found = {}
    for entry in entries:
        package, version = re.match(r"([a-z0-9_-]+)==(\S+)", entry).groups()
        assert "--hash=sha256:" in entry, package
        found[package] = version
    return found


@pytest.mark.parametrize(("name", "extra"), LOCKS.items())
def test_a_lock_pins_and_hashes_everything_that_is_asked_for(name, extra):
    found = pinned(name)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = project["optional-dependencies"][extra] + (project["dependencies"] if extra == "dev" else [])
    for requirement in asked:
        package, _, version = requirement.partition("==")
        assert package in found
        assert version in ("", found[package])


def test_the_python_of_vets_has_the_packages_that_are_asked_for_by_pip_and_by_conda():
    found, asked = pinned(OF_VETS), (ROOT / "envs/vets/requirements.txt").read_text().splitlines()
    versions = dict(line.split("==") for line in asked if not line.startswith("#"))
    assert versions.items() <= found.items()
    conda = yaml.safe_load((ROOT / "envs/vets.yaml").read_text())["dependencies"]
    assert {f"{name}={version}" for name, version in versions.items()} <= {*conda}


def test_the_documents_packages_are_those_of_the_environment_they_are_installed_into():
    ours, theirs = pinned("requirements.lock"), pinned("docs/requirements.lock")
    assert {name: version for name, version in theirs.items() if name in ours} == {
        name: ours[name] for name in theirs if name in ours
    }


def test_citation_and_package_are_of_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])


def test_every_target_sets_up_first():
    makefile = (ROOT / "Makefile").read_text()
    targets = dict(re.findall(r"^([a-z0-9-]+):([^#\n]*)", makefile, re.MULTILINE))
    reached = {"installed", "setup"}
    for _ in targets:
        reached |= {name for name, needs in targets.items() if reached.intersection(needs.split())}
    assert set(targets) - reached == {"help", "clean", "image"}


def test_no_file_of_set_up_names_a_registry():
    names = ["Makefile", "pyproject.toml", "requirements.lock", "docs/requirements.lock", "envs/gatk/pom.xml", OF_VETS]
    files = [ROOT / name for name in names]
    for path in [*files, *(found for found in (ROOT / "scripts/setup").rglob("*") if found.is_file())]:
        assert not re.search(r"https?://", path.read_text()), path


def test_scripts_are_executable():
    for name in (
        "scripts/setup/install",
        "scripts/setup/gatk",
        "scripts/setup/vets-python",
        "scripts/setup/slurm",
        "scripts/setup/docs",
        "scripts/setup/image-tools",
        "scripts/setup/appcds/make",
        ".ci/run",
    ):
        assert os.access(ROOT / name, os.X_OK), name
