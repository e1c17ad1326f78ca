"""Run one job of the workflow on CPUs of its own, and leave one exact record of it.

The *wrapper* (the process that was called) takes the allocation and starts a *supervisor*, which starts bash, adopts
whatever the command leaves behind, measures, and writes the record. When one of them is killed, the other ends the job
and records that. An allocation is a set of kernel locks on an open file that wrapper, supervisor and every process of
the job inherit: the kernel frees it when the last ends. Where all of them are killed, a journal beside the locks lets
the next launcher write the record. A job ends with the processes that asked for it (bash, and Snakemake behind it).

Launchers that may use the same CPUs (by affinity, cpuset or Slurm) queue first come, first served. Only the head of the
queue takes CPUs, and it holds none while it waits, so there is no deadlock, and no job starves. An allocation that fits
within one L3 group (NUMA node, socket) gets one with room if there is any; if there is none but enough CPUs are free in
all, it is split at once: idle CPUs cost more than a boundary, and the record says `split`. A job for more threads than
the machine, a control group or Slurm has for us gets all of that. A retry, and a job that another launcher is at, on
whatever node, waits until nothing is left of that one (`output_lock.py`).

Processes that do not see the locks (of another user, in a container with a /tmp of its own, any other program) may use
the same CPUs. The record says how much (other_cpu_s), and whether that is more than noise (cpu_contention).

Every job pays for what is imported here: what only some jobs need (json, re, hashlib, xml, the reasons of failures) is
imported where it is used, and os does what pathlib would.
"""
