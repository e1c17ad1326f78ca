"""Whether a test misses each small change of the launcher and of the checks of inputs: what survives is printed.

    make mutants                                          # many hours
    make mutants MUTANTS_ARGS="runtime made_of"           # these modules alone

Cosmic Ray changes one operator, number or branch at a time, in a copy of the repository, and runs the tests that are
called as the module is, or else all that know modules of its folder: of the launcher also those that run its jobs. The
exit code is 1 where a change survived. Some make no other program, such as `>` for `>=` of a bound that is never met.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = Path("scripts/snakemake-executor-plugin-pinned")
# what is changed, and the tests that must miss a change, the quickest first
LAUNCHER = ("unit/test_launcher_*", *(f"unit/test_{name}" for name in ("outputs", "parts", "failed_writes")))
LAUNCHER += ("unit/test_topology", "unit/test_ledger_*", "e2e/test_launcher_*", "e2e/test_any_workflow_runs")
OF_CHECKS = ("inputs", "made_of", "same_genome", "preflight", "tools_found_well", "workflow", "fuzz", "schemas")
CHECKS = tuple(f"unit/test_{name}" for name in (*OF_CHECKS, "disk_room"))
MUTATED = {PLUGIN / "snakemake_executor_plugin_pinned/launcher": LAUNCHER, Path("workflow/scripts/checks"): CHECKS}
COSMIC_RAY = ("uvx", "--quiet", "--from", "cosmic-ray==8.7.0", "cosmic-ray")
TIMEOUT_S = 600
CONFIG = """\
[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = {command}
distributor.name = "local"
"""


def modules() -> dict[str, Path]:
    """Those that are changed, by name, as paths in the repository."""
    found = sorted(path for folder in MUTATED for path in (ROOT / folder).glob("*.py"))
    return {path.stem: path.relative_to(ROOT) for path in found if not path.stem.startswith("__")}


def tests_of(module: Path) -> list[str]:
    """The files of tests that must miss a change of a module."""
    found = [path for name in MUTATED[module.parent] for path in sorted(ROOT.glob(f"tests/{name}.py"))]
    own = [path for path in found if path.stem.removeprefix("test_").removeprefix("launcher_") == module.stem]
    return [str(path.relative_to(ROOT)) for path in own or found]


def mutate(copy: Path, module: Path, tests: list[str]) -> list[str]:
    """The changes of a module that its tests did not miss, each as a patch."""
    session, config = copy / "session.sqlite", copy / "cosmic-ray.toml"
    command = shlex.join([sys.executable, "-m", "pytest", "-x", "-q", "-m", "not long", *tests])
    config.write_text(CONFIG.format(module=module, timeout=TIMEOUT_S, command=json.dumps(command)))
    session.unlink(missing_ok=True)
    places = os.pathsep.join(str(copy / folder) for folder in ("scripts", PLUGIN))
    environment = os.environ | {"PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*words: object) -> str:
        asked = [*COSMIC_RAY, *map(str, words)]
        return subprocess.run(asked, cwd=copy, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    run("baseline", config)
    run("init", config, session)
    run("exec", config, session)
    results = [json.loads(line)[1] for line in run("dump", session).splitlines()]
    done = [result for result in results if result]
    survived = [result["diff"] for result in done if result["test_outcome"] == "survived"]
    print(f"{module}: {len(done)} changes, {len(survived)} survived", flush=True)
    return survived


def main() -> int:
    known = modules()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="these alone", metavar="MODULE")
    chosen = parser.parse_args().modules or [*known]
    if unknown := set(chosen) - known.keys():
        sys.exit(f"no such module: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    left = 0
    with tempfile.TemporaryDirectory(prefix="gpd-mutants-") as folder:
        copy = Path(folder, "gpd")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "*-run"), symlinks=True)
        for name in chosen:
            survived = mutate(copy, known[name], tests_of(known[name]))
            print(*survived, sep="\n", flush=True)
            left += len(survived)
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
