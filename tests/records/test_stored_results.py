"""The records in `results/`, all of format 1, read today and mean what they meant."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from classgrow.recipes import recipe_for
from classgrow.records.departures import Departures, departures
from classgrow.records.record import FORMAT, RECORD_FILE, read_record, write_record
from classgrow.specs.spec import identity

RESULTS = Path(__file__).parents[2] / "results"
FILES = sorted(RESULTS.glob(f"*/*/{RECORD_FILE}"))


def test_every_record_is_of_the_run_its_folder_names() -> None:
    assert len(FILES) >= 88
    for file in FILES:
        record, content = read_record(file), json.loads(file.read_text(encoding="utf-8"))
        assert identity(record.resolved) == record.identity == file.parent.name
        assert json.dumps(record.resolved.to_json()) == json.dumps(content["resolved"])
        assert record.spec is not None and content["spec"].items() <= record.spec.to_json().items()


def test_written_again_they_are_of_this_format_and_the_same(tmp_path: Path) -> None:
    for file in FILES[::11]:
        record = read_record(file)
        write_record(record, tmp_path / RECORD_FILE)
        assert json.loads((tmp_path / RECORD_FILE).read_text(encoding="utf-8"))["format"] == FORMAT == 2
        assert read_record(tmp_path / RECORD_FILE) == record


def test_the_three_old_rules_have_words_and_only_two_are_for_every_day() -> None:
    record = read_record(RESULTS / "comparison" / "506d8ebbfe42" / RECORD_FILE)
    assert [(rule.name, rule.everyday) for rule in record.method.rules] == [
        ("nearest", True),
        ("raw_nearest", False),
        ("head", True),
    ]
    old = json.loads((RESULTS / "comparison" / "506d8ebbfe42" / RECORD_FILE).read_text(encoding="utf-8"))
    assert record.rule(record.headline).formula == old["method"]["rule"]
    assert "raw_nearest" in record.phases[0].rules and "raw_nearest" not in [r.name for r in record.everyday_rules]


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("comparison/506d8ebbfe42", Departures(epochs=30)),
        ("probes/67c7ba21b75c", Departures(epochs=30, lr=0.4)),
        ("probes/d90dfcad21d3", Departures(epochs=6, lr=0.08, options=(("outputs", 4),))),
        ("digits/52acf0657120", Departures()),
    ],
)
def test_what_was_given_by_hand_is_told_from_the_methods_own(folder: str, expected: Departures) -> None:
    assert departures(read_record(RESULTS / folder / RECORD_FILE)) == expected


@pytest.mark.parametrize("asked", [None, 0.4])
def test_the_rates_of_the_fast_profile_are_not_set_by_hand(asked: float | None) -> None:
    record = read_record(RESULTS / "digits" / "52acf0657120" / RECORD_FILE)
    fast = recipe_for(record.resolved.recipe_name, record.resolved.kind, "fast", lr=asked)
    assert record.spec is not None
    changed = record.model_copy(
        update={
            "resolved": replace(record.resolved, profile="fast", recipe=fast),
            "spec": record.spec.model_copy(update={"profile": "fast", "lr": asked}),
        }
    )
    assert departures(changed).lr == asked
