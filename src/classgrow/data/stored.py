"""A store over an image cache: images of any size on disk, read as they are asked for."""

from __future__ import annotations

import threading
import zlib

import numpy as np
import torch
from torch import Tensor

from classgrow.data.cache import MANIFEST, Cache
from classgrow.data.crops import central_square, random_boxes, random_views
from classgrow.data.threads import over_slices
from classgrow.errors import ClassgrowError


class StoredImages:
    """Images in a cache. `read` gives the central square of each at `side` pixels; `read_random` random crops.

    An image's checksum is compared the first time this process reads it; after that only the pixels a crop needs
    are touched.
    """

    def __init__(self, cache: Cache, side: int) -> None:
        self.cache, self.side = cache, side
        self._checked = np.zeros(len(cache.index), dtype=bool)
        self._damage = threading.Lock()

    def __len__(self) -> int:
        return len(self.cache.index)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.side, self.side, 3

    def image(self, number: int) -> np.ndarray:
        """One image (H, W, 3) at the size it is kept; mapped, not copied, so it must not be written to."""
        offset, height, width, checksum, _ = self.cache.index[number].tolist()
        flat = self.cache.pixels[offset : offset + 3 * height * width]
        if not self._checked[number]:
            if zlib.crc32(flat.data) != checksum:
                self._refuse()
            self._checked[number] = True
        return np.asarray(flat).reshape(height, width, 3)

    def read(self, indices: Tensor) -> Tensor:
        numbers = self._within(indices)
        views = np.empty((len(numbers), *self.shape), dtype=np.uint8)

        def fill(places: range) -> None:
            for place in places:
                views[place] = central_square(self.image(numbers[place]), self.side).numpy()

        over_slices(fill, len(numbers))
        return torch.from_numpy(views)

    def read_random(self, indices: Tensor, numbers: Tensor, size: int) -> Tensor:
        chosen = self._within(indices)
        sizes = self.cache.index[chosen]
        boxes = random_boxes(numbers, sizes["height"], sizes["width"])
        return random_views(lambda place: self.image(chosen[place]), boxes, size, 3)

    def _within(self, indices: Tensor) -> list[int]:
        numbers: list[int] = indices.tolist()
        if numbers and not 0 <= min(numbers) <= max(numbers) < len(self):
            raise IndexError(f"index {max(numbers)} is out of range for {len(self)} images")
        return numbers

    def _refuse(self) -> None:
        """Pixels have changed on disk: without its manifest the cache is rebuilt the next time."""
        way = "start again to read the original images again"
        try:
            with self._damage:
                (self.cache.folder / MANIFEST).unlink(missing_ok=True)
        except OSError:  # a cache that others keep for us
            way = "delete it, or name another folder with CLASSGROW_CACHE"
        raise ClassgrowError(f"The image cache {self.cache.folder} is damaged (a checksum differs): {way}.")
