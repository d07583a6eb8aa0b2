"""What flows between rooms: one batch as a loss sees it. No networks, no files, no devices."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class ClassCounts:
    """How many classes were known before this phase, how many it adds, and how many there will ever be (if known)."""

    old: int
    new: int
    total: int | None = None

    @property
    def seen(self) -> int:
        return self.old + self.new


@dataclass(frozen=True)
class Outputs:
    """What a network says about a batch of N images.

    features    (N, d)     after global average pooling
    logits      (N, seen)  what the head answers
    cosines     (N, seen)  the logits before their scale; None for a linear head
    embeddings  (seen, d)  the class embeddings: one row of weights per class, without biases
    reserved    (N, r)     logits of rows kept for classes not seen yet; None where the head grows row by row
    """

    features: Tensor
    logits: Tensor
    embeddings: Tensor
    cosines: Tensor | None = None
    reserved: Tensor | None = None


@dataclass(frozen=True)
class BatchView:
    """One batch: labels (positions in learning order) and what student and teacher say. Teacher: None in phase 1."""

    labels: Tensor
    student: Outputs
    teacher: Outputs | None
    counts: ClassCounts
    blocks: tuple[int, ...]
    """Sizes of the phases so far, the current one included: their sum is `counts.seen`."""
