"""Objectives are sums of terms: `BinaryCrossEntropy() + 0.1 * sqrt_old_share * FeatureGraph()`.

Each term turns a batch into a sum and the number it is divided by; the engine divides by that number over all
processes, so that a mean over some of the samples means the same on one process and on eight.
Printing an objective gives its formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from classgrow.views import BatchView, ClassCounts


class Part(NamedTuple):
    """One term on one batch: weight * total / number."""

    weight: float
    total: Tensor
    number: Tensor | float


class Composable:
    """What can stand in a sum and behind a factor."""

    def terms(self) -> tuple[Weighted, ...]:
        raise NotImplementedError

    def __add__(self, other: Composable) -> Objective:
        return Objective(self.terms() + other.terms())

    def __rmul__(self, factor: float | Scale) -> Objective:
        return Objective(tuple(Weighted(as_scale(factor) * term.scale, term.term) for term in self.terms()))

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms())

    def __call__(self, view: BatchView) -> list[Part]:
        """Every term that applies to this batch; what asks for a teacher waits for the second phase."""
        parts = []
        for weighted in self.terms():
            if weighted.term.needs_teacher and view.teacher is None:
                continue
            parts.append(Part(weighted.scale.factor(view.counts), *weighted.term.measure(view)))
        return parts

    @property
    def reads_teacher(self) -> bool:
        """Whether training on this has to ask the teacher, from the second phase on."""
        return any(weighted.term.needs_teacher or weighted.term.heeds_teacher for weighted in self.terms())


class Term(Composable):
    """One loss. `formula` is how its paper writes it; `measure` gives a sum and the count that divides it.

    A term that needs a teacher is absent in the first phase; one that heeds a teacher is there with and without.
    """

    formula: str = ""
    needs_teacher: bool = False
    heeds_teacher: bool = False

    def terms(self) -> tuple[Weighted, ...]:
        return (Weighted(ONE, self),)

    def measure(self, view: BatchView) -> tuple[Tensor, Tensor | float]:
        raise NotImplementedError


@dataclass(frozen=True)
class Scale:
    """A factor that depends on how many classes are old and new."""

    formula: str
    factor: Callable[[ClassCounts], float]

    def __mul__(self, other: Scale | float) -> Scale:
        if isinstance(other, Composable):
            return NotImplemented  # the loss knows how to stand behind a factor
        right = as_scale(other)
        formula = "·".join(text for text in (self.formula, right.formula) if text != "1") or "1"
        return Scale(formula, lambda counts: self.factor(counts) * right.factor(counts))

    def __rmul__(self, other: float) -> Scale:
        return as_scale(other) * self


ONE = Scale("1", lambda counts: 1.0)


def as_scale(factor: float | Scale) -> Scale:
    """A plain number as a scale; its formula is the number."""
    if isinstance(factor, Scale):
        return factor
    value = float(factor)
    return Scale(f"{value:g}", lambda counts: value)


@dataclass(frozen=True)
class Weighted:
    """A term behind its factor."""

    scale: Scale
    term: Term

    def __str__(self) -> str:
        return self.term.formula if self.scale.formula == "1" else f"{self.scale.formula}·{self.term.formula}"


class Objective(Composable):
    """A weighted sum of terms."""

    def __init__(self, terms: tuple[Weighted, ...]) -> None:
        self._terms = terms

    def terms(self) -> tuple[Weighted, ...]:
        return self._terms
