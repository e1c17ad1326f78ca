"""The host record: what it makes of what machines say of themselves, recorded here in short."""

import json
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from gpd.machines import file_systems, this_host
from gpd.machines.facts import Facts
from gpd.machines.launcher import Limits
from gpd.machines.this_host import sku, stated_mhz

CPU = "/sys/devices/system/cpu"

MODELS = {
    "Intel(R) Xeon(R) Platinum 8352Y CPU @ 2.20GHz": "8352Y",
    "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz": "8358",
    "Intel(R) Xeon(R) Platinum 8480+": "8480+",
    "Intel(R) Xeon(R) Platinum 8480CL": "8480CL",
    "INTEL(R) XEON(R) PLATINUM 8592+": "8592+",
    "INTEL(R) XEON(R) SILVER 4514Y": "4514Y",
    "Intel(R) Xeon(R) Gold 6258R CPU @ 2.70GHz": "6258R",
    "Intel(R) Xeon(R) Bronze 3204 CPU @ 1.90GHz": "3204",
    "Intel(R) Xeon(R) CPU Max 9480": "9480",
    "Intel(R) Xeon(R) 6980P": "6980P",
    "Intel(R) Xeon(R) 6 6787P": "6787P",
    "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz": "E5-2690 v4",
    "Intel(R) Xeon(R) CPU           E5-2670 0 @ 2.60GHz": "E5-2670",
    "Intel(R) Xeon(R) CPU E7-8890 v3 @ 2.50GHz": "E7-8890 v3",
    "Intel(R) Xeon(R) CPU           X5650  @ 2.67GHz": "X5650",
    "Intel(R) Xeon(R) E-2288G CPU @ 3.70GHz": "E-2288G",
    "Intel(R) Xeon(R) W-2295 CPU @ 3.00GHz": "W-2295",
    "Intel(R) Xeon(R) w9-3495X": "w9-3495X",
    "Intel(R) Xeon(R) D-2146NT CPU @ 2.30GHz": "D-2146NT",
    "Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz": "i7-8650U",
    "13th Gen Intel(R) Core(TM) i9-13900K": "i9-13900K",
    "Intel(R) Core(TM) Ultra 7 155H": "Ultra 7 155H",
    "AMD EPYC 7763 64-Core Processor": "7763",
    "AMD EPYC 9654 96-Core Processor": "9654",
    "AMD EPYC 74F3 24-Core Processor": "74F3",
    "AMD EPYC 7702P 64-Core Processor": "7702P",
    "AMD EPYC 7773X 64-Core Processor": "7773X",
    "AMD EPYC 7V73X 64-Core Processor": "7V73X",
    "AMD EPYC 7R32": "7R32",
    "AMD Ryzen 9 5950X 16-Core Processor": "5950X",
    "AMD Ryzen 9 7950X3D 16-Core Processor": "7950X3D",
    "AMD Ryzen 7 PRO 5850U with Radeon Graphics": "5850U",
    "AMD Ryzen Threadripper PRO 3995WX 64-Cores": "3995WX",
    "AMD Opteron(tm) Processor 6276": "6276",
    "Neoverse-N1": "Neoverse-N1",
    "AWS Graviton3 N/A CPU @ 2.6GHz": "Graviton3",
    "Ampere(R) Altra(R) Processor": "Altra",
    "Ampere(R) Altra(R) Max Processor": "Altra Max",
    "Ampere(R) Altra(R) Processor Q80-30 CPU @ 3.0GHz": "Q80-30",
    "Ampere(R) Altra(R) Max Processor M128-30": "M128-30",
    "AmpereOne(R) A192-32X": "A192-32X",
}
NAMELESS = (
    "",
    "AMD EPYC",
    "AMD EPYC Processor",
    "AMD EPYC Processor (with IBPB)",
    "AMD EPYC-Rome Processor",
    "AMD EPYC-Milan Processor",
    "AMD Opteron 63xx class CPU",
    "Common KVM processor",
    "Cortex-A72",
    "Genuine Intel(R) CPU 0000 @ 2.00GHz",
    "Intel Xeon E3-12xx v2 (Ivy Bridge, IBRS)",
    "Intel Xeon E312xx (Sandy Bridge, IBRS update)",
    "Intel Xeon Processor (Skylake, IBRS)",
    "Intel(R) Xeon(R) CPU @ 2.20GHz",
    "Intel(R) Xeon(R) Processor @ 2.50GHz",
    "QEMU Virtual CPU version 2.5+",
    "pc-q35-8.0  CPU @ 2.0GHz",
)


