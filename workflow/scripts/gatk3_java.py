"""The Java that GATK 3 runs under: Java 8 alone.

Others start GATK 3 as well, and it prints its version, but it finds none of its walkers; so a walker is started to see.
The workflow loads this file by its path; `gpd doctor` runs it, and it prints the Java it finds.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PLACES = ("/usr/lib/jvm/*", "/usr/java/*", "/opt/*", "~/.sdkman/candidates/java/*", "~/.jdks/*")
WALKER = "RealignerTargetCreator"
WANTED = "GATK 3 runs under Java 8 alone: name one in gatk3_java or JAVA8_HOME, or use conda's gatk3 (--sdm conda)"
TIMEOUT_S = 60


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
    said = _said([java, "-Xmx500m", "-jar", jar, "-T", WALKER])
    messages = re.findall(r"ERROR MESSAGE: *(.*)", said)
    if messages and "Could not find walker" not in messages[0]:
        return ""
    reason = messages or said.strip().splitlines()[-1:] or ["no answer"]
    return f"does not start its walkers under {java}: {reason[0]}"


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
