"""A record whose bits have changed is not a result."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.records.record import RECORD_FILE, read_record, write_record
from classgrow.records.seal import SEAL, is_sealed, seal_of

PUBLISHED = Path(__file__).parents[2] / "results" / "digits" / "52acf0657120" / RECORD_FILE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A sealed copy of a published record."""
    write_record(read_record(PUBLISHED), tmp_path / RECORD_FILE)
    return tmp_path / RECORD_FILE


def test_what_is_written_is_sealed_and_reads_the_same(path: Path) -> None:
    assert is_sealed(path) and read_record(path) == read_record(PUBLISHED)
    content = json.loads(path.read_text())
    assert list(content)[-1] == SEAL and content[SEAL] == seal_of(content)


def test_blanks_and_the_order_of_entries_do_not_count(path: Path) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(content.items())), indent=3))
    assert is_sealed(path)
    assert seal_of({"a": 1, "b": [1.5]}) == seal_of({"b": [1.5], "a": 1, SEAL: "x"}) != seal_of({"a": 1, "b": [1.25]})


def test_no_flipped_bit_passes_for_a_result(path: Path) -> None:
    """Without a seal one in four passed."""
    content, before, draw = path.read_bytes(), read_record(path), random.Random(1)
    passed = 0
    for _ in range(200):
        place, bit = draw.randrange(len(content)), 1 << draw.randrange(8)
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        try:
            assert read_record(path) == before  # one kind of blank for another
            passed += 1
        except ClassgrowError:
            pass
    assert passed < 5


def test_a_changed_accuracy_is_refused_and_the_file_kept(path: Path) -> None:
    content = json.loads(path.read_text())
    content["phases"][0]["seconds"]["train"] += 1  # nothing else in the record tells
    path.write_text(json.dumps(content))
    with pytest.raises(ClassgrowError, match=r"not what was written: the digest differs.*The file is kept as it is"):
        read_record(path)
    assert not is_sealed(path)


def test_records_of_before_are_read_and_are_not_sealed(tmp_path: Path) -> None:
    shutil.copy(PUBLISHED, tmp_path / RECORD_FILE)
    assert SEAL not in json.loads(PUBLISHED.read_text()) and not is_sealed(tmp_path / RECORD_FILE)
    assert read_record(tmp_path / RECORD_FILE).identity == "52acf0657120"
