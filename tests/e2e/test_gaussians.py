"""VQSR that finds no model with as many Gaussians as the config allows: it tries fewer, and says so.

Real calls that fit at 4 Gaussians and not at 6 are many more than a test can make, so a stand-in plays GATK.
"""

import os
import stat
from pathlib import Path

import pytest
from conftest import tiny_cohort
from test_hard_filters import write_calls

pytestmark = pytest.mark.e2e

# finds a model of SNPs with 4 Gaussians and none of indels; stumbles over anything else where a file `broken` is
GATK = """#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
        --version) echo 4.6.2.0; exit ;;
        HaplotypeCaller | BaseRecalibrator) echo "ERROR MESSAGE: Walker requires reads."; exit 1 ;;
        -mode) mode=$2 ;;
        --max-gaussians | --maxGaussians) gaussians=$2 ;;
        -O | -recalFile) recal=$2 ;;
        --tranches-file | -tranchesFile) tranches=$2 ;;
    esac
    shift
done
echo "fitting $mode with $gaussians"
[ ! -e broken ] || { echo "A USER ERROR has occurred: the disk is gone" >&2; exit 2; }
if [ "$mode" = INDEL ] || [ "$gaussians" -gt 4 ]; then
    echo "java.lang.IllegalArgumentException: No data found." >&2
    exit 3
fi
printf '##fileformat=VCFv4.2\\n#CHROM\\tPOS\\tID\\tREF\\tALT\\tQUAL\\tFILTER\\tINFO\\n' > "$recal"
{ printf 'TIDX\\001\\000\\000\\000\\003\\000\\000\\000x\\000'; head -c 29 /dev/zero; } > "$recal.idx"
printf 'gaussians,mode\\n%s,%s\\n' "$gaussians" "$mode" > "$tranches"
"""
MODEL = {"known": False, "training": True, "truth": True, "prior": 12}
SET = {"resources": {"known": {"vcf": "known.vcf", **MODEL}}}
FIT = "results/variant_recalibration/S1.{mode}.tranches"


@pytest.fixture(params=["gatk4", "gatk3"])
def cohort(request, tmp_path: Path, monkeypatch):
    """One sample, called already, with a stand-in for the GATK that is asked."""
    made = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    made.config |= {"gatk": request.param, "filter": "vqsr"}
    made.config["vqsr"] = {"snps": SET, "indels": SET | {"max_gaussians": 2}}
    write_calls(tmp_path / "results/genotype_gvcfs/S1.vcf.gz", [], 2000)
    program = tmp_path / "bin" / {"gatk4": "gatk", "gatk3": "gatk3"}[request.param]
    program.parent.mkdir()
    program.write_text(GATK)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return made


def fit(cohort) -> dict[str, str]:
    """What the logs of both models say."""
    targets = [FIT.format(mode=mode) for mode in ("snps", "indels")]
    rules = ["reference", "indexed_vcf", "variant_recalibration"]
    ran = cohort.snakemake("--keep-going", "--allowed-rules", *rules, "--", *targets)
    assert ran.exit_code == 1, ran.output
    logs = cohort.folder / "logs/variant_recalibration"
    return {mode: (logs / f"S1.{mode}.log").read_text() for mode in ("snps", "indels")}


def test_fewer_gaussians_are_tried_and_what_was_used_is_recorded(cohort) -> None:
    output = fit(cohort)
    assert (cohort.folder / FIT.format(mode="snps")).read_text() == "gaussians,mode\n4,SNP\n"
    assert "fitting SNP with 6" in output["snps"]
    assert "VQSR: the model for the snps of S1 has 4 Gaussians at most (tried: 6 4)" in output["snps"]
    assert "error: VQSR found no model for the indels of S1 (Gaussians tried: 2 1)" in output["indels"]
    advice = output["indels"].index("Lower vqsr.indels.max_gaussians"), output["indels"].index("filter: hard")
    assert advice[0] < advice[1]
    assert not (cohort.folder / FIT.format(mode="indels")).exists()


def test_another_failure_is_not_repeated(cohort) -> None:
    (cohort.folder / "broken").touch()
    for text in fit(cohort).values():
        assert text.count("fitting ") == 1
        assert "no model" not in text, "GATK's own reason stands alone"
