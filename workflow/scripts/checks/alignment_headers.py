"""What the headers of BAM and CRAM files say of samples, as a line of JSON a file, in the order of the arguments.

alignment_headers.py FILE...
"""

import json
import sys

import inputs


def read(path: str) -> dict:
    """Samples of the read groups, how many these are, order, its recalibrator; or the fault of the file."""
    try:
        header = inputs.read_header(path)
    except inputs.InputError as error:
        return {"fault": str(error)}
    groups = [fields for kind, fields in header if kind == "@RG"]
    return {
        "samples": sorted({group["SM"] for group in groups if group.get("SM")}),
        "read_groups": len(groups),
        "is_sorted": any(kind == "@HD" and fields.get("SO") == "coordinate" for kind, fields in header),
        "recalibrated_by": inputs.recalibrator(header),
    }


if __name__ == "__main__":
    for file in sys.argv[1:]:
        print(json.dumps(read(file)))
