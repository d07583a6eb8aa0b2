"""Whether an image is of none of the known classes: by its distance to them, measured as the discriminant measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.discriminant import shrunk
from classgrow.parts.folds import FOLDS, place_within_class, spread_evenly
from classgrow.parts.rules import Tensors

TRIED_ON = 2000
"""Photos, spread evenly over the classes, whose distances decide the threshold."""

Photos = tuple[Tensor, Tensor]
"""Features (n, d) and labels (n,)."""


@dataclass(frozen=True)
class Unknown:
    """d²(x) = min_c (f̄ − μ_c)ᵀ Σ⁻¹ (f̄ − μ_c), with the means and the shrunk covariance of `LinearDiscriminant`.

    An image farther away than the threshold is of none of the known classes. The threshold keeps the share `kept` of
    known photos, by distances from means and covariance without the photo's own fold; a class's only photo is never
    left out. Without any spread in a class there is no threshold (infinity): it cannot be told.
    """

    kept: float = 0.95

    def fit(self, sums: Tensors, exemplars: Photos | None = None, held_out: Photos | None = None) -> Tensors:
        """Whitened means and threshold, from what the discriminant has fitted.

        `held_out`: photos that the network was not trained on; without them those behind the sums are tried, each left
        out with its fold. `exemplars`: some of those, for classes of which the sums have no photos left.
        """
        fitted = measure(sums)
        photos = photos_behind(sums, exemplars)
        found = cross_fitted_distances(sums, photos) if held_out is None else distances(held_out[0], fitted)
        threshold = torch.tensor(self.threshold(found, sums), dtype=torch.float64)
        return {**{name: value.float() for name, value in fitted.items()}, "threshold": threshold}

    def threshold(self, found: Tensor, sums: Tensors) -> float:
        """The smallest distance that keeps the wanted share of photos like those found (at most the largest)."""
        if not len(found) or not has_spread(sums):
            return math.inf
        place = min(len(found), math.ceil(self.kept * (len(found) + 1)))
        return float(found.sort().values[place - 1])


def distances(features: Tensor, fitted: Tensors) -> Tensor:
    """The squared distance (N,) of each image to the nearest class mean."""
    whitened = functional.normalize(features).to(fitted["whitening"]) @ fitted["whitening"]
    apart = torch.cdist(whitened, fitted["centres"], compute_mode="donot_use_mm_for_euclid_dist")
    return apart.square().amin(1)


def measure(sums: Tensors) -> Tensors:
    """A matrix A with A Aᵀ = Σ⁻¹, by which features are whitened, and the whitened class means."""
    count, total, rows = sums["count"], sums["total"], sums["rows"].double()
    return whitened_means(count, total, rows.T @ rows)


def whitened_means(count: Tensor, total: Tensor, products: Tensor) -> Tensors:
    """The same from n_k, Σ x and Σ x xᵀ."""
    means = total / count[:, None]
    covariance = shrunk((products - means.T @ total) / count.sum(), float(count.sum()))
    identity = torch.eye(len(covariance), dtype=covariance.dtype)
    inverse_root = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), identity, upper=False).T
    return {"whitening": inverse_root.contiguous(), "centres": means @ inverse_root}


def has_spread(sums: Tensors) -> bool:
    """Whether photos differ from their class's mean at all."""
    count, total, rows = sums["count"], sums["total"], sums["rows"].double()
    within = rows.square().sum() - (total.square().sum(1) / count).sum()
    return bool(within > 1e-9 * count.sum())


def photos_behind(sums: Tensors, exemplars: Photos | None = None) -> Photos:
    """Unit features and labels of the photos that were summed.

    Of a class of more photos than features only products are left (see `LinearDiscriminant`): its exemplars stand in.
    """
    count, rows, owner = sums["count"], sums["rows"].double(), sums["owner"]
    whole = torch.bincount(owner, minlength=len(count)) == count
    features, labels = rows[whole[owner]], owner[whole[owner]]
    if exemplars is None:
        return features, labels
    others = ~whole[exemplars[1]]
    unit = functional.normalize(exemplars[0]).double()
    return torch.cat((features, unit[others])), torch.cat((labels, exemplars[1][others]))


def cross_fitted_distances(sums: Tensors, photos: Photos) -> Tensor:
    """Distances of photos from means and covariance without their fold; a class's only photo is not tried."""
    count, total, rows = sums["count"], sums["total"], sums["rows"].double()
    features, labels = photos
    tried = torch.nonzero(count[labels] > 1)[:, 0]
    tried = tried[spread_evenly(labels[tried], TRIED_ON).sort().values]
    fold = place_within_class(labels)[tried] % FOLDS
    products = rows.T @ rows
    found = [rows.new_zeros(0)]
    for number in range(FOLDS):
        out, mine = features[tried[fold == number]], labels[tried[fold == number]]
        if len(out):
            fewer = count - torch.bincount(mine, minlength=len(count))
            less = total.index_add(0, mine, out, alpha=-1)
            found.append(distances(out, whitened_means(fewer, less, products - out.T @ out)))
    return torch.cat(found)
