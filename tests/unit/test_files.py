"""Files of the lab: how large a record may be that is read."""

import pytest

from gpd import files


def test_a_file_larger_than_any_record_is_not_read(tmp_path):
    path = tmp_path / "ledger.jsonl"
    with path.open("wb") as file:
        file.truncate(64 * 2**20)
    assert len(files.read_bytes(path)) == 64 * 2**20
    with path.open("r+b") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(files.FileError, match=r"ledger\.jsonl: larger than 64 MiB"):
        files.read_bytes(path)
