"""Which images of a class are worth keeping: rankings of a class's images by their features.

A selection takes features (classes, images, d) with a count of images per class and returns, per class, the positions
of the chosen images in rank order. Shrinking the memory later keeps a prefix of that order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

Selection = Callable[[Sequence[Tensor], int, torch.Generator], list[Tensor]]
"""(features of each class, how many to choose, generator) -> positions per class, best first."""

ITERATIONS = 1000
"""iCaRL's code gives up after this many draws; what is missing then is filled greedily."""


def unit(features: Tensor) -> Tensor:
    """x = f / (||f|| + 1e-8), as iCaRL's code."""
    length: Tensor = features.norm(dim=-1, keepdim=True)
    return features / (length + 1e-8)


def herding(features: Sequence[Tensor], count: int, generator: torch.Generator) -> list[Tensor]:
    """iCaRL's herding for all classes at once: exemplars whose running mean stays close to the class mean.

    w := mean; repeat: j := argmax <w, x_j> over all images, chosen ones too; note j if it is new; w += mean - x_j.
    """
    return _herd(features, count, repeats=True)


def herding_without_repeats(features: Sequence[Tensor], count: int, generator: torch.Generator) -> list[Tensor]:
    """The same, but a chosen image cannot be drawn again (PyCIL's variant)."""
    return _herd(features, count, repeats=False)


def random_choice(features: Sequence[Tensor], count: int, generator: torch.Generator) -> list[Tensor]:
    """Any images, drawn by the seed."""
    return [torch.randperm(len(one), generator=generator)[:count] for one in features]


def closest_to_mean(features: Sequence[Tensor], count: int, generator: torch.Generator) -> list[Tensor]:
    """The images nearest to the mean of the unit features."""
    chosen = []
    for one in features:
        images = unit(one)
        distance = (images - images.mean(0)).square().sum(1)
        chosen.append(torch.argsort(distance, stable=True)[:count].cpu())
    return chosen


SELECTIONS: dict[str, Selection] = {"herding": herding, "random": random_choice, "closest": closest_to_mean}


def _herd(features: Sequence[Tensor], count: int, repeats: bool) -> list[Tensor]:
    """Herd every class in step: one batched product and one argmax per draw."""
    if not features:
        return []
    sizes = [len(one) for one in features]
    images = torch.stack([functional.pad(unit(one), (0, 0, 0, max(sizes) - len(one))) for one in features])
    absent = torch.arange(max(sizes), device=images.device)[None] >= torch.tensor(sizes, device=images.device)[:, None]
    mean = images.sum(1) / torch.tensor(sizes, device=images.device)[:, None]
    wanted = torch.tensor([min(count, size) for size in sizes], device=images.device)
    classes = torch.arange(len(sizes), device=images.device)
    rank = torch.full(absent.shape, -1, dtype=torch.long, device=images.device)
    found = torch.zeros_like(wanted)
    direction = mean.clone()
    draws = 0
    while bool((found < wanted).any()):
        taken = rank >= 0
        blocked = absent if repeats and draws < ITERATIONS else absent | taken
        scores = torch.bmm(images, direction[:, :, None])[:, :, 0].masked_fill(blocked, -torch.inf)
        best = scores.argmax(1)
        news = (rank[classes, best] < 0) & (found < wanted)
        rank[classes[news], best[news]] = found[news]
        found = found + news
        direction = direction + mean - images[classes, best]
        draws += 1
    return [_in_rank_order(ranks) for ranks in rank.cpu()]


def _in_rank_order(ranks: Tensor) -> Tensor:
    positions = torch.nonzero(ranks >= 0)[:, 0]
    return positions[torch.argsort(ranks[positions])]