@pytest.mark.parametrize(("model", "name"), MODELS.items())
def test_sku(model, name):
    assert sku(model) == name


@pytest.mark.parametrize("model", NAMELESS)
def test_a_model_that_names_no_product_has_no_sku(model):
    assert sku(model) is None


def test_intel_says_the_base_frequency_in_the_name():
    assert stated_mhz("Intel(R) Xeon(R) Platinum 8352Y CPU @ 2.20GHz") == 2200
    assert stated_mhz("INTEL(R) XEON(R) PLATINUM 8592+") is None
    assert stated_mhz("pc-q35-8.0  CPU @ 2.0GHz") is None  # QEMU's, whatever the CPU is


# ---- machines ------------------------------------------------------------------------------------------

IDLE = dict.fromkeys(("user", "nice", "system", "irq", "softirq", "iowait", "steal"), 0.0) | {"idle": 100.0}


def lscpu_parse(sockets: int, cores: int, siblings: int, l3_cores: int) -> str:
    """What lscpu --parse would say: threads numbered as Linux does it, all first threads before the second ones."""
    rows = [
        f"{thread * sockets * cores + core},{core},{core // cores},{core // cores},,{core},{core},{core},"
        f"{core // l3_cores}"
        for thread in range(siblings)
        for core in range(sockets * cores)
    ]
    return "\n".join(["# CPU,Core,Socket,Node,,L1d,L1i,L2,L3", *rows]) + "\n"


def every_cpu(count: int, **files: str) -> dict[str, str]:
    """A file a CPU; in its name, __ stands for a folder."""
    named = {name.replace("__", "/"): f"{text}\n" for name, text in files.items()}
    return {f"{CPU}/cpu{number}/{name}": text for number in range(count) for name, text in named.items()}


def l3(groups: dict[str, str]) -> dict[str, str]:
    """The caches' files; `groups` maps CPU lists to sizes."""
    return {
        f"{CPU}/cpu{cpu}/cache/index3/{name}": f"{text}\n"
        for cpus, size in groups.items()
        for cpu in (cpus.replace("-", ",").split(","))
        for name, text in (("level", "3"), ("size", size), ("shared_cpu_list", cpus))
    }


def lscpu(**told: str) -> str:
    """What lscpu --json would print; in names, _ stands for a blank."""
    return json.dumps({"lscpu": [{"field": f"{name.replace('_', ' ')}:", "data": data} for name, data in told.items()]})


def facts(topology: str, files=(), outputs=(), **changes) -> Facts:
    texts = {
        "/proc/meminfo": "MemTotal: 527977564 kB\nMemAvailable: 500000000 kB\nSwapTotal: 4194304 kB\n"
        "SwapFree: 4190208 kB\nHugePages_Total:      16\nHugepagesize:       2048 kB\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        **dict(files),
    }
    return replace(
        Facts(
            hostname="node1",
            kernel="5.14.0-427.el9.x86_64",
            architecture="x86_64",
            usable_cpus=4,
            limits=Limits(4, None, 515603.1, None, 488281.2),
            open_files=(1024, 524288),
            files=texts,
            outputs={"cpus": topology, **dict(outputs)},
            file_systems={},
            loads=(0.1, 0.2, 0.3),
            cpu_percent=IDLE,
            window_s=1.0,
            os="Rocky Linux 9.4 (Blue Onyx)",
        ),
        **changes,
    )


