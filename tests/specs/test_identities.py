"""Recorded runs keep their identities: every record in `results/` is read and its identity made again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from classgrow.experiments.outline import outline
from classgrow.records.record import RECORD_FILE, read_record
from classgrow.specs.spec import ResolvedSpec, identity

RECORDS = sorted((Path(__file__).parents[2] / "results").glob(f"*/*/{RECORD_FILE}"))

EARLIER = {
    "788a49807a39": "End-to-End before its second stage had a least number of updates",
    "4c71f3ae558b": "the same, very short",
    "e05cd48bfc9c": "fgp-dist-kl when it was not divided by the classes seen, very short",
}
"""Records of runs that would train otherwise today: read under their identities; a new run gets its own."""


def test_there_are_records() -> None:
    assert len(RECORDS) >= 88


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_a_recorded_run_keeps_its_identity(path: Path) -> None:
    record = read_record(path)
    resolved = TypeAdapter(ResolvedSpec).validate_python(record.resolved)
    assert identity(resolved) == record.identity == path.parent.name


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_its_settings_resolve_to_the_same_run_today(path: Path) -> None:
    """So `classgrow run` with the same flags finds the record, and the numbers in the README are still its numbers."""
    spec = read_record(path).spec
    assert spec is not None
    assert (outline(spec).identity == path.parent.name) == (path.parent.name not in EARLIER)
