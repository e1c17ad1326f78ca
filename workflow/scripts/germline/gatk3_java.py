"""How GATK 3 is started: its jar, which its users bring, under Java 8 alone, or their own command gatk3.

No conda package holds the jar, for its licence: bioconda's has a wrapper that looks for one. Other Javas start GATK 3
as well, and it prints its version, but it finds none of its walkers; so a walker is started to see.
The workflow loads this file by its path; `gpd doctor` runs it, and it prints the Java it finds.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

PLACES = ("/usr/lib/jvm/*", "/usr/java/*", "/opt/*", "~/.sdkman/candidates/java/*", "~/.jdks/*")
WALKER = "RealignerTargetCreator"
WANTED = "GATK 3 runs under Java 8 alone: name one in gatk3_java or JAVA8_HOME, or let conda bring it (--sdm conda)"
JAR = "name GenomeAnalysisTK.jar of GATK 3.8 there"
TIMEOUT_S = 60


def start(
    jar: str, named: str, environment: Mapping[str, str], by_conda: bool = False, is_tried: bool = True
) -> tuple[str, str]:
    """The Java for the jar, empty where a command gatk3 is taken; and why GATK 3 does not start, of gatk3_jar."""
    if not jar:
        return "", _command_fault(environment, by_conda) if is_tried else ""
    if by_conda and not named and "JAVA8_HOME" not in environment:
        return "java", _jar_fault(jar) if is_tried else ""  # that of the rule's environment, which is not made yet
    java, reason = find(named, environment)
    return java, (fault(java, jar) if is_tried else "") if java else reason


def _command_fault(environment: Mapping[str, str], by_conda: bool) -> str:
    if by_conda:
        return f"empty: no conda package brings the jar of GATK 3; {JAR}"
    if not (command := shutil.which("gatk3", path=environment.get("PATH"))):
        return f"empty, and no command gatk3 is on the PATH; {JAR}"
    reason = _walker_fault([command])
    return reason and f"empty, and {command} does not start its walkers: {reason}; {JAR}"


def _jar_fault(jar: str) -> str:
    try:
        with zipfile.ZipFile(jar) as archive:
            walkers = [name for name in archive.namelist() if name.endswith(f"/{WALKER}.class")]
    except (OSError, zipfile.BadZipFile) as error:
        return f"is no jar that can be read: {error}"
    return "" if walkers else f"has no {WALKER}: it is not GATK 3"


def find(named: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The Java 8 that is named, or the first of those that are here; else an empty path and why there is none."""
    others = []
    for origin, java in _candidates(named, environment):
        version = version_of(java)
        if version.startswith("1.8."):
            return java, ""
        others.append(f"{origin} {java} {f'is Java {version}' if version else 'is no Java that runs'}")
        if origin:
            return "", f"{others[-1].lstrip()}; {WANTED}"
    return "", f"no Java 8 is here ({'; '.join(each.lstrip() for each in others[:3]) or 'nor any other'}); {WANTED}"


def fault(java: str, jar: str) -> str:
    """Why the jar's walkers do not start; empty where one does, and asks for its input."""
    reason = _walker_fault([java, "-jar", jar])
    return reason and f"does not start its walkers under {java}: {reason}"


def _walker_fault(command: list[str]) -> str:
    said = _said([command[0], "-Xmx500m", *command[1:], "-T", WALKER])
    messages = re.findall(r"ERROR MESSAGE: *(.*)", said)
    if messages and "Could not find walker" not in messages[0]:
        return ""
    return (messages or said.strip().splitlines()[-1:] or ["no answer"])[0]


def version_of(java: str) -> str:
    """What the program says of itself, such as 1.8.0_402 or 17.0.12; empty where it is none or does not answer."""
    found = re.search(r'version "([^"]+)"', _said([java, "-version"]))
    return found[1] if found else ""


def _candidates(named: str, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Programs to try, each with the setting that names it; one that is named leaves no choice."""
    if named:
        yield "gatk3_java", named
    if home := environment.get("JAVA8_HOME"):
        yield "JAVA8_HOME", f"{home}/bin/java"
    if home := environment.get("JAVA_HOME"):
        yield "", f"{home}/bin/java"
    on_path = shutil.which("java", path=environment.get("PATH"))
    folders = [Path(place).expanduser() for place in PLACES]
    homes = [home for folder in folders for home in sorted(folder.parent.glob(folder.name))]
    seen = set()
    for java in (*filter(None, [on_path]), *(home / part for home in homes for part in ("bin/java", "jre/bin/java"))):
        if os.access(java, os.X_OK) and Path(java).resolve() not in seen:
            seen.add(Path(java).resolve())
            yield "", str(java)


def _said(command: list[str]) -> str:
    """All that a program says; nothing where it cannot be run or does not end."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


if __name__ == "__main__":
    java, reason = find("", os.environ)
    print(java or reason)
    sys.exit(not java)
