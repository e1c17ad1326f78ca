"""On which node of a cluster this launcher runs, and for which batch job. Slurm's virtual nodes share a host's name."""

import os

BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")  # what Slurm, PBS and LSF call a job in its environment


def node_name(environment=os.environ):
    """Return the node's name: Slurm's own, else the host's."""
    return environment.get("SLURMD_NODENAME") or os.uname().nodename


def slurm_job_id(environment=os.environ):
    """Return the id of the Slurm job that this launcher is part of, None where it is part of none."""
    return environment.get("SLURM_JOB_ID") or None


def where(environment=os.environ):
    """Return the record's fields of where a job runs."""
    return {
        "host": os.uname().nodename,
        "node": node_name(environment),
        "slurm_job_id": slurm_job_id(environment),
        "slurm_step_id": environment.get("SLURM_STEP_ID") or None,
    }


def own_ledger(path, environment=os.environ):
    """Return the ledger that this launcher writes, whole path: in a batch job the node's own, beside the one named.

    Jobs on several nodes would otherwise append to one file, for which neither O_APPEND nor locks hold on every
    shared file system. Who reads the ledger reads all of them.
    """
    path = os.path.abspath(path)
    if not any(environment.get(name) for name in BATCH_JOBS):
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}.{file_name(node_name(environment))}{extension}"


def file_name(text):
    """Return a text as a part of a file's name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text)
