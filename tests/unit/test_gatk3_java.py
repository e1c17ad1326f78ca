"""Which Java is taken for GATK 3. No GATK 3 is at hand, so scripts play Java."""

import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, script

gatk3_java = script(ROOT / "workflow/scripts/germline/gatk3_java.py")
SAYS = """#!/bin/sh
[ "$1" = -version ] && echo '{version}' >&2 && exit 0
echo '{answer}'
exit 1
"""
EIGHT, SEVENTEEN = 'openjdk version "1.8.0_412"', 'openjdk version "17.0.12" 2024-07-16'


@pytest.fixture
def put(tmp_path: Path, monkeypatch):
    """Put a stand-in for Java into a folder; nothing else is to be found."""
    monkeypatch.setattr(gatk3_java, "FOLDERS", (str(tmp_path / "jvm"),))

    def make(folder: str, version: str = EIGHT, answer: str = "") -> str:
        java = tmp_path / folder / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(SAYS.format(version=version, answer=answer))
        java.chmod(0o755)
        return str(java)

    return make


def test_what_is_named_is_taken(put, tmp_path):
    named, home = put("named"), put("home")
    environment = {"JAVA8_HOME": str(tmp_path / "home"), "PATH": str(Path(put("path")).parent)}
    assert gatk3_java.find(named, environment) == (named, "")
    assert gatk3_java.find("", environment) == (home, "")


def test_the_usual_places_are_looked_through(put, tmp_path):
    newer = put("path", SEVENTEEN)
    assert gatk3_java.find("", {"PATH": str(Path(newer).parent)})[1].startswith(
        f"no Java 8 is here ({newer} is Java 17."
    )
    put("jvm/java 17", SEVENTEEN)
    old = put("jvm/java 8")
    assert gatk3_java.find("", {"PATH": str(Path(newer).parent)}) == (old, "")


@pytest.mark.parametrize(("named", "setting"), [(True, "gatk3_java"), (False, "JAVA8_HOME")])
def test_another_java_that_is_named_is_refused_though_java_8_is_here(put, tmp_path, named, setting):
    newer = put("newer", SEVENTEEN)
    put("jvm/java 8")
    environment = {} if named else {"JAVA8_HOME": str(tmp_path / "newer")}
    java, reason = gatk3_java.find(newer if named else "", environment)
    assert java == ""
    assert reason.startswith(f"{setting} {newer} is Java 17.0.12; GATK 3 runs under Java 8 alone")


def test_what_does_not_run_is_no_java(put):
    assert "gatk3_java nowhere/java is no Java that runs" in gatk3_java.find("nowhere/java", {})[1]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("##### ERROR MESSAGE: Walker requires reads but none were provided.", ""),
        ("##### ERROR MESSAGE: Could not find walker with name: RealignerTargetCreator", "Could not find walker"),
        ("GATK jar file not found", "GATK jar file not found"),
        ("", "no answer"),
    ],
)
def test_a_walker_that_asks_for_its_input_has_started(tmp_path, answer, fault):
    command = tmp_path / "gatk3"
    command.write_text(f"#!/bin/sh\necho '{answer}'\nexit 1\n")
    command.chmod(0o755)
    reason = gatk3_java.command_fault({"PATH": str(tmp_path)}, ["RealignerTargetCreator"])
    assert bool(reason) == bool(fault)
    assert fault in reason


def test_the_jar_of_gatk_4_is_named(tmp_path):
    jar = tmp_path / "gatk-package-4.6.2.0-local.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("org/broadinstitute/hellbender/tools/walkers/haplotypecaller/HaplotypeCaller.class", b"")
    for by_conda in (False, True):
        reason = gatk3_java.jar_fault(str(jar), {}, ["HaplotypeCaller"], by_conda)
        assert reason.startswith("is the jar of GATK 4, which has other walkers:")
