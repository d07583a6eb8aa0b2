"""Ridge regression on random features (RanPAC): better than a discriminant where there are many photos of a class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.folds import spread_evenly
from classgrow.parts.rules import Rule, Sample, Seen, Tensors
from classgrow.views import Outputs

GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Strengths that are tried, in photos: every random feature vector is about 1 long, so 1 weighs as much as a photo."""
TRIED_ON = 1000
"""Photos, spread evenly over the classes, on which a strength is chosen: that takes under a second."""
CHUNK = 4096


@dataclass(frozen=True)
class RandomRidge(Rule):
    """The class whose one-hot target is best predicted from random features, by ridge regression.

    McDonnell et al. 2023 (RanPAC): h = ReLU(f̄ W) with a fixed random W, G = Σ h hᵀ, C = Σ h yᵀ, and the answer is
    argmax_c of hᵀ (G + λ I)⁻¹ C. Both sums are over photos, so no order of classes or photos matters. Kept are the
    features behind them (four bytes a number), not G: so a class can be taken out, and few photos take little room.

    `size`: columns of W, drawn from `seed`; `strength`: λ, or None: chosen from GRID when first fitted, by leaving
    out each photo in turn, and then fixed.
    """

    size: int = 2048
    seed: int = 1
    strength: float | None = None

    name: ClassVar[str] = "ridge"
    title: ClassVar[str] = "ridge on random features"
    formula: ClassVar[str] = "argmax_c ⟨(G + λI)⁻¹C_c, ReLU(f̄(x)W)⟩"

    def applies(self, keeps_memory: bool, trains: bool) -> bool:
        return keeps_memory or not trains

    def fit(self, seen: Seen) -> Tensors | None:
        before = seen.before or {}
        if not seen.moved and seen.images is None and before:
            return before
        sample = seen.exemplars if seen.moved or seen.images is None else seen.images
        if sample is None:
            return None
        rows, owner = rows_of(sample)
        if before and not seen.moved:
            rows, owner = torch.cat((before["rows"], rows)), torch.cat((before["owner"], owner))
        projection = before["projection"] if before else self.projection(rows.shape[1])
        return self.solved(rows, owner, seen.classes, projection, before.get("strength"))

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        hidden = random_features(outputs.features, fitted["projection"].to(outputs.features))
        scores: Tensor = hidden @ fitted["weight"].to(hidden)
        return scores

    def forget(self, fitted: Tensors, position: int) -> Tensors:
        others = fitted["owner"] != position
        owner = fitted["owner"][others]
        classes = fitted["weight"].shape[1] - 1
        owner = owner - (owner > position).long()
        return self.solved(fitted["rows"][others], owner, classes, fitted["projection"], fitted["strength"])

    def projection(self, features: int) -> Tensor:
        """W (features, size): normal numbers, so long that unit features become random features of about length 1."""
        draws = torch.Generator().manual_seed(self.seed)
        drawn = torch.randn(features, self.size, generator=draws)
        return drawn * math.sqrt(2 / self.size)

    def solved(self, rows: Tensor, owner: Tensor, classes: int, projection: Tensor, strength: Tensor | None) -> Tensors:
        """The rows with the linear function that answers."""
        if strength is None:
            chosen = best_strength(rows, owner, projection) if self.strength is None else self.strength
            strength = torch.tensor(chosen, dtype=torch.float64)
        weight = ridge_weights(rows, owner, classes, projection, float(strength))
        return {"rows": rows, "owner": owner, "projection": projection, "strength": strength, "weight": weight}


def rows_of(sample: Sample) -> tuple[Tensor, Tensor]:
    """Unit features (n, d) in single precision, and the class of each."""
    return functional.normalize(sample.features).float().cpu(), sample.labels.cpu()


def random_features(features: Tensor, projection: Tensor) -> Tensor:
    """h = ReLU(f̄ W), (n, size)."""
    hidden: Tensor = functional.relu(functional.normalize(features) @ projection)
    return hidden


def ridge_weights(rows: Tensor, owner: Tensor, classes: int, projection: Tensor, strength: float) -> Tensor:
    """(G + λI)⁻¹ C (size, classes), in double precision; by the photos' products Hᵀ(HHᵀ + λI)⁻¹Y where they are fewer.

    A class without photos has a column of zeros.
    """
    size = projection.shape[1]
    if len(rows) < size:
        hidden = random_features(rows, projection).double()
        return hidden.T @ _solved(hidden @ hidden.T, functional.one_hot(owner, classes).double(), strength)
    gram, sums = torch.zeros(size, size).double(), torch.zeros(size, classes).double()
    for some, names in zip(rows.split(CHUNK), owner.split(CHUNK), strict=True):
        hidden = random_features(some, projection).double()
        gram.addmm_(hidden.T, hidden)
        sums.index_add_(1, names, hidden.T)
    return _solved(gram, sums, strength)


def _solved(products: Tensor, targets: Tensor, strength: float) -> Tensor:
    """(products + λI)⁻¹ targets, for products of a matrix with itself."""
    products.diagonal().add_(strength)
    return torch.cholesky_solve(targets, torch.linalg.cholesky(products))


def best_strength(rows: Tensor, owner: Tensor, projection: Tensor) -> float:
    """The strength of GRID under which photos that were left out are predicted with the least squared error.

    Leaving out photo i changes its error to α_i / (K + λI)⁻¹_ii with α = (K + λI)⁻¹ Y and K = HHᵀ, so one
    decomposition of K serves every photo and every strength. Of equal ones the strongest.
    """
    chosen = spread_evenly(owner, TRIED_ON)
    hidden = random_features(rows[chosen], projection).double()
    targets = functional.one_hot(owner[chosen]).double()
    values, vectors = torch.linalg.eigh(hidden @ hidden.T)
    turned, squares = vectors.T @ targets, vectors.square()
    errors = []
    for strength in GRID:
        inverse = 1 / (values.clamp(min=0) + strength)
        left_out = (vectors * inverse) @ turned / (squares @ inverse)[:, None]
        errors.append(float(left_out.square().mean()))
    least = min(errors)
    return max(strength for strength, error in zip(GRID, errors, strict=True) if error <= least * (1 + 1e-9))
