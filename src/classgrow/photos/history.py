"""What was done to a model, version by version: numbers and names, ready for `history.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from classgrow.errors import ClassgrowError

Number = TypeVar("Number", int, float)
Action = Literal["learn", "forget", "rename", "rollback", "import"]
Measure = Literal["cross-fitted", "held-out", "tested", "none"]
"""How accuracy was measured: on exemplars by rules fitted without them, on photos kept out of training, on the test
images of an experiment, or not."""


@dataclass(frozen=True)
class Version:
    """One version of a model.

    classes   in the order in which they were learned
    photos    how many photos of each class were learned from, in all versions so far
    new       classes that came with this version
    before    accuracy of each class in the version before, where it was measured; `after`: in this one (fractions)
    """

    number: int
    when: str
    action: Action
    words: str
    classes: tuple[str, ...]
    photos: dict[str, int]
    new: tuple[str, ...] = ()
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    measured: Measure = "none"
    seconds: float = 0.0

    @property
    def accuracy(self) -> float | None:
        """The mean over classes, each counting alike; None where nothing was measured."""
        return mean(self.after)

    def without(self, name: str) -> Version:
        """The same with no word of a class: for a model that has forgotten it."""
        named = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.words)
        return replace(
            self,
            words=f"{self.action} (a class since forgotten was part of it)" if named else self.words,
            classes=tuple(one for one in self.classes if one != name),
            photos=_others(self.photos, name),
            new=tuple(one for one in self.new if one != name),
            before=_others(self.before, name),
            after=_others(self.after, name),
        )


Histories: TypeAdapter[tuple[Version, ...]] = TypeAdapter(tuple[Version, ...])


def mean(values: Mapping[str, float]) -> float | None:
    """The mean of some accuracies; None where there are none."""
    return sum(values.values()) / len(values) if values else None


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def written(history: Sequence[Version]) -> bytes:
    """The text of history.json."""
    return Histories.dump_json(tuple(history), indent=1) + b"\n"


def read(content: bytes) -> tuple[Version, ...]:
    """What `written` made."""
    try:
        return Histories.validate_json(content)
    except ValidationError as error:
        raise ClassgrowError(
            "The history of the model is damaged: put back a good copy, or `rollback` to an earlier version."
        ) from error


def _others(values: dict[str, Number], name: str) -> dict[str, Number]:
    return {one: value for one, value in values.items() if one != name}
