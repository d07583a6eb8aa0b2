"""Heads: from features to logits, one row per class, growing as classes arrive.

A head in a `Method` is a value (`RectifiedCosineHead(restart_scale=True)`); `build` turns it into a module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.parts.rows import without_row
from classgrow.views import Outputs


class GrowingHead(nn.Module):
    """Rows of class embeddings. Frozen rows are a tensor of their own: weight decay would move masked ones.

    Old rows survive growth to the bit. `classes` counts the rows in use; rows beyond it are reserved for later.
    """

    frozen: Tensor

    def __init__(self, features: int, reserves: bool = False) -> None:
        super().__init__()
        self.features = features
        self.reserves = reserves
        self.classes = 0
        self.newest = 0
        self.weight = nn.Parameter(torch.empty(0, features))
        self.register_buffer("frozen", torch.empty(0, features))
        self.bias: nn.Parameter | None = None

    def rows(self) -> Tensor:
        """All rows, (rows, features), the frozen ones first."""
        return torch.cat((self.frozen, self.weight)) if len(self.frozen) else self.weight

    def grow(self, count: int, rows: Tensor | None = None, freeze_old: bool = False) -> None:
        """Add `count` classes; `rows` (count, features) replaces the random draw. The global generator draws."""
        missing = self.classes + count - len(self.frozen) - len(self.weight)
        if missing > 0:
            self._append(missing)
        old, self.classes, self.newest = self.classes, self.classes + count, count or self.newest
        with torch.no_grad():
            everything = self.rows().clone()
            if rows is not None:
                everything[old : self.classes] = rows.to(everything)
            split = self.classes - self.newest if freeze_old else 0
            self.frozen = everything[:split].clone()
            self.weight = nn.Parameter(everything[split:].clone())

    def forget(self, position: int, newest: int) -> None:
        """Take out a class's row and bias; every other one stays as it is, to the bit. `newest` counts again."""
        with torch.no_grad():
            if position < len(self.frozen):
                self.frozen = without_row(self.frozen, position)
            else:
                self.weight = nn.Parameter(without_row(self.weight, position - len(self.frozen)))
            if self.bias is not None:
                self.bias = nn.Parameter(without_row(self.bias, position))
        self.classes, self.newest = self.classes - 1, newest

    def reserve(self, total: int) -> None:
        """Draw rows for all classes there will ever be at once; growing then only brings them into use."""
        self._append(total - len(self.frozen) - len(self.weight))

    def _append(self, count: int) -> None:
        weight, bias = self.draw(count)
        self.weight = nn.Parameter(torch.cat((self.weight.detach(), weight.to(self.weight))))
        if bias is not None:
            old = self.bias.detach() if self.bias is not None else bias[:0].to(self.weight)
            self.bias = nn.Parameter(torch.cat((old, bias.to(old))))

    def draw(self, count: int) -> tuple[Tensor, Tensor | None]:
        """Random rows for `count` classes, and their biases where the head has any."""
        raise NotImplementedError

    def restore(self, classes: int, newest: int, state: dict[str, Tensor]) -> None:
        """Take the sizes and values of a saved head."""
        self.classes, self.newest = classes, newest
        self.frozen = torch.empty_like(state["frozen"])
        self.weight = nn.Parameter(torch.empty_like(state["weight"]))
        if "bias" in state:
            self.bias = nn.Parameter(torch.empty_like(state["bias"]))
        self.load_state_dict(state)


def uniform_rows(count: int, features: int) -> Tensor:
    """w ~ U(-1/sqrt(d), 1/sqrt(d))."""
    return torch.empty(count, features).uniform_(-1, 1) / math.sqrt(features)


