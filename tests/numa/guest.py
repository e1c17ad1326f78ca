"""What is done in the guest, and written to the shared folder for the tests: a scenario after the other.

python guest.py MACHINE LAUNCHER

MACHINE: a key of SCENARIOS; LAUNCHER: its compiled __main__, as jobs start it. A scenario that fails is told by
its traceback, and the others are done.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

MACHINE, LAUNCH = sys.argv[1:]
sys.path.insert(0, str(Path(LAUNCH).parents[1]))  # the launcher's own modules, to look with

from rounds import GROUPS, Guest, Round, free_mib, make_group, offline, wait_until  # noqa: E402

SHARE = Path("/share")
NODES = Path("/sys/devices/system/node")


# ---- what the machine is


def topology(guest: Guest) -> dict:
    """What the launcher knows by sysfs alone, what the kernel says of distances, and hwloc's file of the machine."""
    tables = {path.parent.name[4:]: path.read_text().split() for path in NODES.glob("node*/distance")}
    if lstopo := shutil.which("lstopo-no-graphics"):
        subprocess.run([lstopo, "--of", "xml", SHARE / "lstopo.xml"], check=True)
    return {"sysfs": guest.ask("topology"), "distances": {n: [*map(int, row)] for n, row in tables.items()}}


# ---- whole cores on four NUMA nodes


def singles(guest: Guest) -> dict:
    """As many jobs as there are CPUs."""
    with Round(guest, "singles") as jobs:
        for _ in range(os.cpu_count()):
            jobs.start(1, "--memory=local")
        jobs.at_work()
        allocated = guest.allocated()
    return jobs.told() | {"allocated": allocated}


def fours(guest: Guest) -> dict:
    """Four jobs of four threads fill the machine; two are killed with -9; two more take their place."""
    with Round(guest, "fours") as jobs:
        first = [jobs.start(4, "--memory=local", mib=16) for _ in range(4)]
        jobs.at_work()
        first[0].wrapper.kill()
        first[1].kill()
        freed_s = wait_until(lambda: len(guest.allocated()) == 8)
        jobs.at_work(*(jobs.start(4, "--memory=default") for _ in range(2)))
    return jobs.told() | {"freed_s": freed_s}


def widths(guest: Guest) -> dict:
    """Jobs wider than an L3 group, at the same time."""
    with Round(guest, "widths") as jobs:
        for threads, policy in ((6, "interleave"), (8, "local"), (2, "default")):
            jobs.at_work(jobs.start(threads, f"--memory={policy}", mib=16))
    return jobs.told()


def whole(guest: Guest) -> dict:
    """A job as wide as the machine."""
    with Round(guest, "whole") as jobs:
        jobs.at_work(jobs.start(16, "--memory=interleave", mib=32))
    return jobs.told()


def scatter(guest: Guest) -> dict:
    """Jobs that spread within a boundary each."""
    with Round(guest, "scatter") as jobs:
        for boundary in ("socket", "l3", "numa"):
            jobs.at_work(jobs.start(4, "--binding=scatter", f"--boundary={boundary}", "--memory=interleave"))
    return jobs.told()


def full(guest: Guest) -> dict:
    """A job that needs more memory than its NUMA node has."""
    before = free_mib()
    with Round(guest, "full") as jobs:
        jobs.at_work(jobs.start(4, "--memory=local", mib=max(before.values()) + 128))
    return jobs.told() | {"free_mib": before}


def box(guest: Guest) -> dict:
    """A control group with six CPUs, two NUMA nodes and 256 MiB."""
    group = make_group("box", cpuset__cpus="4-9", cpuset__mems="1-2", memory__max="256M")
    limits, cores = guest.ask("limits", group=group), guest.ask("topology", group=group)["cores"]
    with Round(guest, "box") as jobs:
        for _ in range(3):
            jobs.start(2, "--memory=local", group=group)
        jobs.at_work()
    with Round(guest, "wide") as wide:
        wide.at_work(wide.start(16, "--memory=interleave", mib=32, group=group))
    with Round(guest, "hungry") as hungry:
        hungry.start(2, mib=400, group=group)
    told = {name: seen for some in (jobs, wide, hungry) for name, seen in some.told()["jobs"].items()}
    return {"jobs": told, "limits": limits, "cores": cores}


