"""The short name of a processor, as it stands in price lists: 8352Y, 7763, Graviton3. Pure.

Makers spell the same thing in many ways, and a hypervisor may put its own name in place of theirs. What names no
product has no short name: an "AMD EPYC Processor" may be any of a hundred.
"""

import re

# What counts is where the name stands, so that a name of tomorrow is read, too, and no number is taken for a product
# that is none: QEMU's "Xeon E312xx" stands for a family, "Genuine Intel(R) CPU 0000" is a sample before its time.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Xeon Platinum 8352Y, Gold 6258R, Max 9480, 6 6980P, w9-3495X, W-2295, D-2146NT, E5-2690 v4, X5650
        r"\bXeon\b (?:CPU )?(?:Platinum |Gold |Silver |Bronze |Max |6 )?(?P<sku>"
        r"\d{4}[A-Z]{0,3}\+?|(?:E[357]?|W|D|w\d)-\d{4,5}[A-Z]{0,3}(?: v\d)?|[ELWX]\d{4})(?![\w-])",
        r"\bIntel Core (?P<sku>(?:Ultra \d \d{3}[A-Z]{0,2}|[im]\d-\w+))(?![\w-])",
        r"\bAMD EPYC (?P<sku>\d[0-9A-Z]{3,4}X?)(?![\w-])",
        r"\bAMD Ryzen (?:AI )?(?:Threadripper |\d )?(?:PRO )?(?P<sku>\d{4}[A-Z]{0,3}\d?D?)(?![\w-])",
        r"\bAMD Opteron (?:Processor )?(?P<sku>\d{4}[A-Z]{0,2})(?![\w-])",
        r"\b(?P<sku>Graviton ?\d*E?)(?![\w-])",
        r"\bAmpere(?:One)? (?:Altra )?(?:Max )?(?:Processor )?(?P<sku>[AQM]\d{2,3}-\d{2}[A-Z]?)(?![\w-])",
        r"\b(?P<sku>AmpereOne|Altra Max|Altra|Kunpeng[ -]920|Neoverse-\w+|A64FX)(?![\w-])",
    )
)
_MARKS = re.compile(r"\((?:R|TM|C)\)|[®™]", re.IGNORECASE)
_FREQUENCY = re.compile(r"@\s*(?P<ghz>\d+(?:\.\d+)?)\s*GHz", re.IGNORECASE)


def sku(model: str) -> str | None:
    """Return the product's short name that stands in a processor's model name; None where it names none."""
    plain = " ".join(_MARKS.sub(" ", model).split())
    found = next(filter(None, (pattern.search(plain) for pattern in _PATTERNS)), None)
    return found["sku"] if found else None


def stated_mhz(model: str) -> float | None:
    """Return the base frequency that Intel prints at the end of its model names."""
    found = _FREQUENCY.search(model)
    return float(found["ghz"]) * 1000 if found and "intel" in model.casefold() else None
