"""How GATK 3 is started: its jar, which its users bring, under Java 8 alone, or their own command gatk3.

No conda package holds the jar, for its licence: bioconda's has a wrapper that looks for one. Other Javas start GATK 3
as well, and it prints its version, but it finds none of its walkers; and some jars lack some.
The workflow loads this file by its path; `gpd doctor` runs it, and it prints the Java it finds.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDERS = ("/usr/lib/jvm", "/opt")
WANTED = "GATK 3 runs under Java 8 alone: name one in gatk3_java or JAVA8_HOME, or let conda bring it (--sdm conda)"
JAR = "name GenomeAnalysisTK.jar of GATK 3.8 there"
TIMEOUT_S = 60


def walkers(config: dict) -> list[str]:
    """What a configuration calls of GATK 3, of what not every jar has."""
    found = ["RealignerTargetCreator"] if config["realigner"] == "gatk3" else []
    if config["gatk"] == "gatk3":
        found += ["HaplotypeCaller", *(["BaseRecalibrator"] if config["bqsr"] != "none" else [])]
    return found


def jar_fault(jar: str, environment: Mapping[str, str], tried: Sequence[str], by_conda: bool = False) -> str:
    """What is wrong with gatk3_jar, as far as it shows before a program is started; empty if nothing is."""
    if jar:
        return _file_fault(jar, tried)
    if by_conda:
        return f"empty: no conda package brings the jar of GATK 3; {JAR}"
    if not shutil.which("gatk3", path=environment.get("PATH")):
        return f"empty, and no command gatk3 is on the PATH; {JAR}"
    return ""


def java_for_jar(named: str, environment: Mapping[str, str], by_conda: bool = False) -> tuple[str, str]:
    """The Java that starts the jar, or an empty path and why there is none."""
    if by_conda and not named and "JAVA8_HOME" not in environment:
        return "java", ""  # that of the rule's environment, which is not made yet
    return find(named, environment)


def command_fault(environment: Mapping[str, str], tried: Sequence[str]) -> str:
    """Why the command gatk3 does not start the walkers, of an empty gatk3_jar; empty if it does."""
    command = shutil.which("gatk3", path=environment.get("PATH"))
    with ThreadPoolExecutor() as pool:
        reasons = [*filter(None, pool.map(lambda walker: _walker_fault(command, walker), tried))]
    return f"empty, and {command} does not start its walkers: {reasons[0]}; {JAR}" if reasons else ""


def _file_fault(jar: str, tried: Sequence[str]) -> str:
    try:
        with zipfile.ZipFile(jar) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        return f"is no jar that can be read: {error}"
    if any(name.startswith("org/broadinstitute/hellbender/") for name in names):
        return f"is the jar of GATK 4, which has other walkers: {JAR}"
    classes = {name.rpartition("/")[2] for name in names}
    lacking = [walker for walker in tried if f"{walker}.class" not in classes]
    return f"has no {lacking[0]}: it is not GATK 3, or not all of it" if lacking else ""


def find(named: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The Java 8 that is named, or the first of those that are here; else an empty path and why there is none."""
    others = []
    for setting, java in _candidates(named, environment):
        found = re.search(r'version "([^"]+)"', _output([java, "-version"]))
        if found and found[1].startswith("1.8."):
            return java, ""
        others.append(f"{setting} {java} {f'is Java {found[1]}' if found else 'is no Java that runs'}".lstrip())
        if setting:
            return "", f"{others[-1]}; {WANTED}"
    return "", f"no Java 8 is here ({'; '.join(others[:3]) or 'nor any other'}); {WANTED}"


def _candidates(named: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Programs to try, each with the setting that names it; one that is named leaves no choice."""
    if named:
        yield "gatk3_java", named
    for setting, shown in (("JAVA8_HOME", "JAVA8_HOME"), ("JAVA_HOME", "")):
        if home := environment.get(setting):
            yield shown, f"{home}/bin/java"
    if on_path := shutil.which("java", path=environment.get("PATH")):
        yield "", on_path
    for folder in FOLDERS:
        yield from (("", str(java)) for java in sorted(Path(folder).glob("*/bin/java")))


def _walker_fault(command: str, walker: str) -> str:
    """Why a walker does not start; empty where it does, and asks for its input."""
    output = _output([command, "-Xmx500m", "-T", walker])
    messages = re.findall(r"ERROR MESSAGE: *(.*)", output)
    if messages and "Could not find walker" not in messages[0]:
        return ""
    return (messages or output.strip().splitlines()[-1:] or ["no answer"])[0]


def _output(command: list[str]) -> str:
    """All that a program prints; nothing where it cannot be run or does not end."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        return subprocess.run(command, **pipes, text=True, errors="replace", timeout=TIMEOUT_S, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


if __name__ == "__main__":
    java, reason = find("", os.environ)
    print(java or reason)
    sys.exit(not java)
