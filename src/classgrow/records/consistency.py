"""Does a record agree with itself? Readers can then rely on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classgrow import metrics

if TYPE_CHECKING:
    from classgrow.records.record import PhaseRecord, Record, RuleResult

_ROUNDING = 1e-6
"""By which an accuracy may miss what the classes' accuracies give."""


def contradiction(record: Record) -> str | None:
    """What does not fit together, in a few words; None if all does."""
    return (
        _settings(record)
        or _schedules(record)
        or _classes(record)
        or _rules(record)
        or _phases(record)
        or _confusion(record)
    )


def _settings(record: Record) -> str | None:
    """What stands in two places is the same there."""
    resolved, spec = record.resolved, record.spec
    twice = {
        "seed": (record.seed, resolved.seed),
        "numerics": (record.numerics, resolved.numerics),
        "sizes": (tuple(record.phase_sizes), resolved.sizes),
    }
    if spec is not None:
        names = ("dataset", "method", "profile", "seed", "selection")
        twice |= {f"spec.{name}": (getattr(spec, name), getattr(resolved, name)) for name in names}
    return next((f"two values of {name}" for name, (one, other) in twice.items() if one != other), None)


def _schedules(record: Record) -> str | None:
    recipes = (record.resolved.recipe, *((record.own.recipe,) if record.own.recipe else ()))
    schedules = (one for recipe in recipes for one in (recipe.first, recipe.later, recipe.fine_tune))
    wrong = any(one is not None and (one.epochs < 1 or one.lr <= 0 or not 0 <= one.warm_up < 1) for one in schedules)
    if any(recipe.fine_tune_updates < 0 for recipe in recipes):
        return "a second stage of less than no updates"
    return "a schedule without epochs or learning rate" if wrong else None


def _classes(record: Record) -> str | None:
    sizes, order = record.phase_sizes, record.resolved.order
    if not sizes or min(sizes) < 1:
        return "a phase without classes"
    if not sum(sizes) == len(record.class_names) == len(record.class_ids):
        return f"{sum(sizes)} classes in its phases and {len(record.class_names)} names"
    if len(order) != sum(sizes) or len(set(order)) < len(order):
        return f"a class order that is not of {sum(sizes)} classes"
    return f"{len(record.phases)} of {len(sizes)} phases" if len(record.phases) > len(sizes) else None


def _rules(record: Record) -> str | None:
    names = [rule.name for rule in record.method.rules]
    if len(set(names)) < len(names):
        return "a rule named twice"
    if record.headline not in names:
        return f"answers by {record.headline}, which is not among its rules"
    unknown = [name for phase in record.phases for name in phase.rules if name not in names]
    return f"results by {unknown[0]}, which is not among its rules" if unknown else None


def _phases(record: Record) -> str | None:
    """Each phase fits its classes, whose test images stay the same, and its accuracies fit each other."""
    known: list[int] = []
    for number, phase in enumerate(record.phases, start=1):
        seen = sum(record.phase_sizes[:number])
        if (phase.phase, phase.classes_seen, len(phase.test_counts)) != (number, seen, seen):
            return f"phase {number} does not fit its {seen} classes"
        if phase.test_counts[: len(known)] != known:
            return f"phase {number} has other test images than the phase before"
        known = phase.test_counts
        wrong = [name for name, result in phase.rules.items() if result is not None and not _agrees(result, phase)]
        if wrong:
            return f"accuracies by {wrong[0]} in phase {number} that do not agree"
    return None


def _agrees(result: RuleResult, phase: PhaseRecord) -> bool:
    """A value from 0 to 1 for each class with test images, and their mean over the images is the accuracy."""
    values, counts = result.per_class, phase.test_counts
    if len(values) != len(counts):
        return False
    pairs = list(zip(values, counts, strict=True))
    if any((value is None) != (count == 0) for value, count in pairs):
        return False
    if not all(value is None or -_ROUNDING <= value <= 1 + _ROUNDING for value in values):
        return False
    whole = metrics.incremental_accuracy(values, counts)
    return result.accuracy is None or (whole is not None and abs(result.accuracy - whole) <= _ROUNDING)


def _confusion(record: Record) -> str | None:
    """Its rows are the test images of a class, its diagonal those that were right."""
    counts = record.confusion
    if counts is None:
        return None
    seen = record.phases[-1].classes_seen if record.phases else 0
    if len(counts) != seen or any(len(row) != seen for row in counts):
        return f"a confusion matrix that is not of {seen} classes"
    if not record.phases:
        return None
    last = record.phases[-1]
    if [sum(row) for row in counts] != last.test_counts:
        return "a confusion matrix of other test images"
    for place, value in enumerate(last.per_class(record.headline) or []):
        images = last.test_counts[place]
        if value is not None and abs(counts[place][place] - value * images) > _ROUNDING * max(1, images):
            return "a confusion matrix and accuracies that do not agree"
    return None