XEON_8352Y = "Intel(R) Xeon(R) Platinum 8352Y CPU @ 2.20GHz"
XEON = facts(
    lscpu_parse(sockets=2, cores=2, siblings=2, l3_cores=2),
    files={
        "/proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0xd0003a5\n\nprocessor\t: 1\nmicrocode\t: 0xd0003a5\n\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
        **every_cpu(
            8,
            cpufreq__base_frequency="2200000",
            cpufreq__cpuinfo_max_freq="3400000",
            cpufreq__scaling_driver="intel_pstate",
            cpufreq__scaling_governor="performance",
        ),
        **l3({"0-1,4-5": "49152K", "2-3,6-7": "49152K"}),
        "/sys/devices/system/node/node0/cpulist": "0-1,4-5\n",
        "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       263856640 kB\nNode 0 MemFree: 1 kB\n",
        "/sys/devices/system/node/node1/cpulist": "2-3,6-7\n",
        "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       264120924 kB\n",
    },
    outputs={
        "lscpu": lscpu(Model_name=XEON_8352Y, Flags="fpu vme ht"),
        "vm": "none\n",
        "container": "none\n",
        "memory_modules": "# dmidecode 3.5\n\nHandle 0x0037, DMI type 17, 92 bytes\nMemory Device\n"
        "\tSize: 32 GB\n\tType: DDR4\n\tSpeed: 3200 MT/s\n\tConfigured Memory Speed: 3200 MT/s\n\n"
        "Handle 0x0038, DMI type 17, 92 bytes\nMemory Device\n"
        "\tSize: 32 GB\n\tType: DDR4\n\tSpeed: 3200 MT/s\n\tConfigured Memory Speed: 2933 MT/s\n\n"
        "Handle 0x0039, DMI type 17, 92 bytes\nMemory Device\n"
        "\tSize: No Module Installed\n\tType: Unknown\n\tSpeed: Unknown\n",
    },
)
EPYC_7763 = {"lscpu": lscpu(Model_name="AMD EPYC 7763 64-Core Processor")}
EPYC = facts(
    lscpu_parse(sockets=1, cores=4, siblings=1, l3_cores=2),
    files={
        f"{CPU}/cpufreq/boost": "1\n",
        **every_cpu(
            4,
            acpi_cppc__nominal_freq="2450",
            cpufreq__cpuinfo_max_freq="3529052",
            cpufreq__scaling_driver="acpi-cpufreq",
            cpufreq__scaling_governor="schedutil",
        ),
        **l3({"2-3": "32768K", "0-1": "32768K"}),
    },
    outputs=EPYC_7763,
)
# as newer versions print it: fields within fields
NESTED = [{"field": "Model name:", "data": "Neoverse-V1", "children": [{"field": "Flags:", "data": "fp asimd"}]}]
NESTED += [
    {"field": "BIOS Model name:", "data": "AWS Graviton3 N/A CPU @ 2.6GHz"},
    {"field": "Vendor ID:", "data": None},
]
GRAVITON = facts(
    "# CPU,Core,Socket,Node\n0,0,0,\n1,1,0,\n",
    outputs={
        "lscpu": json.dumps({"lscpu": NESTED}),
        "vm": "amazon\n",
    },
    architecture="aarch64",
)
GUEST = facts(
    "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n",
    files={"/proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0x1000065\n\n"},
    outputs={
        "lscpu": lscpu(Model_name="AMD EPYC", Flags="fpu hypervisor", Hypervisor_vendor="KVM"),
        "container": "docker\n",
    },
)


def test_two_sockets_of_xeon():
    record = this_host.describe(XEON)
    assert (record.sku, record.sockets, record.cores, record.threads, record.smt) == ("8352Y", 2, 4, 8, True)
    assert (record.base_mhz, record.top_mhz, record.boost) == (2200, 3400, True)
    assert (record.governor, record.frequency_driver, record.microcode) == ("performance", "intel_pstate", "0xd0003a5")
    assert record.l3 == (this_host.Cache("0-1,4-5", 48), this_host.Cache("2-3,6-7", 48))
    assert (record.l3_groups, record.l3_mib, record.numa_nodes) == (2, 96, 2)
    assert record.numa[1] == this_host.NumaNode(1, "2-3,6-7", 257930.6)
    assert (record.memory_modules, record.memory_speed_mts, record.memory_type) == (2, 2933, "DDR4")
    assert (record.virtual_machine, record.container) == ("none", "none")
    assert (record.memory_mib, record.swap_mib, record.swap_used_mib) == (515603.1, 4096, 4)
    assert (record.huge_pages, record.huge_page_mib, record.transparent_huge_pages) == (16, 2, "madvise")
    assert (record.os, record.open_files, record.open_files_hard) == ("Rocky Linux 9.4 (Blue Onyx)", 1024, 524288)


