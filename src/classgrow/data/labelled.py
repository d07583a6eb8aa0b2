"""Images with their classes, as views: pixels are owned once, by a store, and everything else is an index into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from classgrow.data.crops import random_boxes, random_views
from classgrow.data.images import ImagesLike, as_images
from classgrow.errors import ClassgrowError


@dataclass(frozen=True)
class ClassLabel:
    """A class as its data set knows it; relabelling changes where it stands, never its id or name."""

    id: int
    name: str


class ImageStore(Protocol):
    """Owns pixels, once."""

    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of what `read` returns."""
        ...

    def read(self, indices: Tensor) -> Tensor:
        """The images at `indices` (int64, any order, repeats allowed) as uint8 (B, H, W, C)."""
        ...

    def read_random(self, indices: Tensor, numbers: Tensor, size: int) -> Tensor:
        """A random part of each, decided by `numbers` (B, 22) (see `crops.random_boxes`): uint8 (B, size, size, C)."""
        ...


class ArrayStore:
    """One uint8 tensor (N, H, W, C), kept as it is; `read` answers on the tensor's device."""

    def __init__(self, images: Tensor) -> None:
        if images.dtype != torch.uint8 or images.ndim != 4:
            raise ClassgrowError(
                f"A store holds uint8 images (N, H, W, C), not {images.dtype} {tuple(images.shape)}: "
                "convert them with as_images first."
            )
        self.images = images

    def __len__(self) -> int:
        return self.images.shape[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        _, height, width, channels = self.images.shape
        return height, width, channels

    def read(self, indices: Tensor) -> Tensor:
        return self.images.index_select(0, indices.to(self.images.device))

    def read_random(self, indices: Tensor, numbers: Tensor, size: int) -> Tensor:
        images = self.read(indices).cpu().numpy()
        count, height, width, channels = images.shape
        boxes = random_boxes(numbers, np.full(count, height), np.full(count, width))
        return random_views(lambda place: images[place], boxes, size, channels)


class JoinedStore:
    """Several stores end to end, nothing copied; joins of joins are flattened, so reading never recurses."""

    def __init__(self, stores: Sequence[ImageStore]) -> None:
        flat: list[ImageStore] = []
        for store in stores:
            flat.extend(store.stores if isinstance(store, JoinedStore) else (store,))
        if not flat:
            raise ClassgrowError("A joined store needs at least one store: pass one, or use an empty ArrayStore.")
        for store in flat:
            if store.shape != flat[0].shape:
                raise ClassgrowError(
                    f"Images of {flat[0].shape} and {store.shape} (H, W, C) cannot be joined: "
                    "bring them to one size and channel count with as_images(..., size=...)."
                )
        self.stores: tuple[ImageStore, ...] = tuple(flat)
        self._ends = torch.tensor([len(store) for store in flat]).cumsum(0)

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.stores[0].shape

    def read(self, indices: Tensor) -> Tensor:
        return self._gathered(indices, lambda store, own, places: store.read(own))

    def read_random(self, indices: Tensor, numbers: Tensor, size: int) -> Tensor:
        return self._gathered(indices, lambda store, own, places: store.read_random(own, numbers[places], size))

    def _gathered(self, indices: Tensor, read: Callable[[ImageStore, Tensor, Tensor], Tensor]) -> Tensor:
        """One read per store that is hit, and one gather to bring the images into order when several are.

        `read` gets a store, indices into it, and their places in the batch.
        """
        indices = indices.to("cpu", torch.int64)
        owners = torch.bucketize(indices, self._ends, right=True)
        counts = torch.bincount(owners, minlength=len(self.stores)).tolist()
        if len(counts) > len(self.stores):
            raise IndexError(f"index {int(indices.max())} is out of range for {len(self)} images")
        hit = [owner for owner, count in enumerate(counts) if count]
        if len(hit) <= 1:
            owner = hit[0] if hit else 0
            return read(self.stores[owner], indices - self._start(owner), torch.arange(len(indices)))
        # gathering twice beats scattering: index_copy_ of uint8 rows took 15 times as long (torch 2.13, CPU)
        by_store = owners.argsort(stable=True)
        groups = by_store.split([counts[owner] for owner in hit])
        parts = [
            read(self.stores[owner], indices[places] - self._start(owner), places)
            for owner, places in zip(hit, groups, strict=True)
        ]
        images = torch.cat([part.to(parts[0].device) for part in parts])
        return images.index_select(0, by_store.argsort().to(images.device))

    def _start(self, owner: int) -> int:
        return int(self._ends[owner]) - len(self.stores[owner])


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """A view: which images of a store, and the label of each. Only `read` touches pixels.

    `indices` points into `store`; `labels`, of the same length, points into `classes`. `classes` may hold
    classes without images here. Positions count the images of this view from 0.
    """

    store: ImageStore
    indices: Tensor
    labels: Tensor
    classes: tuple[ClassLabel, ...]

    def __post_init__(self) -> None:
        if self.indices.dtype != torch.int64 or self.labels.dtype != torch.int64:
            raise ClassgrowError("Indices and labels must be int64 tensors: convert them with .long().")
        if self.indices.ndim != 1 or self.indices.shape != self.labels.shape:
            raise ClassgrowError(
                f"{tuple(self.indices.shape)} images came with {tuple(self.labels.shape)} labels: "
                "give exactly one label per image, in one dimension."
            )
        if len(self.labels) and not 0 <= int(self.labels.min()) <= int(self.labels.max()) < len(self.classes):
            raise ClassgrowError(
                f"Labels run from {int(self.labels.min())} to {int(self.labels.max())} but there are "
                f"{len(self.classes)} classes: labels must be 0 to {len(self.classes) - 1}, or name more classes."
            )

    @classmethod
    def from_arrays(
        cls,
        images: ImagesLike,
        labels: np.ndarray | Tensor | Sequence[int],
        classes: Sequence[ClassLabel | str] | None = None,
    ) -> LabelledImages:
        """A view of all of `images` (whatever `as_images` takes) with integer `labels`.

        Classes may be given as labels or plain names; left out, they are "0", "1", ... up to the largest label.
        """
        pixels = as_images(images)
        try:
            numbers = torch.as_tensor(labels)
        except (TypeError, ValueError) as problem:
            raise ClassgrowError(
                "Labels must be whole numbers: number the classes, and pass their names as classes."
            ) from problem
        if numbers.dtype.is_floating_point or numbers.dtype.is_complex or numbers.dtype == torch.bool:
            raise ClassgrowError(f"Labels must be whole numbers, not {numbers.dtype}: convert them to int64.")
        numbers = numbers.to("cpu", torch.int64)
        if classes is None:
            classes = [str(label) for label in range(int(numbers.max()) + 1 if numbers.numel() else 0)]
        named = tuple(ClassLabel(k, given) if isinstance(given, str) else given for k, given in enumerate(classes))
        return cls(ArrayStore(pixels), torch.arange(len(pixels)), numbers, named)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image."""
        return self.store.shape

    def read(self, positions: Tensor) -> Tensor:
        """The images at `positions` as uint8 (B, H, W, C)."""
        return self.store.read(self.indices[positions.to(self.indices.device)])

    def read_random(self, positions: Tensor, numbers: Tensor, size: int) -> Tensor:
        """A random part of each image, decided by `numbers` (B, 22): uint8 (B, size, size, C)."""
        return self.store.read_random(self.indices[positions.to(self.indices.device)], numbers, size)

    def select(self, positions: Tensor) -> LabelledImages:
        """The view of the images at `positions`, in that order; a mask over the view works too."""
        positions = positions.to(self.indices.device)
        return LabelledImages(self.store, self.indices[positions], self.labels[positions], self.classes)

    def of(self, labels: Sequence[int]) -> LabelledImages:
        """The images of these labels only, in their present order; labels and classes stay as they are."""
        wanted = torch.zeros(len(self.classes), dtype=torch.bool)
        wanted[self._checked(labels)] = True
        return self.select(wanted[self.labels])

    def relabelled(self, order: Sequence[int]) -> LabelledImages:
        """New label k stands for what was label `order[k]`; images of labels not in `order` are left out."""
        old = self._checked(order)
        if len(set(order)) != len(order):
            raise ClassgrowError("A class stands twice in the order: list every class once.")
        new_label = torch.full((len(self.classes),), -1)
        new_label[old] = torch.arange(len(order))
        labels = new_label[self.labels]
        kept = labels >= 0
        return LabelledImages(self.store, self.indices[kept], labels[kept], tuple(self.classes[k] for k in order))

    def counts(self) -> Tensor:
        """Images per class (int64), zeros included."""
        return torch.bincount(self.labels, minlength=len(self.classes))

    def joined(self, other: LabelledImages) -> LabelledImages:
        """These images, then those of `other`. One side's classes must begin with the other's; the longer stay."""
        fewer, more = sorted((self.classes, other.classes), key=len)
        if more[: len(fewer)] != fewer:
            raise ClassgrowError(
                "Images can only be joined when their classes agree from the first on: relabel one side first."
            )
        labels = torch.cat((self.labels, other.labels))
        if self.store is other.store:
            return LabelledImages(self.store, torch.cat((self.indices, other.indices)), labels, more)
        store = JoinedStore((self.store, other.store))
        return LabelledImages(store, torch.cat((self.indices, other.indices + len(self.store))), labels, more)

    def _checked(self, labels: Sequence[int]) -> Tensor:
        for label in labels:
            if not 0 <= label < len(self.classes):
                raise ClassgrowError(
                    f"There is no class {label}: the {len(self.classes)} classes are numbered "
                    f"0 to {len(self.classes) - 1}."
                )
        return torch.tensor(list(labels), dtype=torch.int64)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images to learn from and images to be tested on, over the same classes.

    `fingerprint` tells folders under one name apart; empty where the name alone says which images these are.
    """

    name: str
    train: LabelledImages
    test: LabelledImages
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if self.train.classes != self.test.classes:
            raise ClassgrowError(f"The train and test images of {self.name!r} must list the same classes.")

    @property
    def classes(self) -> tuple[ClassLabel, ...]:
        """Every class of the data set, by its original label."""
        return self.train.classes