def far(guest: Guest) -> dict:
    """A control group whose CPUs are of NUMA node 1, and whose memory is of node 3."""
    group = make_group("far", cpuset__cpus="4-7", cpuset__mems="3")
    with Round(guest, "far") as jobs:
        for policy in ("local", "interleave"):
            jobs.start(2, f"--memory={policy}", group=group)
        jobs.at_work()
    return jobs.told()


def absent(guest: Guest) -> dict:
    """Two CPUs are taken from the machine, and given back."""
    with offline(5, 6):
        cores = guest.ask("topology")["cores"]
        with Round(guest, "absent") as jobs:
            jobs.at_work(jobs.start(16))
    with Round(guest, "back") as back:
        back.at_work(back.start(16))
    return {"jobs": jobs.told()["jobs"] | back.told()["jobs"], "cores": cores}


def clock(guest: Guest) -> dict:
    """The clock is set back by an hour while a job runs, and forward by a day while the next one does."""
    jobs, lasted_s = {}, {}
    for name, by_s in (("set-back", -3600), ("set-forward", 86_400)):
        began = time.monotonic()
        with Round(guest, name) as one:
            one.at_work(one.start(1))
            time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)
            time.sleep(1)
        jobs |= one.told()["jobs"]
        lasted_s[f"{name}0"] = time.monotonic() - began
    return {"jobs": jobs, "lasted_s": lasted_s}


# ---- two threads a core, two L3 groups a NUMA node


def whole_cores(guest: Guest) -> dict:
    """As many jobs as there are cores, and one more, which waits."""
    with Round(guest, "cores") as jobs:
        first = [jobs.start(1, "--memory=local") for _ in range(os.cpu_count() // 2)]
        jobs.at_work(*first)
        allocated = guest.allocated()
        late = jobs.start(1, "--memory=local")
        wait_until(guest.waits)
        time.sleep(2)
        early = jobs.is_ready(late)
    return jobs.told() | {"allocated": allocated, "early": early, "late": late.name}


def siblings(guest: Guest) -> dict:
    """Jobs that fill the machine where hyperthreads count as CPUs."""
    with Round(guest, "siblings") as jobs:
        for width in (1, 1, 6, 8):
            jobs.at_work(jobs.start(width, "--smt", "--memory=local"))
    return jobs.told()


def threads(guest: Guest) -> dict:
    """What jobs of some widths get: of whole cores, and of hyperthreads."""
    with Round(guest, "near") as near:
        near.at_work(near.start(2, "--binding=scatter", "--boundary=numa"))
        near.at_work(near.start(2, "--binding=scatter", "--boundary=l3"))
        near.at_work(near.start(4, "--smt"))
    with Round(guest, "eight") as eight:
        eight.at_work(eight.start(8))
    with Round(guest, "wider") as wider:
        wider.at_work(wider.start(9))
    return {"jobs": near.told()["jobs"] | eight.told()["jobs"] | wider.told()["jobs"]}


def half_a_core(guest: Guest) -> dict:
    """The first thread of a core and the second of another are taken from the machine."""
    with offline(2, 7):
        cores = guest.ask("topology")["cores"]
        with Round(guest, "half") as jobs:
            jobs.at_work(jobs.start(8))
            allocated = guest.allocated()
    return jobs.told() | {"cores": cores, "allocated": allocated}


# ---- all of it

SCENARIOS: dict[str, tuple[Callable[[Guest], dict], ...]] = {
    "places": (topology, singles, fours, widths, whole, scatter, full, box, far, absent, clock),
    "siblings": (topology, whole_cores, siblings, threads, half_a_core),
}


def main() -> None:
    (GROUPS / "cgroup.subtree_control").write_text("+cpuset +memory +cpu")  # as systemd does
    guest, told = Guest(Path(LAUNCH), Path("/run/gpd")), {}
    for scenario in SCENARIOS[MACHINE]:
        told[scenario.__name__] = attempt(scenario.__name__, lambda scenario=scenario: scenario(guest))
    told["left"] = guest.left()
    shutil.copy(guest.work / "ledger.jsonl", SHARE)
    (SHARE / "told.json").write_text(json.dumps(told))


def attempt(name: str, act: Callable[[], dict]) -> dict:
    """What an act tells, and how long it took; or how it failed."""
    began = time.monotonic()
    print(f"guest: {name}, {time.monotonic():.1f} s after the kernel's start", flush=True)
    try:
        told = act()
    except Exception:
        told = {"error": traceback.format_exc()}
        print(told["error"], flush=True)
    return told | {"seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    main()