def test_epyc():
    record = this_host.describe(EPYC)
    assert (record.sku, record.cores, record.smt, record.l3_groups, record.l3_mib) == ("7763", 4, False, 2, 64)
    assert (record.base_mhz, record.top_mhz, record.boost) == (2450, 3529.052, True)
    assert [cache.cpus for cache in record.l3] == ["0-1", "2-3"]


def test_cores_of_two_kinds_are_named():
    intel = {"/sys/devices/cpu_core/cpus": "0-3\n", "/sys/devices/cpu_atom/cpus": "4-5\n"}
    found = this_host.describe(facts(lscpu_parse(1, 6, 1, 6), files=intel)).core_kinds
    assert found == (this_host.CoreKind("performance", "0-3"), this_host.CoreKind("efficiency", "4-5"))
    arm = {f"{CPU}/cpu{cpu}/cpu_capacity": "1024\n" if cpu > 3 else "430\n" for cpu in range(6)}
    assert [kind.cpus for kind in this_host.describe(facts("", files=arm)).core_kinds] == ["0-3", "4-5"]
    assert this_host.describe(facts("", files=dict.fromkeys(arm, "1024\n"))).core_kinds == ()


def test_a_cpuset_of_halves_of_cores_is_recorded():
    """Of four cores with two threads each: two whole, one half, one not at all."""
    halves = facts(lscpu_parse(1, 4, 2, 4), affinity=frozenset({0, 1, 2, 4, 5}))
    found = this_host.describe(halves)
    assert (found.usable_cpus, found.partial_cores) == ("0-2,4-5", 1)
    assert this_host.describe(replace(halves, affinity=frozenset(range(8)))).partial_cores == 0


def test_arm():
    record = this_host.describe(GRAVITON)
    assert (record.cpu_model, record.sku, record.cores) == ("Neoverse-V1", "Graviton3", 2)
    assert (record.virtual_machine, record.numa_nodes, record.l3_groups, record.l3_mib) == ("amazon", None, None, None)


def test_the_firmware_of_a_guest_names_no_product():
    assert this_host.short_name("AMD EPYC 7702P 64-Core Processor", "pc-q35-8.0  CPU @ 2.0GHz") == "7702P"
    assert this_host.short_name("Neoverse-N1", "virt-rhel9") == "Neoverse-N1"


@pytest.mark.parametrize(
    ("architecture", "flags", "vm"),
    [("x86_64", "fpu ht", "none"), ("x86_64", "fpu ht hypervisor", None), ("aarch64", "fp asimd", None)],
)
def test_an_x86_cpu_tells_guests_by_a_flag_without_a_name(architecture, flags, vm):
    told = facts("", outputs={"lscpu": lscpu(Flags=flags)}, architecture=architecture)
    assert this_host.describe(told).virtual_machine == vm


def test_a_guest_whose_cpu_has_no_name_is_known_by_its_numbers():
    numbers = {"CPU_family": "6", "Model": "143", "Stepping": "8"}
    first, again, other = (
        this_host.describe(
            facts("", outputs={"lscpu": lscpu(Model_name="Intel Xeon Processor", Flags=flags, **numbers)})
        )
        for flags in ("fpu vme ht", "ht fpu vme", "fpu vme ht amx_tile")
    )
    assert (first.cpu_family, first.cpu_model_number, first.cpu_stepping) == ("6", "143", "8")
    assert first.cpu_flags == again.cpu_flags != other.cpu_flags


def test_what_a_guest_is_not_told_is_not_guessed():
    record = this_host.describe(GUEST)
    assert (record.virtual_machine, record.container) == ("kvm", "docker")
    hidden = ("sku", "base_mhz", "top_mhz", "governor", "boost", "microcode", "memory_speed_mts", "l3_mib")
    assert [getattr(record, name) for name in hidden] == [None] * len(hidden)


