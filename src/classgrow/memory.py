"""Exemplars within a budget. The memory owns its pixels: they may be optimised, and the data may be gone tomorrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from classgrow.data.labelled import ArrayStore, ClassLabel, LabelledImages
from classgrow.errors import ClassgrowError

TRAIN, HELD_OUT = 0, 1
EVERYTHING = 2**62
"""The quota of an unlimited budget."""


@dataclass(frozen=True)
class Budget:
    """How many images may be kept: a total over all classes, a number per class, everything, or nothing."""

    total: int | None = None
    per_class: int | None = None
    unlimited: bool = False

    def quota(self, classes: int) -> int:
        """Images per class once `classes` classes are known: floor(M / n), so the budget is never exceeded."""
        if self.unlimited:
            return EVERYTHING
        if self.per_class is not None:
            if self.per_class < 1:
                raise ClassgrowError(
                    f"{self.per_class} exemplars per class are too few: give `memory_per_class` of 1 or more."
                )
            return self.per_class
        if self.total is None:
            raise ClassgrowError("This method keeps no memory: choose another method or give `memory`.")
        if self.total < classes:
            raise ClassgrowError(
                f"{self.total} exemplars cannot cover {classes} classes: raise `memory` to at least {classes}."
            )
        return self.total // classes

    def held_out_quota(self, classes: int, share: float) -> int:
        """Of that quota, how many are held out from training (BiC): at least one, floor(share · M / n)."""
        quota = self.quota(classes)
        if quota < 2:
            enough = f"{2 * classes} images" if self.per_class is None else "2 images per class"
            raise ClassgrowError(
                f"{quota} image per class leaves none to train on once one is held out: "
                f"raise the memory to at least {enough}."
            )
        if self.per_class is not None:
            return max(1, round(share * self.per_class))
        assert self.total is not None
        return max(1, int(share * self.total / classes + 1e-9))


class Memory:
    """Kept images with label, rank within their class (0 is best) and role (train or held out).

    `features` (K, d) float32: how the network sees each of them, None where that is not known. They belong to the
    backbone of which `State.fitted_to` is the digest, and are dropped when it learns. Without `keep_photos` they are
    kept in place of pixels, and `images` stays None.
    """

    def __init__(self, budget: Budget, keep_photos: bool = True) -> None:
        self.budget = budget
        self.keep_photos = keep_photos
        self.images: Tensor | None = None
        self.features: Tensor | None = None
        self.labels = torch.empty(0, dtype=torch.long)
        self.ranks = torch.empty(0, dtype=torch.long)
        self.roles = torch.empty(0, dtype=torch.long)

    def __len__(self) -> int:
        return len(self.labels)

    def add(
        self,
        images: Tensor | None,
        labels: Tensor,
        ranks: Tensor,
        role: int = TRAIN,
        features: Tensor | None = None,
    ) -> None:
        """Keep these uint8 images (K, H, W, C) with their features; images without features leave none known."""
        if features is not None and (self.features is not None or not len(self)):
            mine = features.detach().cpu().float()
            self.features = mine.clone() if self.features is None else torch.cat((self.features, mine))
        else:
            self.features = None
        if images is not None and self.keep_photos:
            self.images = images.clone() if self.images is None else torch.cat((self.images, images))
        elif self.features is None:
            raise ClassgrowError("Exemplars without photos need features: leave out `keep_photos=False`.")
        self.labels = torch.cat((self.labels, labels))
        self.ranks = torch.cat((self.ranks, ranks))
        self.roles = torch.cat((self.roles, torch.full_like(labels, role)))

    def shrink(self, quota: int, role: int = TRAIN) -> None:
        """Keep the `quota` best-ranked images of every class in this role."""
        self.keep((self.roles != role) | (self.ranks < quota))

    def drop(self, labels: Sequence[int], role: int = TRAIN) -> None:
        """Let go of these classes' images in this role."""
        dropped = (self.roles == role) & torch.isin(self.labels, torch.tensor(labels, dtype=torch.long))
        if bool(dropped.any()):
            self.keep(~dropped)

    def forget(self, label: int) -> None:
        """Let go of a class: later classes move up by one place."""
        self.keep(self.labels != label)
        self.labels = self.labels - (self.labels > label).long()

    def keep(self, mask: Tensor) -> None:
        """Drop everything outside the mask."""
        if self.images is not None:
            self.images = self.images[mask]
        if self.features is not None:
            self.features = self.features[mask]
        self.labels, self.ranks, self.roles = self.labels[mask], self.ranks[mask], self.roles[mask]

    def clear(self) -> None:
        self.keep(torch.zeros(len(self), dtype=torch.bool))

    def of(self, role: int) -> Tensor:
        """The places of the images in this role, in memory order."""
        return torch.nonzero(self.roles == role)[:, 0]

    def count(self, role: int) -> int:
        return int((self.roles == role).sum())

    def view(self, classes: tuple[ClassLabel, ...], role: int = TRAIN) -> LabelledImages | None:
        """The images of one role, in memory order; None where there are none, or none of their pixels."""
        positions = self.of(role)
        if self.images is None or not len(positions):
            return None
        return LabelledImages(ArrayStore(self.images), positions, self.labels[positions], classes)

    def tensors(self) -> dict[str, Tensor]:
        """Everything a checkpoint needs."""
        state = {"labels": self.labels, "ranks": self.ranks, "roles": self.roles}
        columns = {"images": self.images, "features": self.features}
        return state | {name: value for name, value in columns.items() if value is not None}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.labels, self.ranks, self.roles = tensors["labels"], tensors["ranks"], tensors["roles"]
        self.images, self.features = tensors.get("images"), tensors.get("features")
