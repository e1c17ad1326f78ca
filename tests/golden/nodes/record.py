"""Records of two SYNTHETIC nodes for tests, made anew with each process.

No such machine was measured: cores and groups are those of resources/topologies, and every figure is made up, by a rule
that is easy to see in the output and a little noise with a seed.
"""

import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpd.machines import launcher
from gpd.machines.topology import Policy
from gpd.node import node_plan
from gpd.node.latency import METHOD, ROUNDS, SAMPLES, WARM_UP
from gpd.records.host import Cache, FileSystem, Host, Load, NumaNode
from gpd.records.node import (
    Bandwidth,
    BusyClock,
    Disk,
    Latency,
    Module,
    NodeRecord,
    Place,
    Remote,
    TestBed,
    block_of,
    nearest,
)
from gpd.text.cpu_lists import format_cpus

HERE = Path(__file__).parent
TOPOLOGIES = HERE.parents[2] / "resources" / "topologies"
START = datetime(2026, 11, 20, 8, tzinfo=UTC)
NOISE = 0.02
# by name: L3 MiB, memory of a NUMA node in GiB, GB/s of a core and of a NUMA node, ns by block, MHz of one core and all
MADE_UP = {
    "epyc-2x64": (
        *(32.0, 128, 24.0, 48.0),
        {"same core": 11, "same L3": 25, "same NUMA node": 95, "same socket": 110, "across sockets": 210},
        (3500.0, 2900.0),
    ),
    "xeon-2x32-4numa": (
        *(48.0, 128, 14.0, 80.0),
        {"same core": 9, "same NUMA node": 50, "same L3": 58, "across sockets": 125},
        (3400.0, 2800.0),
    ),
}


def cores_of(name: str) -> list:
    policy = Policy(threads=1, binding="compact", boundary="l3", smt=False)
    return list(launcher.lay_out(policy, TOPOLOGIES / f"{name}.xml").cores)


def host_of(name: str) -> Host:
    """A host for the cores of a topology; its load is that of an idle node."""
    l3_mib, node_gib, *_ = MADE_UP[name]
    cores = cores_of(name)
    groups = {level: {} for level in ("l3", "numa", "socket")}
    for core in cores:
        for level, found in groups.items():
            found.setdefault(getattr(core, level), []).extend(core.cpus)
    disk = FileSystem(mount="/", type="xfs", size_gib=1000.0, free_gib=500.0)
    return Host(
        hostname=f"synthetic-{name.partition('-')[0]}",
        cpu_model=f"SYNTHETIC {name}",
        cpu_family="25" if "epyc" in name else "6",
        cpu_model_number="1" if "epyc" in name else "143",
        cpu_stepping="1" if "epyc" in name else "8",
        architecture="x86_64",
        sockets=len(groups["socket"]),
        cores=len(cores),
        threads=sum(len(core.cpus) for core in cores),
        smt=True,
        governor="performance",
        boost=True,
        kernel="6.1.0-synthetic",
        microcode="0xa0011d5" if "epyc" in name else "0x2b000590",
        l3=tuple(Cache(format_cpus(cpus), l3_mib) for cpus in groups["l3"].values()),
        l3_groups=len(groups["l3"]),
        l3_mib=l3_mib * len(groups["l3"]),
        numa_nodes=len(groups["numa"]),
        numa=tuple(NumaNode(n, format_cpus(cpus), 1024.0 * node_gib) for n, cpus in groups["numa"].items()),
        memory_mib=1024.0 * node_gib * len(groups["numa"]),
        transparent_huge_pages="madvise",
        huge_pages=0,
        huge_page_mib=2.0,
        mitigations={"spectre_v2": "Mitigation: Retpolines"} | ({} if "epyc" in name else {"mds": "Vulnerable"}),
        virtual_machine="none",
        file_systems={"work": disk, "temp": disk},
        load=Load(busy_cpus=0.02, threshold_cpus=0.5, busy=False),
    )