def test_a_machine_that_says_nothing():
    record = this_host.describe(replace(facts(""), files={}, os=None, loads=(), cpu_percent=dict.fromkeys(IDLE, 0.0)))
    told = {name for name, value in asdict(record).items() if value not in (None, (), {})}
    assert told == {
        *("hostname", "architecture", "kernel", "usable_threads", "open_files", "open_files_hard", "load"),
    }
    assert {name for name, value in asdict(record.load).items() if value is not None} == {"window_s"}


@pytest.mark.parametrize(
    ("files", "base", "top"),
    [
        # acpi-cpufreq on Intel: 1 MHz above the base stands for all boost frequencies
        (every_cpu(2, cpufreq__scaling_driver="acpi-cpufreq", cpufreq__cpuinfo_max_freq="2201000"), 2200, None),
        # with boost off, the base is the top
        (
            {f"{CPU}/cpufreq/boost": "0\n"}
            | every_cpu(2, cpufreq__scaling_driver="acpi-cpufreq", cpufreq__cpuinfo_max_freq="2201000"),
            2200,
            2200,
        ),
        # some firmware gives a frequency of 0
        (every_cpu(2, acpi_cppc__nominal_freq="0"), 2200, None),
        # CPUs that differ: the lowest base, the highest top
        (
            {
                f"{CPU}/cpu0/cpufreq/base_frequency": "2700000\n",
                f"{CPU}/cpu1/cpufreq/base_frequency": "2100000\n",
                f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "3900000\n",
                f"{CPU}/cpu1/cpufreq/cpuinfo_max_freq": "3500000\n",
            },
            2100,
            3900,
        ),
    ],
)
def test_frequencies(files, base, top):
    record = this_host.describe(facts("", files=files, outputs={"lscpu": lscpu(Model_name=XEON_8352Y)}))
    assert (record.base_mhz, record.top_mhz) == (base, top)


def test_a_top_frequency_without_a_base_to_hold_it_against():
    epyc = every_cpu(2, cpufreq__scaling_driver="acpi-cpufreq", cpufreq__cpuinfo_max_freq="2450000")
    assert this_host.describe(facts("", files=epyc, outputs=EPYC_7763)).top_mhz is None


def test_governors_that_differ_are_all_named():
    governors = enumerate(("powersave", "performance", "performance"))
    mixed = {f"{CPU}/cpu{number}/cpufreq/scaling_governor": f"{name}\n" for number, name in governors}
    assert this_host.describe(facts("", files=mixed)).governor == "performance,powersave"


# ---- load before the start -----------------------------------------------------------------------------


def test_work_is_all_but_idling_and_waiting_for_disks():
    spent = {"user": 12.5, "system": 5.0, "iowait": 4.8, "softirq": 1.5, "steal": 4.8, "idle": 71.4}
    load = this_host.describe(
        facts("", cpu_percent=IDLE | spent | {"guest": 10.0})
    ).load  # guests' time is within user's
    assert (load.busy_share, load.iowait_share, load.steal_share) == (0.238, 0.048, 0.048)


@pytest.mark.parametrize(
    ("cpus", "summed_s", "threshold", "busy"),
    [
        (2, 0.1, 0.1, False),  # a tenth of a CPU: not more than that
        (2, 0.11, 0.1, True),
        (64, 0.5, 0.5, False),  # half a CPU
        (64, 1.0, 0.5, True),  # one job on one of 64 CPUs
    ],
)
def test_a_busy_node_is_said(cpus, summed_s, threshold, busy):
    percent = 100 * summed_s / cpus
    spent = IDLE | {"idle": 100 - percent, "user": percent}
    load = this_host.describe(facts(lscpu_parse(1, cpus, 1, cpus), cpu_percent=spent)).load
    assert (load.threshold_cpus, load.busy, load.busy_cpus) == (threshold, busy, pytest.approx(summed_s, abs=0.01))
    assert (load.load_1min, load.load_5min, load.load_15min) == (0.1, 0.2, 0.3)


# ---- file systems and control groups -------------------------------------------------------------------


def findmnt(*mounts: tuple[str, str, str, str, str]) -> str:
    names = ("target", "source", "fstype", "options", "maj:min")
    return json.dumps({"filesystems": [dict(zip(names, mount, strict=True)) for mount in mounts]})


