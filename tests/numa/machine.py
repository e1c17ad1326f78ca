"""A virtual machine of several sockets, L3 groups and NUMA nodes, by QEMU, which runs one program and ends.

    with Machine.started(Shape(), folder, ["bash", "-c", "nproc >/share/cpus"]) as machine:
        machine.wait(timeout_s=60)

It has the host's files, read-only below a file system in its memory, and shares one folder with the host. Whatever
becomes of the program, of this process or of the guest's kernel: the machine is powered off.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / ".tools" / "numa"  # what scripts/setup/numa brings: vmlinuz, modules, busybox
INIT = Path(__file__).with_name("init")
COMMANDS = ("qemu-system-x86_64", "setpriv")
NEAR, FAR = 12, 32  # distances of NUMA nodes: of one socket, of two

# Debian's kernel, and a clock that emulation can keep; a kernel that panics ends the machine (-no-reboot)
KERNEL_LINE = "console=ttyS0 quiet loglevel=3 panic=-1 tsc=unstable mitigations=off nokaslr norandmaps audit=0"


class MachineError(Exception):
    """The machine did not do what it was started for: why, and its last words."""


def missing() -> list[str]:
    """What a machine lacks here."""
    lacking = [name for name in COMMANDS if not shutil.which(name)]
    lacking += [] if platform.machine() == "x86_64" else ["an x86_64 host, whose files it runs"]
    parts = (PARTS / name for name in ("vmlinuz", "busybox", "modules"))
    return lacking + [str(part.relative_to(ROOT)) for part in parts if not part.exists()]


@dataclass(frozen=True)
class Shape:
    """Sockets, L3 groups of each, cores of each of these, threads of each of these; NUMA nodes over all CPUs."""

    sockets: int = 2
    groups: int = 2
    cores: int = 4
    threads: int = 1
    nodes: int = 4
    node_mib: int = 512

    @property
    def cpus(self) -> int:
        return self.sockets * self.groups * self.cores * self.threads

    def core(self, cpu: int) -> int:
        return cpu // self.threads

    def l3(self, cpu: int) -> int:
        return self.core(cpu) // self.cores

    def numa(self, cpu: int) -> int:
        return cpu * self.nodes // self.cpus

    def socket(self, cpu: int) -> int:
        return self.l3(cpu) // self.groups

    def distance(self, one: int, other: int) -> int:
        """How far a NUMA node is from another one, in the unit of firmware tables: 10 is its own memory."""
        sockets = {node * self.sockets // self.nodes for node in (one, other)}
        return 10 if one == other else NEAR if len(sockets) == 1 else FAR

    def words(self) -> list[str]:
        """The machine in QEMU's words."""
        held = self.cpus // self.nodes
        smp = f"{self.cpus},sockets={self.sockets},dies={self.groups},cores={self.cores},threads={self.threads}"
        words = ["-smp", smp, "-m", f"{self.nodes * self.node_mib}M"]
        for node in range(self.nodes):
            cpus = f"{node * held}-{(node + 1) * held - 1}"
            words += ["-object", f"memory-backend-ram,id=m{node},size={self.node_mib}M"]
            words += ["-numa", f"node,nodeid={node},cpus={cpus},memdev=m{node}"]
        for one in range(self.nodes):
            for other in range(one + 1, self.nodes):
                words += ["-numa", f"dist,src={one},dst={other},val={self.distance(one, other)}"]
        return words


SMALLEST = Shape(sockets=1, groups=1, cores=2, nodes=1, node_mib=256)  # on one CPU Debian's kernel hangs in emulation


@dataclass
class Machine:
    """A running machine, and the folder that it shares with the host; `pid` is QEMU's."""

    folder: Path
    process: subprocess.Popen[bytes]

    @classmethod
    @contextlib.contextmanager
    def started(
        cls, shape: Shape, folder: Path, program: Sequence[str], kernel: Path = PARTS / "vmlinuz"
    ) -> Iterator[Machine]:
        """A machine that runs `program` in the folder, which it knows as /share; it is gone afterwards."""
        folder.mkdir(parents=True, exist_ok=True)
        path = os.environ.get("PATH", os.defpath)
        (folder / "program").write_text(f"export PATH={shlex.quote(path)} HOME=/root\nexec {shlex.join(program)}\n")
        pack_initrd(folder / "initrd")
        with (folder / "qemu.output").open("wb") as output:
            words = [*emulator(), *shape.words(), *devices(folder), "-kernel", str(kernel)]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        machine = cls(folder, process)
        try:
            yield machine
        finally:
            machine.power_off()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        """What stands on the machine's console, and what QEMU itself said."""
        files = (self.folder / "console", self.folder / "qemu.output")
        return "".join(file.read_text(errors="replace") for file in files if file.exists()).replace("\r", "")

    def wait(self, timeout_s: float) -> None:
        """Wait until the program has ended well, and the machine with it. Raises MachineError."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.power_off()
            raise MachineError(f"not over after {timeout_s:g} s, and powered off\n{self.last_words()}") from None
        status = self.folder / "status"
        if not status.exists():
            raise MachineError(f"the machine ended before its program did\n{self.last_words()}")
        if (code := status.read_text().strip()) != "0":
            raise MachineError(f"the machine's program ended with exit code {code}\n{self.last_words()}")

    def last_words(self, count: int = 100) -> str:
        return "\n".join(self.output.splitlines()[-count:])

    def power_off(self) -> None:
        """As pulling the plug does."""
        self.process.kill()
        self.process.wait()


def emulator() -> list[str]:
    """QEMU, which the kernel kills when this process ends, however it does."""
    words = ["setpriv", "--pdeathsig", "KILL", "--", "qemu-system-x86_64", "-machine", "pc"]
    words += ["-accel", "tcg,thread=multi"]  # that /dev/kvm opens is no proof that a guest comes up on it
    # Intel's way to tell of caches knows L3 groups of any size, and the kernel reads it by the vendor's name
    words += ["-cpu", "max,vendor=GenuineIntel,l3-cache=on"]
    return [*words, "-nodefaults", "-no-reboot", "-display", "none", "-monitor", "none"]


def devices(folder: Path) -> list[str]:
    """A console, the host's files and the shared folder."""
    shares = {
        "host": "path=/,readonly=on,multidevs=remap",
        "share": f"path={str(folder).replace(',', ',,')},multidevs=remap",
    }
    words = ["-serial", f"file:{folder}/console", "-initrd", f"{folder}/initrd", "-append", KERNEL_LINE]
    for tag, told in shares.items():
        words += ["-virtfs", f"local,{told},mount_tag={tag},security_model=none"]
    return words


def pack_initrd(path: Path) -> None:
    """Pack what the guest has before it has the host's files: busybox, modules of the kernel, and init."""
    tree = path.with_name("initrd.tree")
    shutil.copytree(PARTS / "modules", tree / "modules")
    for source, name in ((PARTS / "busybox", "bin/busybox"), (INIT, "init")):
        (tree / name).parent.mkdir(exist_ok=True)
        shutil.copy2(source, tree / name)
    names = "\n".join(str(file.relative_to(tree)) for file in sorted(tree.rglob("*")))
    packing = [PARTS / "busybox", "cpio", "-o", "-H", "newc"]
    packed = subprocess.run(packing, input=names.encode(), cwd=tree, check=True, capture_output=True)
    path.write_bytes(packed.stdout)
    shutil.rmtree(tree)
