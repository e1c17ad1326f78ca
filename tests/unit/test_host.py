"""The host record: what it makes of what machines say of themselves, recorded here in short."""

import json
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath

import pytest

from gpd.machines import host, machine
from gpd.machines.launcher import Limits
from gpd.machines.mounts import mount_of, parse_mounts
from gpd.machines.sku import sku, stated_mhz

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

IDLE = "cpu  1000 10 200 80000 50 0 5 20 0 0\ncpu0 1 2 3 4\n"


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


def seen(model: str, topology: str, files=(), answers=(), **changes) -> machine.Seen:
    texts = {
        "/etc/os-release": 'NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n',
        "/proc/loadavg": "0.10 0.20 0.30 1/999 12345\n",
        "/proc/meminfo": "MemTotal: 527977564 kB\nMemAvailable: 500000000 kB\nSwapTotal: 4194304 kB\n"
        "SwapFree: 4190208 kB\nHugePages_Total:      16\nHugepagesize:       2048 kB\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        **dict(files),
    }
    return replace(
        machine.Seen(
            hostname="node1",
            kernel="5.14.0-427.el9.x86_64",
            architecture="x86_64",
            topology=replace(machine.parse_lscpu(topology), model=model),
            usable_cpus=4,
            limits=Limits(4, None, 515603.1, None, 488281.2),
            open_files=(1024, 524288),
            files=texts,
            answers=dict(answers),
            folders={},
            stat=(IDLE, IDLE.replace("80000", "80400")),
            window_s=1.0,
        ),
        **changes,
    )


