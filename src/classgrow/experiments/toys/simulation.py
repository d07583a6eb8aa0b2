"""The simulation of figure A1: one free point and one free embedding per class in the plane, by steepest descent.

    F_k = (f_k, 1), W_k = (w_k, b_k)      rectified cosine normalisation: a_ik = <W̄_i, F̄_k>
    F_k = (f_k, 0), W_k = (w_k, 0)        plain: a_ik = <w̄_i, f̄_k>
    loss = Σ_k Σ_i BCE(σ(η a_ik), δ_ik)   (Eq. 6, summed)

All heads, settings of η and seeds of one number of classes are one batch: a run of its own for each, no loop.
Both heads start from the same points, so that only the head differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.records.toys import Simulation, SimulationCase

HEADS = ("rectified", "cosine")
CLASSES = (3, 4, 5, 6, 7, 8, 9, 10)
STEP = 0.1
ITERATIONS = 5000
SEEDS = 20
COLLAPSED = 5.0
"""Degrees between two points below which they count as one."""


@dataclass(frozen=True)
class Eta:
    """A setting of the scale: where it starts, and whether it learns (as softplus of a free number: it stays > 0)."""

    start: float
    learnable: bool

    @property
    def name(self) -> str:
        return f"learnable from {self.start:g}" if self.learnable else f"fixed at {self.start:g}"


ETAS = (Eta(10, True), Eta(1, False), Eta(5, False), Eta(10, False), Eta(20, False), Eta(1, True))


@dataclass
class Points:
    """The state of a batch of B simulations with n classes, float64.

    f, w (B, n, 2); b (B, n); scale (B,), the free number behind η; rectified, learnable (B,) are 1 or 0.
    """

    f: Tensor
    w: Tensor
    b: Tensor
    scale: Tensor
    rectified: Tensor
    learnable: Tensor

    @property
    def eta(self) -> Tensor:
        return torch.where(self.learnable > 0, functional.softplus(self.scale), self.scale)

    def features(self) -> Tensor:
        """F = (f, 1) or (f, 0), (B, n, 3)."""
        return torch.cat((self.f, self.rectified[:, None, None].expand(-1, self.f.shape[1], 1)), dim=2)

    def embeddings(self) -> Tensor:
        """W = (w, b), (B, n, 3); b is and stays 0 without rectification."""
        return torch.cat((self.w, self.b[:, :, None]), dim=2)


def start(classes: int, etas: Sequence[Eta], seeds: Sequence[int]) -> Points:
    """f, w ~ N(0, 1), b = 0: drawn by each seed, the same for every head and η."""
    drawn = np.stack([np.random.default_rng((seed, classes)).normal(size=(2, classes, 2)) for seed in seeds])
    repeats = len(HEADS) * len(etas)
    f, w = (torch.from_numpy(drawn[:, place]).repeat(repeats, 1, 1) for place in (0, 1))
    learnable = torch.tensor([float(eta.learnable) for eta in etas]).double()
    scale = torch.tensor([eta.start for eta in etas]).double()
    scale = torch.where(learnable > 0, torch.log(torch.expm1(scale)), scale)  # softplus, undone
    return Points(
        f=f,
        w=w,
        b=torch.zeros(f.shape[:2]).double(),
        scale=scale.repeat_interleave(len(seeds)).repeat(len(HEADS)),
        rectified=torch.tensor([1.0, 0.0]).double().repeat_interleave(len(etas) * len(seeds)),
        learnable=learnable.repeat_interleave(len(seeds)).repeat(len(HEADS)),
    )


def losses(points: Points) -> Tensor:
    """Eq. 6 for each simulation, (B,)."""
    cosines = functional.normalize(points.embeddings(), dim=2) @ functional.normalize(points.features(), dim=2).mT
    logits = points.eta[:, None, None] * cosines
    same = torch.eye(logits.shape[1]).double().expand_as(logits)
    return functional.binary_cross_entropy_with_logits(logits, same, reduction="none").sum((1, 2))


def descend(points: Points, step: float = STEP) -> None:
    """One step of steepest descent on every simulation, gradients by hand (autograd takes three times as long)."""
    features, embeddings = points.features(), points.embeddings()
    feature_length = features.norm(dim=2, keepdim=True)
    embedding_length = embeddings.norm(dim=2, keepdim=True)
    features, embeddings = features / feature_length, embeddings / embedding_length
    cosines = embeddings @ features.mT
    eta = points.eta[:, None, None]
    wrong = torch.sigmoid(eta * cosines)
    wrong.diagonal(dim1=1, dim2=2).sub_(1.0)  # σ(η a) - δ
    pull = eta * wrong
    to_features, to_embeddings = pull.mT @ embeddings, pull @ features
    # d/dx of x/|x|: what is orthogonal to the direction, over the length
    to_features -= features * (to_features * features).sum(2, keepdim=True)
    to_embeddings -= embeddings * (to_embeddings * embeddings).sum(2, keepdim=True)
    to_features, to_embeddings = to_features / feature_length, to_embeddings / embedding_length
    to_eta = (wrong * cosines).sum((1, 2))
    points.f -= step * to_features[:, :, :2]
    points.w -= step * to_embeddings[:, :, :2]
    points.b -= step * points.rectified[:, None] * to_embeddings[:, :, 2]
    points.scale -= step * points.learnable * torch.sigmoid(points.scale) * to_eta


@dataclass(frozen=True)
class Case:
    """How one head did with so many classes and one setting of η, over all seeds. Angles in degrees.

    `min_angles`: the smallest angle between two points f, for each seed; `own_angles`: the largest between a point
    and its own embedding; `negative_bias`: the share of seeds in which every b < 0 (rectified only).
    """

    classes: int
    head: str
    eta: str
    seeds: int
    min_angles: list[float]
    own_angles: list[float]
    final_etas: list[float]
    collapsed: float
    negative_bias: float | None
    drawn_points: list[list[float]]
    drawn_embeddings: list[list[float]]
    """Of the first seed: what lies in the plane of F̄ and W̄, (n, 2)."""


def simulate(
    classes: Sequence[int] = CLASSES,
    etas: Sequence[Eta] = ETAS,
    seeds: int = SEEDS,
    iterations: int = ITERATIONS,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Case]:
    """Every number of classes, head and setting of η; `advance` hears of iterations done."""
    cases: list[Case] = []
    for count in classes:
        points = start(count, etas, range(seeds))
        for iteration in range(1, iterations + 1):
            descend(points)
            if iteration % 100 == 0 or iteration == iterations:
                advance(iteration % 100 or 100)
        cases += _cases(points, count, etas, seeds)
    return cases


def _cases(points: Points, classes: int, etas: Sequence[Eta], seeds: int) -> list[Case]:
    apart, own = min_angles(points.f), own_angles(points.f, points.w)
    features = functional.normalize(points.features(), dim=2)[:, :, :2]
    embeddings = functional.normalize(points.embeddings(), dim=2)[:, :, :2]
    cases = []
    for place, (head, eta) in enumerate((head, eta) for head in HEADS for eta in etas):
        mine = slice(place * seeds, (place + 1) * seeds)
        cases.append(
            Case(
                classes=classes,
                head=head,
                eta=eta.name,
                seeds=seeds,
                min_angles=apart[mine].tolist(),
                own_angles=own[mine].tolist(),
                final_etas=points.eta[mine].tolist(),
                collapsed=float((apart[mine] < COLLAPSED).double().mean()),
                negative_bias=float((points.b[mine] < 0).all(1).double().mean()) if head == "rectified" else None,
                drawn_points=features[mine][0].tolist(),
                drawn_embeddings=embeddings[mine][0].tolist(),
            )
        )
    return cases


def angles(cosines: Tensor) -> Tensor:
    return torch.rad2deg(torch.arccos(cosines.clamp(-1, 1)))


def min_angles(points: Tensor) -> Tensor:
    """The smallest angle between two of n points, (B, n, 2) -> (B,)."""
    directions = functional.normalize(points, dim=2)
    between = angles(directions @ directions.mT)
    between.diagonal(dim1=1, dim2=2).fill_(360.0)
    return between.flatten(1).min(1).values


def own_angles(points: Tensor, embeddings: Tensor) -> Tensor:
    """The largest angle between a point and the embedding of its own class, (B,)."""
    cosines = (functional.normalize(points, dim=2) * functional.normalize(embeddings, dim=2)).sum(2)
    return angles(cosines).max(1).values


def as_json(cases: Sequence[Case], iterations: int = ITERATIONS) -> Simulation:
    """Everything a drawing or a table needs."""
    return {
        "what": "2-D simulation of FGP's appendix: rectified against plain cosine normalisation",
        "step": STEP,
        "iterations": iterations,
        "collapsed_below_degrees": COLLAPSED,
        "cases": [cast(SimulationCase, asdict(case)) for case in cases],
    }
