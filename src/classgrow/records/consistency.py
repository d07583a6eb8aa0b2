"""Does a record agree with itself? Whoever reads one then needs no further doubts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classgrow.records.record import PhaseRecord, Record

_WORD = re.compile(r"[\w.+:-]{1,64}")
_KINDS: dict[str, type | tuple[type, ...]] = {"order": list, "recipe": dict, "memory": int, "memory_per_class": int}
_ROUNDING = 1e-3


def contradiction(record: Record) -> str | None:
    """What does not fit together, in a few words; None if all does."""
    return _names(record) or _classes(record) or _phases(record) or _confusion(record)


def _names(record: Record) -> str | None:
    """Names of files are made from these, and sums of those."""
    words: dict[str, Any] = {"identity": record.identity}
    words |= {name: record.resolved.get(name) for name in ("dataset", "method", "profile", "selection")}
    for name, word in words.items():
        if word is not None and not (isinstance(word, str) and _WORD.fullmatch(word)):
            return f"the odd {name} {str(word)[:40]!r}"
    for name, kind in _KINDS.items():
        value = record.resolved.get(name)
        if value is not None and not isinstance(value, kind):
            return f"the odd {name} {str(value)[:40]!r}"
    numbers: dict[str, Any] = {"epochs": record.spec.get("epochs"), "lr": record.spec.get("lr")}
    options = record.spec.get("options") or {}
    if not isinstance(options, dict) or not all(_WORD.fullmatch(name) for name in options):
        return f"the odd options {str(options)[:40]!r}"
    for name, value in (numbers | options).items():
        if value is not None and not isinstance(value, int if name == "epochs" else int | float):
            return f"the odd {name} {str(value)[:40]!r}"
    return None


def _classes(record: Record) -> str | None:
    sizes = record.phase_sizes
    if not sizes or min(sizes) < 1:
        return "a phase without classes"
    if not sum(sizes) == len(record.class_names) == len(record.class_ids):
        return f"{sum(sizes)} classes in its phases and {len(record.class_names)} names"
    return f"{len(record.phases)} of {len(sizes)} phases" if len(record.phases) > len(sizes) else None


def _phases(record: Record) -> str | None:
    for number, phase in enumerate(record.phases, start=1):
        seen = sum(record.phase_sizes[:number])
        if (phase.phase, phase.classes_seen) != (number, seen) or not _fits(phase, seen):
            return f"phase {number} does not fit its {seen} classes"
    return None


def _fits(phase: PhaseRecord, seen: int) -> bool:
    if len(phase.test_counts) != seen or min(phase.test_counts) < 0:
        return False
    every = [result.per_class for result in phase.rules.values() if result is not None]
    known = [value for values in every for value in values if value is not None]
    return all(len(values) == seen for values in every) and all(-_ROUNDING <= one <= 1 + _ROUNDING for one in known)


def _confusion(record: Record) -> str | None:
    if record.confusion is None:
        return None
    seen = record.phases[-1].classes_seen if record.phases else 0
    square = len(record.confusion) == seen and all(len(row) == seen for row in record.confusion)
    return None if square else f"a confusion matrix that is not of {seen} classes"
