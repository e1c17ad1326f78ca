"""On which node of a cluster this launcher runs, for which batch job, and what Slurm says of that job."""

import os

BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")  # what Slurm, PBS and LSF call a job in its environment


def node_name(environment=os.environ):
    """Return the node's name: Slurm's own, as its virtual nodes share a host's, else the host's."""
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
    shared file system. A reader of the ledger reads all of them.
    """
    path = os.path.abspath(path)
    if not any(environment.get(name) for name in BATCH_JOBS):
        return path
    stem, extension = os.path.splitext(path)
    name = (c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in node_name(environment))
    own = f".{''.join(name)}"
    return path if stem.endswith(own) else f"{stem}{own}{extension}"  # a job's part is given the job's


def ask_slurm(command, timeout_s):
    """Return what a command of Slurm's prints, "" where it does not answer."""
    import subprocess

    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def slurm_fields(job_id, timeout_s):
    """Return the fields of a Slurm job by name; none of no job, or where slurmctld does not answer."""
    shown = job_id and ask_slurm(["scontrol", "show", "job", "--oneliner", job_id], timeout_s)
    return dict(word.partition("=")[::2] for word in (shown or "").split())