@pytest.fixture
def devices(tmp_path):
    """The kernel's folders of block devices: a disk that rotates, and a partition of one that does not."""
    for disk, number, flag in (("sdb", "8:16", 1), ("nvme0n1", "259:1", 0)):
        (tmp_path / "block" / disk / "queue").mkdir(parents=True)
        (tmp_path / "block" / disk / "queue" / "rotational").write_text(f"{flag}\n")
        (tmp_path / number).symlink_to(tmp_path / "block" / disk)
    (tmp_path / "block" / "nvme0n1" / "nvme0n1p2").mkdir()
    (tmp_path / "259:2").symlink_to(tmp_path / "block" / "nvme0n1" / "nvme0n1p2")
    return tmp_path


def test_a_disk(devices):
    told = findmnt(("/data disk", "/dev/sdb", "xfs", "rw,noatime,attr2,inode64", "8:16"))
    work = file_systems.described(told, 1000, 400, devices)
    assert (work.type, work.mount, work.device, work.rotational) == ("xfs", "/data disk", "sdb", True)
    assert (work.size_gib, work.free_gib) == (1000, 400)
    assert work.options == ("rw", "noatime", "attr2", "inode64")
    hidden = [
        this_host.describe(facts("", outputs={"vm": vm}, file_systems={"work": work})) for vm in ("none\n", "kvm\n")
    ]
    assert [found.file_systems["work"].rotational for found in hidden] == [True, None]  # a hypervisor says so of any


def test_a_partition(devices):
    temp = file_systems.described(findmnt(("/", "/dev/nvme0n1p2", "ext4", "rw", "259:2")), 100, 50, devices)
    assert (temp.type, temp.device, temp.rotational) == ("ext4", "nvme0n1p2", False)


def test_a_server(devices):
    options = "rw,relatime,vers=4.2,rsize=1048576,addr=10.0.0.1,clientaddr=10.0.0.2"
    home = file_systems.described(findmnt(("/home", "server:/home", "nfs4", options, "0:50")), 10, 5, devices)
    assert (home.type, home.device, home.rotational) == ("nfs4", None, None)
    assert home.options == ("rw", "relatime", "vers=4.2", "rsize=1048576")  # no addresses


def test_of_mounts_on_top_of_each_other_the_last_one_holds(devices):
    told = findmnt(("/tmp", "tmpfs", "tmpfs", "rw", "0:60"), ("/tmp", "tmpfs", "tmpfs", "rw,noexec", "0:61"))
    assert file_systems.described(told, 1, 1, devices).options == ("rw", "noexec")


def test_without_findmnt_sizes_are_known_alone(devices):
    found = file_systems.described("", 10, 5, devices)
    assert found == this_host.FileSystem(size_gib=10, free_gib=5)


def test_limits_are_those_that_the_launcher_knows():
    limited = this_host.describe(facts("", limits=Limits(2, 2.5, 2048.0, 2048.0, 1000.0)))
    assert (limited.cpu_quota_cpus, limited.memory_limit_mib) == (2.5, 2048)
    free = this_host.describe(facts(""))
    assert (free.cpu_quota_cpus, free.memory_limit_mib) == (None, None)


# ---- this machine --------------------------------------------------------------------------------------


def test_this_machine(tmp_path):
    record = this_host.look({"work": tmp_path}, window_s=0.05)
    assert record.hostname == os.uname().nodename
    assert record.usable_threads == len(os.sched_getaffinity(0))
    assert record.memory_mib > record.memory_available_mib > 0
    assert record.threads >= record.cores >= record.sockets >= 1
    work = record.file_systems["work"]
    assert tmp_path.is_relative_to(work.mount)
    assert 0 < work.free_gib < work.size_gib
    assert 0 <= record.load.busy_share <= 1
    assert json.loads(json.dumps(asdict(record)))["file_systems"]["work"]["type"] == work.type


def test_this_machine_without_any_tool(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("lscpu") is None
    record = this_host.look({"work": Path("/")}, window_s=0.05)
    assert (record.memory_speed_mts, record.container, record.sockets) == (None, None, None)
    assert record.memory_mib > 0
    assert record.file_systems["work"].size_gib > 0
