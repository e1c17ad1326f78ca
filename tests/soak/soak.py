"""Random cohorts with random injuries, hour after hour: nothing lost, nothing wrong, nothing silent.

    make soak HOURS=12 SOAK_ARGS='--seed 7 --folder FOLDER'

Each round draws a cohort, runs it once undisturbed, and once with one to three injuries, after each of which the same
command is given again, as its user would, until all is done; then the invariants are held. A round follows from the
seed and its number, but for the moments of injuries. Exit code 1 where an invariant broke; that round's folder stays.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from cohorts import Plan, draw, lay_out
from conftest import SHORT_JVMS
from injuries import INJURIES, LONGEST_S, Broken, Injury, Struck, disk, disk_filled
from invariants import lost, made, unsound, wrong

from gpd.machines import launcher

MOST_INJURIES, MOST_STARTS = 3, 4  # of a round; without an injury, until it has to be done
DISK_MIB = 400
WORDS = ("gpd run: ", " failed", "not everything was done", "ended by")  # one of which says why a run did not do all
INVARIANTS = ("healthy samples lost", "wrong outputs", "silent failures", "unsound ledgers", "two at once", "hangs")


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, negative for a signal, None where it hangs.

    `spoilt` is the sample that was, `broken` what its injury saw.
    """

    code: int | None
    output: str
    wall_s: float
    spoilt: str
    broken: list[Broken]


@dataclass
class Round:
    """A cohort in a folder, run again and again; what was done to it, and how often it was run."""

    plan: Plan
    folder: Path
    dice: random.Random
    injuries: Counter[str] = field(default_factory=Counter)
    at_work: set[str] = field(default_factory=set)
    runs: int = 0

    def hold(self) -> list[Broken]:
        """Run the cohort undisturbed and struck; return what did not hold."""
        seed, whole, struck = self.dice.randrange(1 << 30), self.folder / "undisturbed", self.folder / "struck"
        lay_out(self.plan, whole, seed)
        first = self.run(whole)
        if first.code != 0:
            return [("healthy samples lost", f"the undisturbed run ended with {first.code}: {first.output[-2000:]}")]
        with disk(struck, DISK_MIB) as small:
            lay_out(self.plan, struck, seed)
            known = [injury for injury in INJURIES if small or injury is not disk_filled]
            chosen = [self.dice.choice(known) for _ in range(self.dice.randint(1, MOST_INJURIES))]
            broken = self.strike(struck, chosen, first.wall_s) or self.judge(struck, whole)
            if broken and small:
                shutil.copytree(struck, self.folder / "broken", symlinks=True)
        return broken

    def strike(self, folder: Path, chosen: list[Injury], usual_s: float) -> list[Broken]:
        """Run it with each injury, then without, until it is done; return what did not hold on the way."""
        for injury in [*chosen, *[None] * MOST_STARTS]:
            ended = self.run(folder, injury, self.dice.uniform(0, usual_s))
            if ended.broken:
                return ended.broken
            if ended.code is None:
                return [("hangs", f"{name_of(injury)}: no end within {LONGEST_S} s: {ended.output[-2000:]}")]
            told = ended.code in (0, -signal.SIGKILL) or any(word in ended.output for word in WORDS)
            if not told or (ended.code in (1, 2) and ended.spoilt not in ended.output):
                return [("silent failures", f"{name_of(injury)}: exit code {ended.code}: {ended.output[-2000:]}")]
            if ended.code == 1 and ended.spoilt and (gone := lost(self.plan, folder, ended.spoilt)):
                return [("healthy samples lost", f"{', '.join(gone)}, beside {ended.spoilt}: {ended.output[-2000:]}")]
            if ended.code == 0 and injury is None:
                return []
        return [("healthy samples lost", f"not done after {MOST_STARTS} starts without injury: {ended.output[-2000:]}")]

    def judge(self, struck: Path, whole: Path) -> list[Broken]:
        faults = [("wrong outputs", line) for line in wrong(self.plan, struck, made(self.plan, whole))]
        return faults + [("unsound ledgers", line) for line in unsound(struck, self.at_work)]

    def run(self, folder: Path, injury: Injury | None = None, when_s: float = 0.0) -> Ended:
        """Run it as its user would, strike so many seconds after the start, and wait until it has ended."""
        self.runs += 1
        words = ["run", self.plan.pipeline, *self.plan.targets, "--directory", str(folder), "--cores", "2", "--notemp"]
        began, spoilt, code = time.monotonic(), "", None
        with tempfile.TemporaryFile("w+") as output:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT, "process_group": 0}
            run = psutil.Popen([sys.executable, "-m", "gpd", *words], **pipes)
            struck = Struck(run, folder, self.dice)
            try:
                if injury and is_at_work(run, when_s):
                    self.at_work |= {job.name for job in launcher.jobs() if job.folder == folder and not job.waits}
                    self.injuries[injury.__name__] += 1
                    spoilt = injury(struck)
                code = run.wait(LONGEST_S)
            except psutil.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
            for mend in struck.mend:
                mend()
            output.seek(0)
            return Ended(code, output.read(), time.monotonic() - began, spoilt, struck.broken)


def is_at_work(run: psutil.Popen, after_s: float) -> bool:
    """Whether it still runs, so many seconds from now."""
    try:
        run.wait(after_s)
    except psutil.TimeoutExpired:
        return True
    return False


def name_of(injury: Injury | None) -> str:
    return injury.__name__ if injury else "no injury"


def soak(hours: float, seed: int, folder: Path) -> Counter[str]:
    """Rounds until the time is over, a line each; return what was done and what did not hold, counted."""
    tally, until = Counter[str](), time.monotonic() + hours * 3600
    while time.monotonic() < until:
        tally["rounds"] += 1
        dice, began = random.Random(f"{seed}/{tally['rounds']}"), time.monotonic()
        one = Round(draw(dice), folder / f"round-{tally['rounds']}", dice)
        broken = one.hold()
        struck = ", ".join(sorted(one.injuries.elements())) or "no injury in time"
        took_s = time.monotonic() - began
        verdict = "BROKEN" if broken else "holds"
        print(f"{tally['rounds']}: {one.plan}; {struck}; {one.runs} runs, {took_s:.0f} s: {verdict}", flush=True)
        for kind, words in broken:
            print(f"  {kind}: {words}\n  kept: {one.folder}", flush=True)
        if not broken:
            shutil.rmtree(one.folder)
        tally.update({"runs": one.runs, "jobs at work when struck": len(one.at_work)})
        tally.update({f"injury: {name}": count for name, count in one.injuries.items()})
        tally.update(kind for kind, _ in broken)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, help="of an earlier soak, to have its rounds again")
    parser.add_argument("--folder", type=Path, help="where rounds are run; those that broke stay there")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 30) if given.seed is None else given.seed
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="gpd-soak-"))).resolve()
    print(f"seed {seed}, {given.hours:g} hours, in {folder}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpd-soak-allocations-") as allocations:
        os.environ |= {"GPD_RUNTIME_DIR": allocations, **SHORT_JVMS}
        tally = soak(given.hours, seed, folder)
    rows = [("hours", f"{(time.monotonic() - began) / 3600:.2f}")]
    rows += [(name, tally[name]) for name in [*sorted(tally.keys() - set(INVARIANTS)), *INVARIANTS]]
    for name, value in rows:
        print(f"{name:<60}  {value}")
    return 1 if any(tally[name] for name in INVARIANTS) else 0


if __name__ == "__main__":
    sys.exit(main())
