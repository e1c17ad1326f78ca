"""How the measuring programs are called, and what is read of their words.

tests/data/node has what is read of the words of likwid-bench 5.2.2 and fio 3.33 on a virtual machine of two CPUs.
"""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT

from gpd.errors import GpdError
from gpd.machines import facts, memory_modules, rapl
from gpd.machines.this_host import VULNERABILITIES, describe, mitigations
from gpd.node import bandwidth, clocks, disks, latency, node_measuring, node_plan, test_bed
from gpd.node.bandwidth import Likwid
from gpd.records.host import Cache, FileSystem, Host, Load, NumaNode
from gpd.records.node import Core, Module

DATA = ROOT / "tests" / "data" / "node"
TWO = [Core((0,), 0, 0, 0), Core((1,), 0, 0, 0)]
SMT = [Core((cpu, cpu + 4), cpu // 2, cpu // 2, 0) for cpu in range(4)]  # two NUMA nodes of two cores with siblings
DOMAINS = {"N": (0, 4, 1, 5, 2, 6, 3, 7), "M0": (0, 4, 1, 5), "M1": (2, 6, 3, 7)}  # as likwid-bench orders them
# eight cores with siblings, then sixteen without: a hybrid CPU, or a cpuset of halves of cores
HYBRID = [Core((cpu, cpu + 1), 0, 0, 0) for cpu in range(0, 16, 2)] + [Core((cpu,), 0, 0, 0) for cpu in range(16, 32)]
TOOL = Likwid("5.2.2", DOMAINS, {"triad": "triad_avx", "copy": "copy_avx"}, streams=4)


def told(name):
    return (DATA / name).read_text()


def planned(cores, **more):
    host = Host(l3=(Cache("0-7", 32.0),), numa=(NumaNode(0, "0-7", 64_000.0), NumaNode(1, "0-7", 64_000.0)))
    return node_plan.make(cores, host, 64_000.0, **more)


def places(made):
    return {place.scope: place for place in made.places}


# ---- likwid-bench


def test_its_groups_of_cpus():
    assert bandwidth.parse_domains(told("likwid-bench-p.txt")) == dict.fromkeys(("N", "S0", "D0", "C0", "M0"), (0, 1))


def test_its_kernels():
    known = bandwidth.parse_kernels(told("likwid-bench-a.txt"))
    assert {"triad", "triad_sse", "triad_avx", "triad_avx512", "copy_avx512"} <= known
    assert "Double" not in known


@pytest.mark.parametrize(
    ("flags", "kernel"),
    [
        ("sse2 avx avx2 avx512f", "triad_avx512"),
        ("sse2 avx avx2", "triad_avx"),
        ("sse2", "triad_sse"),
        ("fp asimd", "triad"),
    ],
)
def test_the_widest_vectors_that_the_cpu_has(flags, kernel):
    assert bandwidth.widest("triad", flags.split(), bandwidth.parse_kernels(told("likwid-bench-a.txt"))) == kernel


def test_a_kernel_that_it_does_not_have_is_passed_over():
    assert bandwidth.widest("triad", ["avx512f", "avx"], {"triad", "triad_avx"}) == "triad_avx"
    with pytest.raises(GpdError, match="no kernel triad"):
        bandwidth.widest("triad", ["avx"], {"copy"})


def test_its_figure_and_where_it_ran():
    text = told("likwid-bench-triad.txt")
    assert bandwidth.parse_rate(text) == float(re.search(r"MByte/s:\s+(\S+)", text)[1]) > 1000
    assert bandwidth.parse_cpus_used(text) == {0, 1}


@pytest.mark.parametrize("text", ["", "MByte/s:\t\tnan\n", "MByte/s:\t\t0.00\n", "MFlops/s:\t\t5.0\n"])
def test_no_figure_is_no_zero(text):
    with pytest.raises(GpdError, match="printed no bandwidth"):
        bandwidth.parse_rate(text)


def test_a_thread_a_core_on_a_group_with_siblings():
    command = bandwidth.place_command(places(planned(SMT))["numa"], "triad_avx", DOMAINS)
    size = int(places(planned(SMT))["numa"].set_mib * 1024**2 / 1000)
    assert command == ["likwid-bench", "-t", "triad_avx", "-s", "1", "-W", f"M0:{size}kB:2:1:2"]


def test_one_core_is_the_first_of_a_group():
    command = bandwidth.place_command(places(planned(SMT))["core"], "triad_avx", DOMAINS)
    assert command[-1].startswith("N:")
    assert command[-1].endswith("kB:1:1:2")


def test_cores_of_unlike_threads_have_no_thread_each():
    found = places(planned(HYBRID))
    with pytest.raises(GpdError, match="cores with 1 and 2 CPUs"):
        bandwidth.place_command(found["node"], "triad_avx", {"N": tuple(range(32))})
    assert bandwidth.place_command(found["core"], "triad_avx", {"N": tuple(range(32))})[-1].endswith("kB:1:1:2")


def test_streams_lie_in_the_memory_of_the_other_node():
    remote = next(one for one in planned(SMT).remotes if (one.cpus_of, one.memory_of) == (0, 1))
    command = bandwidth.remote_command(remote, TOOL)
    assert re.fullmatch(r"M0:\d+kB:2:1:2-0:M1,1:M1,2:M1,3:M1", command[-1])
    assert command[-2] == "-w"


def test_a_group_that_it_does_not_know_is_no_other_group():
    cut = {"N": (1,), "S0": (1,), "M0": (0,)}  # in a cpuset of CPU 1 alone it names CPU 0 in M0
    with pytest.raises(GpdError, match="no group of the CPUs 0-1"):
        bandwidth.tag_of(frozenset({0, 1}), cut)
    assert bandwidth.tag_of(frozenset({1}), cut) == "N"


def answering(monkeypatch, answer):
    """likwid-bench in the hands of a test: it notes what is asked for."""
    asked = []

    def output_of(command, timeout_s):
        asked.append(command)
        return answer(command)

    monkeypatch.setattr(bandwidth, "output_of", output_of)
    return asked


def output(rate, cpus):
    ran = "".join(
        f"Group: 0 Thread {at} Global Thread {at} running on hwthread {cpu} -\n" for at, cpu in enumerate(cpus)
    )
    return f"{ran}MByte/s:\t\t{rate}\n"


def test_repeats_alternate_and_all_are_kept(monkeypatch):
    made = planned(TWO, repeats=3)
    rates = iter(range(1, 100))
    answer = {"1": (0,), "2": (0, 1)}
    asked = answering(monkeypatch, lambda command: output(next(rates), answer[command[-1].split(":")[2]]))
    tool = replace(TOOL, domains={"N": (0, 1)})
    found = bandwidth.measure(made, tool, missing := {}, lambda what: None)
    assert missing == {}
    assert [command[2] for command in asked] == ["triad_avx", "copy_avx"] * 6
    assert {place.scope: place.mb_s for place in found.places if not place.same_as} == {
        "core": {"triad": (1.0, 5.0, 9.0), "copy": (2.0, 6.0, 10.0)},
        "l3": {"triad": (3.0, 7.0, 11.0), "copy": (4.0, 8.0, 12.0)},
    }
    assert found.place("node").ran_on == "0-1"


def test_a_run_on_other_cpus_is_no_figure(monkeypatch):
    answering(monkeypatch, lambda command: output(5.0, (1,)))
    found = bandwidth.measure(planned(TWO), replace(TOOL, domains={"N": (0, 1)}), missing := {}, lambda what: None)
    assert "ran on CPUs 1, not on 1 of 0" in missing["bandwidth of core"]
    assert found.place("core").mb_s == {}


def test_what_failed_is_not_tried_again(monkeypatch):
    def fail(command):
        raise GpdError("likwid-bench: exit status 1: no")

    asked = answering(monkeypatch, fail)
    bandwidth.measure(planned(SMT), TOOL, missing := {}, lambda what: None)
    assert len(asked) == len([place for place in planned(SMT).places if not place.same_as]) + 4  # pairs of two nodes
    assert missing["bandwidth of core"] == "likwid-bench: exit status 1: no"
    output = "NUMA node 0 on memory of 0, NUMA node 0 on memory of 1, NUMA node 1 on memory of 0 and 1 more"
    assert missing["remote memory"] == f"{output}: likwid-bench: exit status 1: no"


# ---- latency


def test_the_cache_line_goes_to_and_fro():
    """For real, between the first two CPUs that this process may use, or on one in turns."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU alone")
    cores = [Core((cpu,), 0, 0, 0) for cpu in cpus[:2]]
    found = latency.measure(planned(cores))
    ((first, second, ns, low, high),) = found.pairs
    assert (first, second) == (cpus[0], cpus[1])
    assert 1 < low <= ns <= high < 1e6


def test_the_median_of_a_pair_and_its_quartiles():
    samples = " ".join(str(ns) for ns in (50, 10, 30, 20, 40, 1e6, 35))
    assert latency.summarise([f"0 1 {samples}"], [(0, 1)]) == [(0, 1, 35.0, 20.0, 50.0)]


def test_a_pair_of_which_nothing_is_told_is_an_error():
    with pytest.raises(GpdError, match="measured 1 pairs, not 2"):
        latency.summarise(["0 1 5 5 5"], [(0, 1), (0, 2)])


def test_one_core_has_no_pair():
    with pytest.raises(GpdError, match="only one core"):
        latency.measure(planned(TWO[:1]))


# ---- clocks


@pytest.fixture
def powercap(tmp_path):
    """RAPL of one package with memory, whose cores count within the package, as the kernel lays it out."""
    zones = (("intel-rapl:0", "package-0", 900), ("intel-rapl:0:0", "core", 800), ("intel-rapl:0:1", "dram", 50))
    for zone, name, energy in zones:
        folder = tmp_path / zone
        folder.mkdir()
        for file, text in (("name", name), ("energy_uj", energy), ("max_energy_range_uj", 999)):
            (folder / file).write_text(f"{text}\n")
    return tmp_path


def test_energy_counters_are_found_by_name(powercap):
    found = rapl.find_counters(powercap)
    assert [counter.name for counter in found] == ["package-0", "package-0 dram"]
    assert rapl.read_counters(found) == {"package-0": 900, "package-0 dram": 50}


def test_a_counter_that_started_again_is_followed(powercap):
    counters = [replace(counter, wraps_at=999_999_999) for counter in rapl.find_counters(powercap)]
    before = {"package-0": 999_000_000, "package-0 dram": 10}
    after = {"package-0": 99_000_000, "package-0 dram": 10}
    assert clocks.watts(before, after, counters, seconds=2.0) == {"package-0": 50.0}  # what stood still is no zero


def test_the_energy_of_a_run_is_what_its_counters_counted_meanwhile(powercap):
    package, memory = powercap / "intel-rapl:0" / "energy_uj", powercap / "intel-rapl:0:1" / "energy_uj"
    with rapl.watch(powercap) as energy:
        package.write_text("100\n")  # it started again from 0 after 999
        energy.look()
        package.write_text("350\n")
        memory.write_text("70\n")
    assert energy.microjoules == {"package-0": 450, "package-0 dram": 20}
    package.write_text("999\n")
    assert energy.microjoules["package-0"] == 450, "what comes later is not the run's"
    with rapl.watch(powercap) as energy:
        package.unlink()
    assert energy.joules is None, "it could not be read to the end"
    with rapl.watch(powercap / "nowhere") as energy:
        pass
    assert energy.joules is None


def test_the_hardwares_own_word_on_frequency_comes_first(tmp_path):
    for cpu in (0, 1):
        folder = tmp_path / f"cpu{cpu}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text("2000000\n")
    assert [path.name for path in clocks.frequency_files((0, 1), tmp_path)] == ["scaling_cur_freq"] * 2
    assert clocks.frequency_files((0, 2), tmp_path) == []
    for cpu in (0, 1):
        (tmp_path / f"cpu{cpu}" / "cpufreq" / "cpuinfo_cur_freq").write_text("2100000\n")
    assert [path.name for path in clocks.frequency_files((0, 1), tmp_path)] == ["cpuinfo_cur_freq"] * 2


def test_the_clocks_of_cores_of_unlike_threads(monkeypatch, tmp_path):
    loads = []
    monkeypatch.setattr(clocks.rapl, "find_counters", list)
    monkeypatch.setattr(clocks, "frequency_files", lambda cpus: [tmp_path / str(cpu) for cpu in cpus])
    monkeypatch.setattr(clocks, "_watch", lambda busy, cpus, load, counters: loads.append((cpus, load[-1])))
    tool = replace(TOOL, domains={"N": tuple(range(32))})
    clocks.measure(planned(HYBRID).cores, tool, False, {})
    assert loads[0] == ((0,), "N:16kB:1:1:1")
    assert loads[1] == ([*range(0, 16, 2), *range(16, 32)], "N:512kB:32:1:1")  # siblings are busy, too


def test_frequencies_are_looked_at_while_the_load_runs(monkeypatch, tmp_path):
    file = tmp_path / "scaling_cur_freq"
    file.write_text("2500000\n")
    monkeypatch.setattr(clocks, "frequency_files", lambda cpus: [file] * len(list(cpus)))
    monkeypatch.setattr(clocks, "SETTLE_S", 0.01)
    monkeypatch.setattr(clocks, "LOAD_S", 0.1)
    monkeypatch.setattr(clocks, "EVERY_S", 0.01)
    found = clocks._watch("one core", [0], [sys.executable, "-c", "import time; time.sleep(30)"], [])
    assert (found.mhz, found.low_mhz, found.high_mhz, found.watts) == (2500.0, 2500.0, 2500.0, {})
    assert found.source == "/sys: scaling_cur_freq"


# ---- test bed

DMIDECODE = """\
# dmidecode 3.4
Getting SMBIOS data from sysfs.
SMBIOS 3.3.0 present.

Handle 0x0022, DMI type 17, 92 bytes
Memory Device
\tSize: 32 GB
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL A
\tType: DDR4
\tSpeed: 3200 MT/s
\tManufacturer: Samsung
\tSerial Number: 12345678
\tPart Number: M393A4K40DB3-CWE
\tConfigured Memory Speed: 2933 MT/s

Handle 0x0025, DMI type 17, 92 bytes
Memory Device
\tSize: No Module Installed
\tLocator: DIMM 1
\tBank Locator: P0 CHANNEL A

Handle 0x0028, DMI type 17, 92 bytes
Memory Device
\tSize: 16384 MB
\tLocator: DIMM 0
\tBank Locator: P0 CHANNEL B
\tType: DDR4
\tSpeed: Unknown
\tPart Number: Not Specified
"""


def test_memory_modules_and_their_channels():
    found = memory_modules.modules(DMIDECODE)
    assert found[0] == Module(
        locator="DIMM 0",
        bank="P0 CHANNEL A",
        size_gib=32,
        type="DDR4",
        rated_mts=3200,
        configured_mts=2933,
        part="M393A4K40DB3-CWE",
    )
    assert (found[1].size_gib, found[1].rated_mts, found[1].part) == (16.0, None, None)
    assert len(found) == memory_modules.channels(found) == 2


@pytest.mark.parametrize(
    ("locators", "count"),
    [
        (["CPU1_DIMM_A1", "CPU1_DIMM_A2", "CPU2_DIMM_A1"], 2),
        (["P1-DIMMA1", "P1-DIMMB1"], 2),
        (["DIMM 0", "DIMM 1"], None),  # these tell no channel
        (["CPU1_DIMM_A1", "slot 7"], None),
        ([], None),
    ],
)
def test_channels_are_counted_where_all_slots_tell_them(locators, count):
    assert memory_modules.channels([Module(locator=locator) for locator in locators]) == count


def test_what_firmware_and_kernel_tell_of_the_machine():
    files = {
        "/sys/class/dmi/id/bios_vendor": "Firm  Inc.\n",
        "/sys/class/dmi/id/bios_version": "1.2\x1b[31m\n",
        "/sys/devices/system/cpu/vulnerabilities/mds": "Not affected\n",
        "/sys/devices/system/cpu/vulnerabilities/retbleed": "Mitigation: untrained return thunk\n",
    }
    told = replace(facts.gather({}, window_s=0), files=files, outputs={})
    found = test_bed.describe(told)
    assert (found.bios_vendor, found.bios_version, found.bios_date) == ("Firm Inc.", "1.2[31m", None)
    assert mitigations(files) == {"retbleed": "Mitigation: untrained return thunk"}
    assert (found.modules, found.channels) == ((), None)


def test_serial_numbers_are_nobodys_business():
    assert not [name for name in facts.DMI if "serial" in name or "uuid" in name]
    assert "12345678" not in str(memory_modules.modules(DMIDECODE))


# ---- disks


def test_fios_figures():
    found, jobs = disks.parse(told("fio.json"), 64, direct=True), json.loads(told("fio.json"))["jobs"]
    assert found.tool == "fio-3.33"
    assert (found.direct, found.size_mib) == (True, 64)
    kib_s = {job["jobname"]: job["write" if job["jobname"] == "write" else "read"]["bw"] for job in jobs}
    assert found.write_mib_s == pytest.approx(kib_s["write"] / 1024, rel=0.01)
    assert found.read_mib_s == pytest.approx(kib_s["read"] / 1024, rel=0.01)
    assert found.random_read_iops == pytest.approx(kib_s["random"] / 4, rel=0.01)  # of 4 KiB each
    assert 0 < found.random_read_us < jobs[2]["read"]["clat_ns"]["max"] / 1000


@pytest.mark.parametrize("text", ["", "{}", '{"jobs": []}', '{"jobs": 3, "fio version": "fio-3"}', "{"])
def test_words_of_fio_that_tell_nothing(text):
    with pytest.raises(GpdError, match="printed unknown JSON"):
        disks.parse(text, 64, direct=True)


def test_a_full_disk_is_left_alone():
    assert disks.size_mib(100_000) == disks.SIZE_MIB
    assert disks.size_mib(1000) == 50
    with pytest.raises(GpdError, match="too little is free: 100 MiB"):
        disks.size_mib(100)


@pytest.fixture
def fio(monkeypatch, tmp_path):
    """fio in the hands of a test: it may refuse direct input and output, as some file systems do."""
    asked = []
    refuses = []

    def output_of(command, cwd):
        asked.append(Path(cwd))
        if refuses and ("--direct=1" in command or "not installed" in refuses[0]):
            raise GpdError(refuses[0])
        return told("fio.json")

    monkeypatch.setattr(disks, "output_of", output_of)
    return asked, refuses


def on(**mounts):
    return Host(file_systems={name: FileSystem(mount=mount) for name, mount in mounts.items()})


def test_a_file_system_is_measured_once_and_left_clean(fio, tmp_path):
    folders = {"work": tmp_path, "temp": tmp_path}
    found = disks.measure(folders, on(work="/", temp="/"), missing := {})
    assert found["temp"].same_as == "work"
    assert (len(fio[0]), missing) == (1, {})
    assert fio[0][0].parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_where_direct_access_is_refused_the_page_cache_is_said(fio, tmp_path):
    fio[1].append("fio: exit status 1: Invalid argument")
    found = disks.measure({"work": tmp_path}, on(work="/"), {})
    assert found["work"].direct is False
    assert len(fio[0]) == 2


def test_without_fio_disks_are_missing(fio, tmp_path):
    fio[1].append("fio is not installed")
    assert disks.measure({"work": tmp_path}, on(work="/"), missing := {}) == {}
    assert missing == {"disk of work": "fio is not installed"}


def test_a_folder_that_is_gone_is_no_traceback(tmp_path):
    assert disks.measure({"work": tmp_path / "gone"}, on(), missing := {}) == {}
    assert "No such file" in missing["disk of work"]


# ---- the whole


def test_a_busy_node_is_refused_unless_asked_for():
    with pytest.raises(GpdError, match=r"1\.2 CPUs are at work on this node.*--busy"):
        node_measuring.refuse_busy(Host(load=Load(busy_cpus=1.2, busy=True)))
    node_measuring.refuse_busy(Host(load=Load(busy_cpus=0.01, busy=False)))
    node_measuring.refuse_busy(Host())  # nobody tells


@pytest.mark.parametrize(
    ("hostname", "folder"),
    [("node1.cluster", "node1.cluster"), ("a/b c", "a_b_c"), ("..", "unnamed"), (None, "unnamed"), ("", "unnamed")],
)
def test_each_machine_has_a_folder_of_its_own(hostname, folder):
    assert node_measuring.default_folder(hostname) == node_measuring.FOLDER / folder


def test_what_root_would_add_is_what_is_missing():
    missing = {"memory modules": "dmidecode is for a superuser", "energy": "for a superuser"}
    assert node_measuring.root_adds(missing, virtual=False) == [
        "memory modules and channels (dmidecode)",
        "watts of packages and memory (RAPL)",
    ]
    assert node_measuring.root_adds(missing, virtual=True) == ["memory modules and channels (dmidecode)"]
    assert node_measuring.root_adds({}, virtual=False) == []


def test_what_the_test_bed_does_not_tell_has_a_reason():
    told = test_bed.missing(Host(), test_bed.TestBed())
    assert set(told) == {"governor", "microcode", "memory modules", "BIOS", "BIOS profile"}
    assert all(told.values())
    whole = test_bed.TestBed(modules=(Module(locator="slot 7"),), bios_version="1", profile="performance")
    left = test_bed.missing(Host(governor="performance", microcode="0x1234"), whole)
    assert list(left) == ["memory channels"]


def test_this_machine_tells_its_threads_and_flaws(tmp_path):
    told = facts.gather({"work": tmp_path}, window_s=0)
    assert describe(told).threads == os.cpu_count()
    assert any(path.startswith(VULNERABILITIES) for path in told.files)
