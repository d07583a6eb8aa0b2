"""Linear discriminant analysis on unit features, from sums that add up: exact in any order of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.rows import without_row
from classgrow.parts.rules import Rule, Sample, Seen, Tensors
from classgrow.views import Outputs


@dataclass(frozen=True)
class LinearDiscriminant(Rule):
    """The class whose mean is nearest by the covariance that all classes share (Fisher; OAS shrinkage of Chen 2010).

    While features stand still, the sums of every image ever seen are kept and added to; once they have moved, the
    exemplars are measured again. The sums are n_k, Σ x and Σ x xᵀ of each class; the last is kept as rows r_k with
    r_kᵀ r_k = Σ x xᵀ, at most d of them, so that few images take little room and one class can be taken out again.
    Rows take four bytes a number where that loses nothing.
    """

    name: ClassVar[str] = "discriminant"
    title: ClassVar[str] = "linear discriminant"
    formula: ClassVar[str] = "argmax_c ⟨Σ⁻¹μ_c, f̄(x)⟩ − ½⟨μ_c, Σ⁻¹μ_c⟩"

    def applies(self, keeps_memory: bool, trains: bool) -> bool:
        return keeps_memory or not trains

    def fit(self, seen: Seen) -> Tensors | None:
        if not seen.moved and seen.images is None and seen.before:
            return seen.before
        if seen.moved or seen.images is None:
            return None if seen.exemplars is None else solved(sums_of(seen.exemplars, seen.classes))
        fresh = sums_of(seen.images, seen.classes)
        return solved(added(seen.before, fresh) if seen.before else fresh)

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        unit = functional.normalize(outputs.features)
        return functional.linear(unit, fitted["weight"].to(unit), fitted["bias"].to(unit))

    def forget(self, fitted: Tensors, position: int) -> Tensors:
        owner = fitted["owner"]
        others = owner != position
        return solved(
            {
                "count": without_row(fitted["count"], position),
                "total": without_row(fitted["total"], position),
                "rows": fitted["rows"][others].double(),
                "owner": owner[others] - (owner[others] > position).long(),
            }
        )


def sums_of(sample: Sample, classes: int) -> Tensors:
    """n_k, Σ x and the rows behind Σ x xᵀ over unit features, in double precision (which not every device has)."""
    unit, labels = functional.normalize(sample.features).cpu().double(), sample.labels.cpu()
    total = torch.zeros(classes, unit.shape[1], dtype=unit.dtype).index_add_(0, labels, unit)
    in_order = torch.argsort(labels, stable=True)
    count = torch.bincount(labels, minlength=classes).to(unit)
    return compressed({"count": count, "total": total, "rows": unit[in_order], "owner": labels[in_order]})


def added(one: Tensors, other: Tensors) -> Tensors:
    """The sums of both; `other` may know more classes."""
    more = len(other["count"]) - len(one["count"])
    owner = torch.cat((one["owner"], other["owner"]))
    in_order = torch.argsort(owner, stable=True)
    return compressed(
        {
            "count": functional.pad(one["count"], (0, more)) + other["count"],
            "total": functional.pad(one["total"], (0, 0, 0, more)) + other["total"],
            "rows": torch.cat((one["rows"].double(), other["rows"].double()))[in_order],
            "owner": owner[in_order],
        }
    )


def compressed(sums: Tensors) -> Tensors:
    """No class has more than d rows: r and the triangle R of r = Q R have the same rᵀ r."""
    rows, owner = sums["rows"], sums["owner"]
    most = rows.shape[1]
    sizes = torch.bincount(owner, minlength=len(sums["count"]))
    if not len(sizes) or int(sizes.max()) <= most:
        return sums
    short = [torch.linalg.qr(part, mode="r")[1] if len(part) > most else part for part in rows.split(sizes.tolist())]
    owners = torch.arange(len(sizes)).repeat_interleave(sizes.clamp(max=most))
    return {**sums, "rows": torch.cat(short), "owner": owners}


def solved(sums: Tensors) -> Tensors:
    """The sums, with the linear function that answers: weight Σ⁻¹μ and bias −½⟨μ, Σ⁻¹μ⟩, all classes alike likely."""
    count, total, rows = sums["count"], sums["total"], sums["rows"]
    means = total / count[:, None]
    scatter = rows.T @ rows - means.T @ total
    weight = torch.linalg.solve(shrunk(scatter / count.sum(), float(count.sum())), means.T).T.contiguous()
    kept = {name: sums[name] for name in ("count", "total", "owner")}
    return {**kept, "rows": narrowed(rows), "weight": weight, "bias": -(means * weight).sum(1) / 2}


def narrowed(rows: Tensor) -> Tensor:
    """The same numbers in single precision, where they all fit into it."""
    short = rows.float()
    return short if torch.equal(short.double(), rows) else rows


def shrunk(covariance: Tensor, images: float) -> Tensor:
    """Oracle approximating shrinkage towards a multiple of the identity (Chen et al. 2010, Eq. 23, with n images).

    ρ = (tr(S²)/d² + m²) / ((n + 1)(tr(S²)/d² − m²/d)), at most 1, with m = tr(S)/d. Without any spread: the identity.
    """
    size = len(covariance)
    identity = torch.eye(size, dtype=covariance.dtype)
    mean = covariance.diagonal().mean()
    if mean <= 1e-12:
        return identity
    square = covariance.square().mean()
    least = (images + 1) * (square - mean.square() / size)
    rho = torch.clamp((square + mean.square()) / least, max=1.0) if least > 0 else torch.ones_like(mean)
    return (1 - rho) * covariance + rho * mean * identity
