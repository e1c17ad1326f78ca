"""Write certificates as a JKS file, which Java trusts by. Debian's own is made by a package's script.

Usage: trust_store.py FILE < CERTIFICATES.pem
"""

import base64
import hashlib
import re
import struct
import sys
from pathlib import Path

PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
PASSWORD = "changeit"  # everybody's: it guards nothing, the digest tells damage alone


def text(word: str) -> bytes:
    return struct.pack(">H", len(word)) + word.encode()


def trust_store(certificates: list[bytes]) -> bytes:
    """The file's content: magic number, version 2, an entry of kind 2 for each certificate, a keyed SHA-1."""
    content = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        entry = struct.pack(">I", 2) + text(str(number)) + struct.pack(">Q", 0) + text("X.509")
        content += entry + struct.pack(">I", len(certificate)) + certificate
    return content + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()


if __name__ == "__main__":
    found = dict.fromkeys(base64.b64decode(body) for body in PEM.findall(sys.stdin.read()))
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(trust_store([*found]))
