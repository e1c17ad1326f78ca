"""What puts bwa's index on huge pages: what it asks the system for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, script

MAPPERS = script(ROOT / "workflow/scripts/resources/mappers.py").MAPPERS

# blocks of so many bytes as a program gets them; of each, whether the system was asked for huge pages
PROGRAM = """
import ctypes, re
c = ctypes.CDLL(None)
for function in (c.malloc, c.calloc, c.realloc):
    function.restype = ctypes.c_void_p
size = ctypes.c_size_t({size})

def asked(block):
    flags, here = "", False
    for line in open("/proc/self/smaps"):
        if span := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            here = int(span[1], 16) <= block < int(span[2], 16)
        elif here and line.startswith("VmFlags"):
            return "hg" in line.split()

print(asked(c.malloc(size)), asked(c.calloc(1, size)), asked(c.realloc(None, size)))
"""


@pytest.mark.parametrize(("size", "asked"), [(1 << 28, True), (1 << 20, False)])
@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="no huge pages here")
def test_large_blocks_are_asked_to_be_on_huge_pages(size: int, asked: bool) -> None:
    """Nothing is touched, so it takes no memory."""
    name, _, value = MAPPERS["bwa"].variables.partition("=")
    command = [sys.executable, "-S", "-E", "-c", PROGRAM.format(size=size)]
    done = subprocess.run(command, env=os.environ | {name: value}, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == ([str(asked)] * 3, "")
