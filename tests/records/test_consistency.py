"""A record that contradicts itself, or says what cannot be, is refused at the door."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classgrow.errors import ClassgrowError
from classgrow.records.record import RECORD_FILE, read_record

PUBLISHED = Path(__file__).parents[2] / "results" / "digits" / "52acf0657120" / RECORD_FILE
Content = dict[str, Any]


def last(content: Content) -> Any:
    return content["phases"][-1]


def head(content: Content, phase: int = -1) -> Any:
    return content["phases"][phase]["rules"]["head"]


CONTRADICTIONS: dict[str, tuple[Callable[[Content], object], str]] = {
    "accuracies of too few classes": (lambda r: head(r, 0)["per_class"].pop(), "by head in phase 1 that do not agree"),
    "too few counts": (lambda r: r["phases"][1]["test_counts"].pop(), "phase 2 does not fit its 4 classes"),
    "an accuracy of 7": (lambda r: head(r, 0).update(accuracy=7.0), "by head in phase 1 that do not agree"),
    "a class's accuracy of 7": (lambda r: head(r, 0)["per_class"].__setitem__(0, 7.0), "in phase 1 that do not agree"),
    "an accuracy a little too high": (
        lambda r: head(r, 2).update(accuracy=head(r, 2)["accuracy"] + 1e-4),
        "by head in phase 3 that do not agree",
    ),
    "an accuracy of a class without images": (
        lambda r: r["phases"][0]["test_counts"].__setitem__(0, 0),
        "in phase 1 that do not agree",
    ),
    "a missing accuracy": (lambda r: head(r)["per_class"].__setitem__(0, None), "in phase 5 that do not agree"),
    "an image moved off the diagonal": (
        lambda r: (move(r["confusion"], 0, 0, -1), move(r["confusion"], 0, 1, 1)),
        "a confusion matrix and accuracies that do not agree",
    ),
    "an image too many": (lambda r: move(r["confusion"], 0, 1, 1), "a confusion matrix of other test images"),
    "a ragged confusion matrix": (lambda r: r["confusion"][0].pop(), "a confusion matrix that is not of 10 classes"),
    "a phase too often": (lambda r: r["phases"].insert(0, r["phases"][0]), "6 of 5 phases"),
    "other sizes than resolved": (lambda r: r.update(phase_sizes=[2, 2, 2, 4]), "two values of sizes"),
    "no phase at all": (lambda r: sizes(r, []), "a phase without classes"),
    "an empty phase": (lambda r: sizes(r, [2, 2, 2, 4, 0]), "a phase without classes"),
    "a name too few": (lambda r: r["class_names"].pop(), "10 classes in its phases and 9 names"),
    "a class twice in the order": (
        lambda r: r["resolved"]["order"].__setitem__(0, 1),
        "a class order that is not of 10 classes",
    ),
    "another seed": (lambda r: r.update(seed=7), "two values of seed"),
    "another data set": (lambda r: r["spec"].update(dataset="mnist"), "two values of spec.dataset"),
    "no epochs": (lambda r: r["resolved"]["recipe"]["first"].update(epochs=0), "a schedule without epochs"),
    "an answer by no rule": (lambda r: r.update(headline="oracle"), "answers by oracle, which is not among its rules"),
    "results by no rule": (
        lambda r: last(r)["rules"].update(oracle=head(r)),
        "results by oracle, which is not among its rules",
    ),
    "an identity that is a path": (lambda r: r.update(identity="../../x"), "at identity: '../../x' is not a plain"),
    "a rule that is a path": (lambda r: last(r)["rules"].update({"../x": None}), "'../x' is not a plain word"),
    "a data set that is a path": (lambda r: r["resolved"].update(dataset="a/b"), "dataset is a/b and not a plain word"),
    "no data set": (lambda r: r["resolved"].pop("dataset"), "resolved.dataset is missing"),
    "a setting of tomorrow": (lambda r: r["resolved"].update(mood="good"), "does not know resolved.mood"),
    "an order that is a number": (lambda r: r["resolved"].update(order=3), "resolved.order is 3 and not a list"),
    "a recipe in words": (lambda r: r["resolved"].update(recipe="slowly"), "resolved.recipe is slowly and not an"),
    "a rate in words": (
        lambda r: r["resolved"]["recipe"]["first"].update(lr="high"),
        "resolved.recipe.first.lr is high and not a finite number",
    ),
    "options in a list": (lambda r: r["resolved"].update(options=[1]), "resolved.options is a list and not names"),
    "an option that is a path": (
        lambda r: r["resolved"].update(options={"../x": 1}),
        "resolved.options is ../x and not a plain word",
    ),
    "epochs in words": (lambda r: r["spec"].update(epochs="ten"), "at spec.epochs: Input should be a valid integer"),
    "a rate asked for in words": (lambda r: r["spec"].update(lr="high"), "at spec.lr: Input should be a valid number"),
    "options asked for in a list": (lambda r: r["spec"].update(options=[1]), "at spec.options: Input should be a"),
    "two memories": (lambda r: r["spec"].update(memory=5, memory_per_class=5), "contradict each other"),
    "a count beyond all bounds": (lambda r: last(r).update(exemplars=10**30), "at phases.4.exemplars"),
    "time without end": (lambda r: last(r)["seconds"].update(total=float("inf")), "at phases.4.seconds.total"),
}


def move(confusion: list[list[int]], row: int, column: int, images: int) -> None:
    confusion[row][column] += images


def sizes(content: Content, wanted: list[int]) -> None:
    content["phase_sizes"] = content["resolved"]["sizes"] = wanted


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_record_that_contradicts_itself_is_refused(name: str, tmp_path: Path) -> None:
    content = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    path = tmp_path / RECORD_FILE
    path.write_text(json.dumps(content))
    assert read_record(path) == read_record(PUBLISHED)
    change, words = CONTRADICTIONS[name]
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ClassgrowError) as caught:
        read_record(path)
    assert words in str(caught.value)
    assert f"The record {path} cannot be read (" in str(caught.value) and "is kept as it is" in str(caught.value)