class Linear(GrowingHead):
    """a = <w, f> + b. The newest block of classes can be corrected: alpha * a + beta (BiC); (1, 0) after growth."""

    correction: Tensor

    def __init__(self, features: int, draw: str, reserves: bool = False) -> None:
        super().__init__(features, reserves)
        self.distribution = draw
        self.bias = nn.Parameter(torch.empty(0))
        self.register_buffer("correction", torch.tensor([1.0, 0.0]))

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        if self.distribution == "uniform":
            return uniform_rows(count, self.features), uniform_rows(count, self.features)[:, 0].clone()
        gain = {"he": 2.0, "lasagne": 1.0}[self.distribution]
        return torch.randn(count, self.features) * math.sqrt(gain / self.features), torch.zeros(count)

    def grow(self, count: int, rows: Tensor | None = None, freeze_old: bool = False) -> None:
        super().grow(count, rows, freeze_old)
        self.correction = torch.tensor([1.0, 0.0]).to(self.weight)

    def forget(self, position: int, newest: int) -> None:
        if self.newest == 1 and position == self.classes - 1:
            self.correction = torch.tensor([1.0, 0.0]).to(self.weight)  # the block it was for is gone
        super().forget(position, newest)

    def forward(self, features: Tensor) -> Outputs:
        rows = self.rows()
        logits = functional.linear(features, rows, self.bias)
        seen = self.corrected(logits[:, : self.classes])
        return Outputs(features, seen, rows[: self.classes], reserved=logits[:, self.classes :])

    def corrected(self, logits: Tensor) -> Tensor:
        """Logits with (alpha, beta) applied to the newest block only; nothing to do in the first phase."""
        old = self.classes - self.newest
        if old == 0:
            return logits
        alpha, beta = self.correction
        return torch.cat((logits[:, :old], alpha * logits[:, old:] + beta), dim=1)


class Cosine(GrowingHead):
    """a = eta * <w̄, f̄>, bars for unit length; eta is learnable and starts at 1."""

    def __init__(self, features: int, restart_scale: bool, reserves: bool = False) -> None:
        super().__init__(features, reserves)
        self.restart_scale = restart_scale
        self.scale = nn.Parameter(torch.ones(()))

    def draw(self, count: int) -> tuple[Tensor, Tensor | None]:
        return uniform_rows(count, self.features), None

    def grow(self, count: int, rows: Tensor | None = None, freeze_old: bool = False) -> None:
        super().grow(count, rows, freeze_old)
        if self.restart_scale:
            self.scale = nn.Parameter(torch.ones_like(self.scale))

    def cosines(self, features: Tensor, rows: Tensor) -> Tensor:
        return functional.linear(functional.normalize(features), functional.normalize(rows))

    def forward(self, features: Tensor) -> Outputs:
        rows = self.rows()
        cosines = self.cosines(features, rows)
        logits = self.scale * cosines
        return Outputs(
            features,
            logits[:, : self.classes],
            rows[: self.classes],
            cosines[:, : self.classes],
            reserved=logits[:, self.classes :],
        )


class RectifiedCosine(Cosine):
    """FGP, section 3.2: (w, b) and (f, 1) are normalised separately, as vectors of d + 1 entries."""

    def __init__(self, features: int, restart_scale: bool, reserves: bool = False) -> None:
        super().__init__(features, restart_scale, reserves)
        self.bias = nn.Parameter(torch.empty(0))

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        return uniform_rows(count, self.features), uniform_rows(count, self.features)[:, 0].clone()

    def cosines(self, features: Tensor, rows: Tensor) -> Tensor:
        assert self.bias is not None
        augmented_features = torch.cat((features, torch.ones_like(features[:, :1])), dim=1)
        augmented_rows = torch.cat((rows, self.bias[:, None]), dim=1)
        return functional.linear(functional.normalize(augmented_features), functional.normalize(augmented_rows))


class Head(Protocol):
    """A head as a value in a method."""

    def build(self, features: int) -> GrowingHead: ...


@dataclass(frozen=True)
class LinearHead:
    """Rows and biases; `draw`: how new ones start (uniform: PyTorch's default, he: sqrt(2/d), lasagne: sqrt(1/d)).

    `reserve`: rows for all classes exist from the start where their number is known (iCaRL).
    """

    draw: Literal["uniform", "he", "lasagne"] = "uniform"
    reserve: bool = False

    def build(self, features: int) -> GrowingHead:
        return Linear(features, self.draw, self.reserve)


@dataclass(frozen=True)
class CosineHead:
    """Cosine normalisation; `restart_scale`: eta returns to 1 in every phase, as FGP's code does (Hou19 keeps it)."""

    restart_scale: bool = False
    reserve: bool = False

    def build(self, features: int) -> GrowingHead:
        return Cosine(features, self.restart_scale, self.reserve)


@dataclass(frozen=True)
class RectifiedCosineHead:
    """Rectified cosine normalisation of FGP."""

    restart_scale: bool = True
    reserve: bool = False

    def build(self, features: int) -> GrowingHead:
        return RectifiedCosine(features, self.restart_scale, self.reserve)
