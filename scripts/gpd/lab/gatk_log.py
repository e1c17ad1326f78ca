"""What GATK says in its log of the way it chose to compute. Pure.

Results and speed depend on it, and no option shows it: where the CPU lacks an instruction set, or the system a library
(libgomp), GATK takes a pair-HMM in Java that is many times slower, and goes on.
"""

import re

_INSTRUCTIONS = re.compile(r"IntelPairHmm - Using CPU-supported (\S+) instructions")
# of GATK 4, of GATK 3's native library, and of both where they fall back on Java
_IMPLEMENTATIONS = (
    re.compile(r"Using the (.+) PairHMM implementation"),
    re.compile(r"Using (.+) implementation of PairHMM"),
    re.compile(r"(?:Falling back to the MUCH slower|using Java implementation of) (\w+)"),
)


def pair_hmm(text: str) -> str | None:
    """Return the pair-HMM that HaplotypeCaller's log names, with the instruction set; None where it names none."""
    found = next((match for pattern in reversed(_IMPLEMENTATIONS) if (match := pattern.search(text))), None)
    if found is None:
        return None
    if found.re is _IMPLEMENTATIONS[-1]:
        return f"Java {found[1]}, the slow way"
    instructions = _INSTRUCTIONS.search(text)
    return ", ".join([*([instructions[1]] if instructions else []), found[1]])
