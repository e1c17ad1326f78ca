"""How tests start JVMs: with the archive of GATK's classes that set-up made, and the first compiler alone."""

import os
import shutil
import subprocess

import pytest
from conftest import ROOT, SHORT_JVMS


@pytest.mark.deep
def test_gatk_takes_nearly_all_of_its_classes_from_the_archive():
    """-Xshare:on: where this JVM could not use it, it would not start."""
    options = "-Xshare:on -XX:+UseSerialGC -Xlog:class+load:stdout"
    command = [ROOT / ".tools/gatk/gatk", "--java-options", options, "HaplotypeCaller", "--help"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    loaded = [line for line in ran.stdout.splitlines() if " source: " in line]
    shared = [line for line in loaded if "shared objects file" in line]
    assert len(loaded) > 1000
    assert len(shared) > 0.95 * len(loaded)


@pytest.mark.deep
def test_an_archive_of_other_jars_is_passed_over_in_silence(tmp_path):
    """As where jars were put in place anew and set-up has not run since."""
    installed, tools = ROOT / ".tools", tmp_path / "tools"
    (tools / "gatk/lib").mkdir(parents=True)
    (tools / "java").symlink_to((installed / "java").resolve())
    (tools / "gatk/classes").symlink_to(installed / "gatk/classes")
    shutil.copy(installed / "gatk/gatk", tools / "gatk/gatk")
    first, *others = sorted((installed / "gatk/lib").iterdir())
    shutil.copyfile(first, tools / "gatk/lib" / first.name)
    for jar in others:
        (tools / "gatk/lib" / jar.name).symlink_to(jar)
    ran = subprocess.run([tools / "gatk/gatk", "--version"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("The Genome Analysis Toolkit")
    assert len(ran.stdout.splitlines()) == 3


@pytest.mark.deep
def test_jvms_of_tests_have_the_first_compiler_alone_whatever_rules_say():
    command = [ROOT / ".tools/java", "-XX:-TieredCompilation", "-XX:+PrintFlagsFinal", "-version"]
    told = subprocess.run(command, env=os.environ | SHORT_JVMS, capture_output=True, text=True, check=True).stdout
    flags = dict(line.split()[1:4:2] for line in told.splitlines() if " = " in line)
    assert (flags["TieredCompilation"], flags["TieredStopAtLevel"]) == ("true", "1")
