"""What Slurm says of a job, asked as people ask it: no library of Slurm's is wherever its commands are."""


def told_of(job_id, patience_s):
    """Return what `scontrol show job` says of a job in one line, "" where it does not answer."""
    import subprocess

    asking = ["scontrol", "show", "job", "--oneliner", job_id]
    try:
        return subprocess.run(asking, capture_output=True, text=True, timeout=patience_s, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def fields_of(told):
    """Return what scontrol told of a job by name."""
    return dict(word.partition("=")[::2] for word in told.split())
