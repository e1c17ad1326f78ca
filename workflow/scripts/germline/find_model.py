"""VQSR's model with as many Gaussians as are allowed, then ever fewer until VariantRecalibrator finds one.

    find_model.py --vcf CALLS.vcf.gz --mode snps --callset NAME --gaussians 8 4 2 1 -- \\
        gatk ... --max-gaussians @gaussians ...

Fewer are tried only where GATK says that there was too little for so many; any other failure stands. Standard library
only.
"""

import argparse
import gzip
import re
import subprocess
import sys

LACKING = re.compile("No data found|failed to converge|NaN LOD value", re.IGNORECASE)


def main(words):
    """Find a model; return GATK's last exit code, as a shell says it."""
    end = words.index("--")
    parser = argparse.ArgumentParser()
    for name in ("--vcf", "--mode", "--callset"):
        parser.add_argument(name, required=True)
    parser.add_argument("--gaussians", nargs="+", required=True)
    given = parser.parse_args(words[:end])
    for number, gaussians in enumerate(given.gaussians, 1):
        tried = " ".join(given.gaussians[:number])
        try:
            code, lacks = run([gaussians if word == "@gaussians" else word for word in words[end + 1 :]])
        except FileNotFoundError as error:
            print(f"find_model.py: {error.filename}: command not found", file=sys.stderr)
            return 127
        if not code:
            print(f"VQSR: the model for the {given.mode} of {given.callset} has {gaussians} Gaussians at most", end=" ")
            print(f"(tried: {tried})")
            return 0
        if not lacks:
            return code
    print(
        f"error: VQSR found no model for the {given.mode} of {given.callset} (Gaussians tried: {tried}), whose call set"
        f" has {variants(given.vcf)} variants; it wants thousands of each kind. Lower vqsr.{given.mode}.max_gaussians"
        " where fewer were not tried, else set filter: hard in the config. GATK's own reason stands above.",
        file=sys.stderr,
    )
    return code


def run(command):
    """Run GATK, pass on what it says; return its exit code, and whether it lacks variants for so many Gaussians."""
    lacks = False
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", text=True
    ) as gatk:
        for line in gatk.stdout:
            print(line, end="", flush=True)
            lacks = lacks or bool(LACKING.search(line))
    return (gatk.returncode if gatk.returncode >= 0 else 128 - gatk.returncode), lacks


def variants(vcf):
    """Return how many records a VCF has."""
    with gzip.open(vcf) as lines:
        return sum(not line.startswith(b"#") for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