XEON = seen(
    "Intel(R) Xeon(R) Platinum 8352Y CPU @ 2.20GHz",
    lscpu_parse(sockets=2, cores=2, siblings=2, l3_cores=2),
    files={
        "/proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0xd0003a5\nflags\t\t: fpu vme ht\n\n"
        "processor\t: 1\nmicrocode\t: 0xd0003a5\n\n",
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
    answers={
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
EPYC = seen(
    "AMD EPYC 7763 64-Core Processor",
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
)
GRAVITON = seen(
    "",
    "# CPU,Core,Socket,Node\n0,0,0,\n1,1,0,\n",
    answers={
        "lscpu": "Architecture:          aarch64\nVendor ID:             ARM\n  Model name:          Neoverse-V1\n"
        "    BIOS Model name:     AWS Graviton3 N/A CPU @ 2.6GHz\n",
        "vm": "amazon\n",
    },
    architecture="aarch64",
)
GUEST = seen(
    "AMD EPYC",
    "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n0,0,0,0,,0,0,0,0\n1,1,0,0,,1,1,1,0\n",
    files={"/proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0x1000065\nflags\t\t: fpu hypervisor\n\n"},
    answers={
        "lscpu": "Model name:              AMD EPYC\nHypervisor vendor:       KVM\nVirtualization type:     full\n",
        "vm": "Failed to check for virtualization\n",
        "container": "docker\n",
    },
)


def test_two_sockets_of_xeon():
    record = host.describe(XEON)
    assert (record.sku, record.sockets, record.cores, record.threads, record.smt) == ("8352Y", 2, 4, 8, True)
    assert (record.base_mhz, record.top_mhz, record.boost) == (2200, 3400, True)
    assert (record.governor, record.frequency_driver, record.microcode) == ("performance", "intel_pstate", "0xd0003a5")
    assert record.l3 == (host.Cache("0-1,4-5", 48), host.Cache("2-3,6-7", 48))
    assert (record.l3_groups, record.l3_mib, record.numa_nodes) == (2, 96, 2)
    assert record.numa[1] == host.NumaNode(1, "2-3,6-7", 257930.6)
    assert (record.memory_modules, record.memory_speed_mts, record.memory_type) == (2, 2933, "DDR4")
    assert (record.virtual_machine, record.container) == ("none", "none")
    assert (record.memory_mib, record.swap_mib, record.swap_used_mib) == (515603.1, 4096, 4)
    assert (record.huge_pages, record.huge_page_mib, record.transparent_huge_pages) == (16, 2, "madvise")
    assert (record.os, record.open_files, record.open_files_hard) == ("Rocky Linux 9.4 (Blue Onyx)", 1024, 524288)


def test_epyc():
    record = host.describe(EPYC)
    assert (record.sku, record.cores, record.smt, record.l3_groups, record.l3_mib) == ("7763", 4, False, 2, 64)
    assert (record.base_mhz, record.top_mhz, record.boost) == (2450, 3529.052, True)
    assert [cache.cpus for cache in record.l3] == ["0-1", "2-3"]


def test_arm():
    record = host.describe(GRAVITON)
    assert (record.cpu_model, record.sku, record.cores) == ("Neoverse-V1", "Graviton3", 2)
    assert (record.virtual_machine, record.numa_nodes, record.l3_groups, record.l3_mib) == ("amazon", None, None, None)


def test_the_firmware_of_a_guest_names_no_product():
    assert host.short_name("AMD EPYC 7702P 64-Core Processor", "pc-q35-8.0  CPU @ 2.0GHz") == "7702P"
    assert host.short_name("Neoverse-N1", "virt-rhel9") == "Neoverse-N1"


def test_an_x86_cpu_tells_guests_by_a_flag_without_a_name():
    flags = {name: {"/proc/cpuinfo": f"processor: 0\nflags: {name}\n"} for name in ("fpu ht", "fpu ht hypervisor")}
    found = [host.describe(seen("", "", files=files)).virtual_machine for files in flags.values()]
    assert found == ["none", None]


def test_what_a_guest_is_not_told_is_not_guessed():
    record = host.describe(GUEST)
    assert (record.virtual_machine, record.container) == ("kvm", "docker")
    hidden = ("sku", "base_mhz", "top_mhz", "governor", "boost", "microcode", "memory_speed_mts", "l3_mib")
    assert [getattr(record, name) for name in hidden] == [None] * len(hidden)


def test_a_machine_that_says_nothing():
    record = host.describe(replace(seen("", ""), files={}, stat=("", "")))
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
    record = host.describe(seen("Intel(R) Xeon(R) Platinum 8352Y CPU @ 2.20GHz", "", files=files))
    assert (record.base_mhz, record.top_mhz) == (base, top)


def test_a_top_frequency_without_a_base_to_hold_it_against():
    epyc = every_cpu(2, cpufreq__scaling_driver="acpi-cpufreq", cpufreq__cpuinfo_max_freq="2450000")
    assert host.describe(seen("AMD EPYC 7763 64-Core Processor", "", files=epyc)).top_mhz is None


def test_governors_that_differ_are_all_named():
    governors = enumerate(("powersave", "performance", "performance"))
    mixed = {f"{CPU}/cpu{number}/cpufreq/scaling_governor": f"{name}\n" for number, name in governors}
    assert host.describe(seen("", "", files=mixed)).governor == "performance,powersave"


# ---- load before the start -----------------------------------------------------------------------------


def test_cpu_shares():
    after = "cpu  1060 10 210 80300 70 5 10 40 60 0\n"
    # user 60, system 10, idle 300, iowait 20, irq 5, softirq 5, steal 20: 100 of 420 ticks are work
    assert host.cpu_shares(IDLE, after) == {"busy": 0.2381, "iowait": 0.0476, "steal": 0.0476}
    assert host.cpu_shares(IDLE, IDLE) == {}


@pytest.mark.parametrize(
    ("cpus", "ticks", "threshold", "busy"),
    [
        (2, 10, 0.1, False),  # 10 of 200 ticks are a tenth of a CPU: not more than that
        (2, 11, 0.1, True),
        (64, 50, 0.5, False),  # half a CPU
        (64, 100, 0.5, True),  # one job on one of 64 CPUs
    ],
)
def test_a_busy_node_is_said(cpus, ticks, threshold, busy):
    total = 100 * cpus
    stat = (IDLE, IDLE.replace("80000", str(80000 + total - ticks)).replace("cpu  1000", f"cpu  {1000 + ticks}"))
    load = host.describe(seen("", lscpu_parse(1, cpus, 1, cpus), stat=stat)).load
    assert (load.threshold_cpus, load.busy, load.busy_cpus) == (threshold, busy, pytest.approx(ticks / 100, abs=0.01))
    assert (load.load_1min, load.load_5min, load.load_15min) == (0.1, 0.2, 0.3)


# ---- file systems and control groups -------------------------------------------------------------------

MOUNTS = """\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
30 22 0:40 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
40 22 8:16 / /data\\040disk rw,noatime shared:2 - xfs /dev/sdb rw,attr2,inode64
50 22 0:50 /home /home rw,relatime - nfs4 server:/home rw,vers=4.2,rsize=1048576,addr=10.0.0.1,clientaddr=10.0.0.2
60 22 0:60 / /tmp rw,nosuid - tmpfs tmpfs rw,size=8g
61 60 0:61 / /tmp rw,noexec - tmpfs tmpfs rw,size=9g
"""


def test_the_mount_that_holds_a_folder():
    mounts = parse_mounts(MOUNTS)
    paths = ("/", "/srv", "/data disk/a", "/data", "/home/x")
    points = {path: str(mount_of(PurePosixPath(path), mounts).point) for path in paths}
    assert points == {"/": "/", "/srv": "/", "/data disk/a": "/data disk", "/data": "/", "/home/x": "/home"}
    assert mount_of(PurePosixPath("/tmp/x"), mounts).device == "0:61"  # mounted over the other
    assert mount_of(PurePosixPath("/x"), []) is None


def file_systems(vm: str) -> dict[str, host.FileSystem]:
    folders = {
        "work": machine.Folder("/data disk/runs", 1000, 400, "8:16"),
        "temp": machine.Folder("/var/tmp", 100, 50, "259:2"),
        "home": machine.Folder("/home/x", 10, 5, None),
    }
    files = {
        "/proc/self/mountinfo": MOUNTS,
        "/sys/dev/block/8:16/uevent": "MAJOR=8\nMINOR=16\nDEVNAME=sdb\nDEVTYPE=disk\n",
        "/sys/dev/block/8:16/queue/rotational": "1\n",
        "/sys/dev/block/259:2/uevent": "DEVNAME=nvme0n1p2\nDEVTYPE=partition\n",
        "/sys/dev/block/259:2/../queue/rotational": "0\n",
    }
    return host.describe(seen("", "", files=files, answers={"vm": vm}, folders=folders)).file_systems


def test_file_systems():
    found = file_systems(vm="none\n")
    work, temp, home = found["work"], found["temp"], found["home"]
    assert (work.type, work.mount, work.device, work.rotational) == ("xfs", "/data disk", "sdb", True)
    assert (work.size_gib, work.free_gib) == (1000, 400)
    assert work.options == ("rw", "noatime", "attr2", "inode64")
    assert (temp.type, temp.device, temp.rotational) == ("ext4", "nvme0n1p2", False)
    assert (home.type, home.device, home.rotational) == ("nfs4", None, None)
    assert home.options == ("rw", "relatime", "vers=4.2", "rsize=1048576")  # no addresses


def test_a_hypervisor_says_of_any_disk_that_it_rotates():
    found = file_systems(vm="kvm\n")
    assert (found["work"].rotational, found["temp"].rotational) == (None, False)


def test_limits_are_those_that_the_launcher_knows():
    limited = host.describe(seen("", "", limits=Limits(2, 2.5, 2048.0, 2048.0, 1000.0)))
    assert (limited.cpu_quota_cpus, limited.memory_limit_mib) == (2.5, 2048)
    free = host.describe(seen("", ""))
    assert (free.cpu_quota_cpus, free.memory_limit_mib) == (None, None)


# ---- this machine --------------------------------------------------------------------------------------


def test_this_machine(tmp_path):
    record = host.look({"work": tmp_path}, window_s=0.05)
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
    record = host.look({"work": Path("/")}, window_s=0.05)
    assert (record.memory_speed_mts, record.container, record.sockets) == (None, None, None)
    assert record.memory_mib > 0
    assert record.file_systems["work"].mount == "/"
