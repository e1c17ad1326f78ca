"""The programs that map reads, by their names in the configuration: their indexes, their memory, how they are called.

    mappers.py > LINES     what a human genome's index takes of each

The workflow loads this file by its path.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

HUMAN_GB = 3.1  # gigabases


@dataclass(frozen=True)
class Mapper:
    """What the workflow must know of a program that maps.

    `endings` are those of its index's files. Of an index, bytes a base of the genome: its files (`disk`), what a
    process holds of them (`loaded`), and what making them takes (`making`, beside `making_mb`). `own_mb` and
    `thread_mb`: memory of a process and each of its threads without its index, but with the sorter that it feeds.
    `conda` is the environment of what maps with it, `variables` what its command is started with.
    """

    endings: tuple[str, ...]
    disk: float
    loaded: float
    making: float
    making_mb: int
    conda: str
    own_mb: int = 4200
    thread_mb: int = 450
    variables: str = ""


# bwa-mem4 reads the files of bwa-mem2
OF_BWA_MEM2 = ("amb", "ann", "0123", "bwt.2bit.64", "pac")
MAPPERS = {
    "bwa": Mapper(
        endings=("amb", "ann", "bwt", "pac", "sa"),
        disk=1.75,
        loaded=1.75,
        making=1.6,  # a genome of 3.2 Gb took 1.5
        making_mb=1000,
        conda="bwa",
        variables="GLIBC_TUNABLES=glibc.malloc.hugetlb=1",  # its index on huge pages
    ),
    "bwa-mem2": Mapper(
        endings=OF_BWA_MEM2,
        disk=5.5,
        loaded=5.5,
        making=28,  # as its manual says
        making_mb=1000,
        conda="bwa-mem2",
    ),
    # Its authors state 9.5 GB a process for a human genome, with one batch of reads at a time. It would hold two
    # wherever the whole machine has room. Making an index of 18 and of 100 Mb took 34 and 35
    # bytes a base.
    "bwa-mem4": Mapper(
        endings=OF_BWA_MEM2,
        disk=5.5,
        loaded=2.4,
        making=35,
        making_mb=1000,
        conda="bwa",
        own_mb=5200,
        variables="BWA4_NO_BATCH_OVERLAP=1",
    ),
}


def human_indexes() -> Iterator[str]:
    """A line for each mapper: what a human genome's index takes to build, in each process and on the disk, in GB."""
    for name, mapper in MAPPERS.items():
        making, loaded, disk = (HUMAN_GB * share for share in (mapper.making, mapper.loaded, mapper.disk))
        yield (
            f"{name}: a human genome's index takes {making + mapper.making_mb / 1000:.0f} GB of memory to build, "
            f"{loaded:.1f} GB in each process, {disk:.0f} GB of disk"
        )


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in human_indexes())
