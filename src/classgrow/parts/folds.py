"""Photos cut into parts: what is fitted on the others is tried on each."""

from __future__ import annotations

import torch
from torch import Tensor

FOLDS = 4
"""Parts into which the photos of every class are cut."""


def folds_of(labels: Tensor) -> Tensor:
    """The fold (0 to 3) of each photo, by its place among those of its class; -1: never left out, for a class's only
    photo."""
    alone = torch.bincount(labels)[labels] == 1 if len(labels) else labels == -1
    return torch.where(alone, -1, place_within_class(labels) % FOLDS)


def place_within_class(labels: Tensor) -> Tensor:
    """For each photo, how many of its class stand before it."""
    places = torch.empty_like(labels)
    sizes = torch.bincount(labels).tolist()
    if sizes:
        places[torch.argsort(labels, stable=True)] = torch.cat([torch.arange(size) for size in sizes]).to(labels)
    return places


def spread_evenly(labels: Tensor, most: int) -> Tensor:
    """The places of at most `most` photos, taken from the classes in turn."""
    return torch.argsort(place_within_class(labels), stable=True)[:most]
