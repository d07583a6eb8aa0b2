"""In what a run departs from its method's own numbers: by what its record says, never by today's tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from classgrow.records.record import Record


@dataclass(frozen=True)
class Departures:
    """None, "" and () where a run is as its method has it. `epochs` are those asked for, even if they are the usual
    ones; everything else stands here only where it differs."""

    epochs: int | None = None
    lr: float | None = None
    options: tuple[tuple[str, float], ...] = ()
    network: str = ""
    rule: str = ""
    preset: str = ""

    @property
    def words(self) -> str:
        """ ", lr 0.4, strength 0.5, network resnet20": what a run was given in place of its method's own; else "".

        The epochs are not among them: they are described separately."""
        chosen = (("network", self.network), ("rule", self.rule), ("preset", self.preset))
        return set_by_hand(self.lr, self.options) + "".join(f", {name} {value}" for name, value in chosen if value)


def departures(record: Record) -> Departures:
    """What the record says of itself."""
    resolved, own = record.resolved, record.own
    return Departures(
        epochs=_epochs(record),
        lr=_lr(record),
        options=tuple(sorted(pair for pair in resolved.options.items() if own.options.get(pair[0]) != pair[1])),
        network=resolved.network,
        rule=resolved.rule,
        preset=resolved.kind if own.preset not in ("", resolved.kind) else "",
    )


def _lr(record: Record) -> float | None:
    """A schedule of another shape (the fast profile's) has other rates anyway: there only a rate asked for counts."""
    first, own = record.resolved.recipe.first, record.own.recipe
    if own is None or own.first.shape != first.shape:
        return record.spec.lr if record.spec else None
    return None if first.lr == own.first.lr else first.lr


def _epochs(record: Record) -> int | None:
    if record.spec is not None:
        return record.spec.epochs
    epochs, own = record.resolved.recipe.first.epochs, record.own.recipe
    return None if own is not None and own.first.epochs == epochs else epochs


def exact(value: float) -> str:
    """0.2 as 0.2 and 2.0 as 2: two numbers never look the same."""
    return f"{value:.15g}"


def set_by_hand(lr: float | None, options: Iterable[tuple[str, float]]) -> str:
    """ ", lr 0.4, strength 0.5": numbers in place of a method's own; "" if there is none."""
    parts = [("lr", lr), *options]
    return "".join(f", {name} {exact(value)}" for name, value in parts if value is not None)
