"""A class order cut into phases: which classes arrive when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.errors import ClassgrowError


@dataclass(frozen=True)
class Scenario:
    """`order` lists class labels of a data set as they are learned, `sizes` how many arrive in each phase.

    Phases count from 1. In what `train` and `test` return, a label is a position in `order`, so the classes
    seen after a phase are always 0 to seen(phase) - 1.
    """

    order: tuple[int, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.order:
            raise ClassgrowError("A scenario needs at least one class: give a class order that is not empty.")
        if len(set(self.order)) != len(self.order):
            raise ClassgrowError("A class stands twice in the class order: list every class once.")
        if min(self.order) < 0:
            raise ClassgrowError(f"There is no class {min(self.order)}: classes are numbered from 0.")
        if min(self.sizes, default=0) < 1 or sum(self.sizes) != len(self.order):
            raise ClassgrowError(
                f"Phases of {list(self.sizes)} classes do not cover {len(self.order)} classes: "
                "every phase needs at least one, and together they must be all."
            )

    @classmethod
    def make(cls, order: Sequence[int], first: int, step: int) -> Scenario:
        """`first` classes, then `step` more at a time; the last phase takes what is left, so none is dropped."""
        total = len(order)
        if first < 1 or step < 1:
            raise ClassgrowError(f"Phases of {first}, then {step} classes cannot be: each must be at least 1.")
        if first > total:
            raise ClassgrowError(
                f"The first phase cannot have {first} of {total} classes: choose a first phase of at most {total}."
            )
        later = [min(step, total - seen) for seen in range(first, total, step)]
        return cls(tuple(int(label) for label in order), (first, *later))

    @property
    def phases(self) -> int:
        """How many phases there are."""
        return len(self.sizes)

    def seen(self, phase: int) -> int:
        """How many classes have been seen after `phase`; none after phase 0, before anything is learned."""
        if not 0 <= phase <= self.phases:
            raise ClassgrowError(f"There is no phase {phase}: this scenario has phases 1 to {self.phases}.")
        return sum(self.sizes[:phase])

    def new_labels(self, phase: int) -> range:
        """The labels (positions in the order) that arrive in `phase`."""
        if phase < 1:
            raise ClassgrowError(f"There is no phase {phase}: this scenario has phases 1 to {self.phases}.")
        return range(self.seen(phase - 1), self.seen(phase))

    def train(self, dataset: Dataset, phase: int) -> LabelledImages:
        """The train images of the classes that are new in `phase`, and no others."""
        return dataset.train.relabelled(self.order).of(self.new_labels(phase))

    def test(self, dataset: Dataset, phase: int) -> LabelledImages:
        """The test images of every class seen after `phase`."""
        return dataset.test.relabelled(self.order).of(range(self.seen(phase)))
