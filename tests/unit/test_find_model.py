"""The search for VQSR's model: what is said where GATK cannot be started; the search itself runs with the real GATK."""

import subprocess
import sys

from conftest import ROOT


def test_a_gatk_that_is_not_there_is_named():
    words = [ROOT / "workflow/scripts/germline/find_model.py", "--vcf", "x", "--mode", "snps", "--callset", "S1"]
    words += ["--gaussians", "2", "--", "no-gatk", "@gaussians"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (127, "find_model.py: no-gatk: command not found\n")