def make(name: str) -> NodeRecord:
    draw, epyc = random.Random(name), "epyc" in name
    host, (_, node_gib, core_gb, numa_gb, ns, (one, every)) = host_of(name), MADE_UP[name]
    planned = node_plan.make(cores_of(name), host, 1024.0 * node_gib * host.numa_nodes, repeats=5)
    core_of = {cpu: core for core in planned.cores for cpu in core.cpus}
    levels = nearest(planned.cores)

    def noisy(value: float, count: int) -> tuple[float, ...]:
        return tuple(round(value * draw.uniform(1 - NOISE, 1 + NOISE), 1) for _ in range(count))

    def place(planned_one: node_plan.PlacePlan) -> Place:
        numa_nodes = len({core_of[cpu].numa for cpu in planned_one.cpus})
        rate = 1000 * min(core_gb * planned_one.cores, numa_gb * numa_nodes)
        return Place(
            scope=planned_one.scope,
            cpus=format_cpus(planned_one.cpus),
            ran_on="" if planned_one.same_as else format_cpus(sorted(planned_one.cpus)[: planned_one.cores]),
            cache_mib=planned_one.cache_mib,
            working_set_mib=planned_one.set_mib,
            same_as=planned_one.same_as,
            mb_s={} if planned_one.same_as else {"triad": noisy(rate, 5), "copy": noisy(0.96 * rate, 5)},
        )

    def remote(planned_one: node_plan.RemotePlan) -> Remote:
        same = planned_one.cpus_of == planned_one.memory_of
        socket = {core_of[min(cpus)].socket for cpus in (planned_one.cpus, planned_one.memory_cpus)}
        share = 1.0 if same else 0.88 if len(socket) == 1 else 0.45
        rates = noisy(1000 * numa_gb * share, 3 if epyc else 5)
        return Remote(cpus_of=planned_one.cpus_of, memory_of=planned_one.memory_of, mb_s=rates)

    def pair(first: int, second: int) -> tuple[int, int, float, float, float]:
        middle = noisy(ns[block_of(core_of[first], core_of[second], levels)], 1)[0]
        return first, second, middle, round(0.99 * middle, 2), round(1.02 * middle, 2)

    return NodeRecord(
        start=START,
        wall_s=500.0 if epyc else 210.0,
        gpd_version="0.2.0",
        host=host,
        cores=planned.cores,
        bandwidth=Bandwidth(
            tool="likwid-bench (SYNTHETIC)",
            kernels={"triad": "triad_avx", "copy": "copy_avx"},
            places=tuple(map(place, planned.places)),
            matrix=tuple(map(remote, planned.remotes)),
        ),
        latency=Latency(
            method=METHOD,
            warm_up=WARM_UP,
            samples=SAMPLES,
            rounds=ROUNDS,
            of_pairs=planned.of_pairs,
            seed=node_plan.SEED,
            pairs=tuple(pair(*cpus) for cpus in planned.pairs),
        ),
        clocks=() if epyc else tuple(clock(busy, mhz) for busy, mhz in (("one core", one), ("all cores", every))),
        test_bed=TestBed(
            system="SYNTHETIC server",
            bios_vendor="SYNTHETIC",
            bios_version="1.0",
            bios_date="01/02/2026",
            modules=modules(16) if epyc else (),
            channels=16 if epyc else None,
        ),
        disks={
            "work": Disk(tool="fio (SYNTHETIC)", direct=True, size_mib=256.0, write_mib_s=1500.0, read_mib_s=2500.0)
            if epyc
            else replace(FAST, tool="fio (SYNTHETIC)"),
            "temp": Disk(same_as="work"),
        },
        missing={"BIOS profile": "the firmware tells the system none"}
        | (
            {"frequency": "the kernel has no cpufreq for these CPUs", "energy": "for a superuser to read"}
            if epyc
            else {"memory modules": "dmidecode is for a superuser"}
        ),
        root_adds=("watts of packages and memory (RAPL)",) if epyc else ("memory modules and channels (dmidecode)",),
    )


FAST = Disk(
    direct=True,
    size_mib=256.0,
    write_mib_s=900.0,
    read_mib_s=1800.0,
    random_read_iops=11000.0,
    random_read_us=88.0,
)


def clock(busy: str, mhz: float) -> BusyClock:
    return BusyClock(
        busy=busy,
        source="turbostat",
        load="likwid-bench peakflops, 2 s",
        mhz=mhz,
        low_mhz=mhz - 10,
        high_mhz=mhz + 5,
        watts={"packages": 140.0 if busy == "one core" else 480.0, "memory": 20.0},
    )


def modules(count: int) -> tuple[Module, ...]:
    return tuple(
        Module(
            locator="DIMM 0",
            bank=f"P{at // 8} CHANNEL {'ABCDEFGH'[at % 8]}",
            size_gib=64.0,
            type="DDR4",
            rated_mts=3200,
            configured_mts=3200,
        )
        for at in range(count)
    )
