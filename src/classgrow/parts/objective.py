"""Objectives are sums of terms: `BinaryCrossEntropy() + 0.1 * sqrt_old_share * FeatureGraph()`.

Each term turns a batch into a sum and the number it is divided by; the engine divides by that number over all
processes, so that a mean over some of the samples means the same on one process and on eight.
Terms, factors and sums are values: equal where their settings are. Printing an objective gives its formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import NamedTuple

import torch
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

    def without_teacher(self) -> Composable:
        """What is computed in the first phase: the terms that ask for no teacher."""
        if type(self).__call__ is not Composable.__call__:
            return self  # it may choose otherwise
        return Objective(tuple(weighted for weighted in self.terms() if not weighted.term.needs_teacher))

    @property
    def reads_teacher(self) -> bool:
        """Whether training on this has to ask the teacher, from the second phase on."""
        return any(weighted.term.needs_teacher or weighted.term.heeds_teacher for weighted in self.terms())


class Term(Composable):
    """One loss. `formula` is how its paper writes it; `measure` gives a sum and the count that divides it.

    A term that needs a teacher is absent in the first phase; one that heeds a teacher is there with and without.
    Ours are frozen dataclasses; a plain class works too, and is equal to another of its kind with equal attributes.
    """

    formula: str = ""
    needs_teacher: bool = False
    heeds_teacher: bool = False

    def terms(self) -> tuple[Weighted, ...]:
        return (Weighted(ONE, self),)

    def measure(self, view: BatchView) -> tuple[Tensor, Tensor | float]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return mine.keys() == theirs.keys() and all(_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self))))

    def __repr__(self) -> str:
        inside = {one.name: getattr(self, one.name) for one in fields(self)} if is_dataclass(self) else vars(self)
        return f"{type(self).__name__}({', '.join(f'{name}={_in_words(value)}' for name, value in inside.items())})"


def _equal(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return bool(one == other)


def _in_words(value: object) -> str:
    """A function by its name, anything else as Python writes it."""
    return getattr(value, "__name__", repr(value))


@dataclass(frozen=True, repr=False)
class Scale:
    """A factor that depends on how many classes are old and new; `factor` is a function or a value that is called."""

    formula: str
    factor: Callable[[ClassCounts], float]

    def __mul__(self, other: Scale | float) -> Scale:
        if isinstance(other, Composable):
            return NotImplemented  # the loss knows how to stand behind a factor
        right = as_scale(other)
        if ONE in (self, right):
            return self if right == ONE else right
        return Scale(f"{self.formula}·{right.formula}", Product(self.factor, right.factor))

    def __rmul__(self, other: float) -> Scale:
        return as_scale(other) * self

    def __repr__(self) -> str:
        return f"Scale({self.formula})"


@dataclass(frozen=True)
class Constant:
    """The same number whatever the counts are."""

    value: float

    def __call__(self, counts: ClassCounts) -> float:
        return self.value


@dataclass(frozen=True)
class Product:
    """Two factors, multiplied as they were written: another grouping of three may differ in the last bit."""

    left: Callable[[ClassCounts], float]
    right: Callable[[ClassCounts], float]

    def __call__(self, counts: ClassCounts) -> float:
        return self.left(counts) * self.right(counts)


ONE = Scale("1", Constant(1.0))


def as_scale(factor: float | Scale) -> Scale:
    """A plain number as a scale; its formula is the number."""
    if isinstance(factor, Scale):
        return factor
    return Scale(number_text(float(factor)), Constant(float(factor)))


def number_text(value: float) -> str:
    """As short as it can be: 0.1, 5, 1e-05; two numbers never look the same."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def function_text(function: Callable[..., object]) -> str:
    """A function of the user's own as it stands in a formula: its name, without bars that would be read as indices."""
    name: str = getattr(function, "__name__", type(function).__name__)
    return name.strip("_").replace("_", " ")


@dataclass(frozen=True, repr=False)
class Weighted:
    """A term behind its factor."""

    scale: Scale
    term: Term

    def __str__(self) -> str:
        return self.term.formula if self.scale == ONE else f"{self.scale.formula}·{self.term.formula}"

    def __repr__(self) -> str:
        return repr(self.term) if self.scale == ONE else f"{self.scale.formula} * {self.term!r}"


@dataclass(frozen=True, repr=False)
class Objective(Composable):
    """A weighted sum of terms."""

    weighted: tuple[Weighted, ...]

    def terms(self) -> tuple[Weighted, ...]:
        return self.weighted

    def __repr__(self) -> str:
        return " + ".join(repr(one) for one in self.weighted)
