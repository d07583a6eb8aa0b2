"""Photos that were predicted as unknown wait here to be named: a bounded number, grouped by how alike they are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.data.opening import open_image
from classgrow.engine.inference import features
from classgrow.learner import Learner
from classgrow.serve.current import Loaded
from classgrow.serve.kept_photos import photo_in, put_photo

ALIKE = 0.8
"""Cosine of two features from which photos are taken to show the same kind of thing."""


class Tray:
    """The newest `most` photos in a folder."""

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most = folder, most
        self.seen_as: dict[tuple[int, str], Tensor] = {}
        self.lock = threading.Lock()
        self.digests = [path.stem for path in sorted(folder.glob("*.png"), key=lambda path: path.stat().st_mtime_ns)]
        self._trim()

    def add(self, photos: Sequence[Tensor]) -> None:
        """The oldest make room."""
        with self.lock:
            for pixels in photos:
                digest = put_photo(self.folder, pixels)
                if digest not in self.digests:
                    self.digests.append(digest)
            self._trim()

    def _trim(self) -> None:
        for digest in self.digests[: max(0, len(self.digests) - self.most)]:
            self._remove(digest)

    def remove(self, digests: Sequence[str]) -> None:
        with self.lock:
            for digest in digests:
                self._remove(digest)

    def _remove(self, digest: str) -> None:
        if digest in self.digests:
            self.digests.remove(digest)
            (self.folder / f"{digest}.png").unlink(missing_ok=True)

    def path(self, digest: str) -> Path | None:
        return photo_in(self.folder, digest) if digest in self.digests else None

    def pixels(self, digest: str) -> Tensor | None:
        """As they were added; None: it is not here any more."""
        path = self.path(digest)
        if path is None:
            return None
        with open_image(path) as image:
            values = np.asarray(image)
        return torch.from_numpy(values.copy() if values.ndim == 3 else values[:, :, None].copy())

    def groups(self, loaded: Loaded) -> list[list[str]]:
        """Digests of photos that are alike, the largest group first. Runs the network: call it where that is run."""
        with self.lock:
            found = {digest: pixels for digest in self.digests if (pixels := self.pixels(digest)) is not None}
        form = (loaded.side, loaded.side, loaded.channels)
        found = {digest: pixels for digest, pixels in found.items() if tuple(pixels.shape) == form}
        known = {digest: self.seen_as.get((loaded.version, digest)) for digest in found}
        missing = [digest for digest, row in known.items() if row is None]
        if missing:
            rows = seen_by(loaded.model.learner, torch.stack([found[digest] for digest in missing]))
            self.seen_as = {(loaded.version, digest): row for digest, row in known.items() if row is not None}
            self.seen_as |= {(loaded.version, digest): row for digest, row in zip(missing, rows, strict=True)}
        digests = list(found)
        if not digests:
            return []
        rows = torch.stack([self.seen_as[loaded.version, digest] for digest in digests])
        return [[digests[place] for place in group] for group in alike(rows)]


def seen_by(learner: Learner, pixels: Tensor) -> Tensor:
    """Unit features (N, d) of photos."""
    nothing = torch.zeros(len(pixels), dtype=torch.long)
    data = LabelledImages(ArrayStore(pixels), torch.arange(len(pixels)), nothing, learner.state.classes)
    with learner.runtime.active():
        found = features(learner.state.network, data, learner.inputs, learner.runtime)
    return functional.normalize(found.float().cpu())


def alike(rows: Tensor, least: float = ALIKE) -> list[list[int]]:
    """Groups of unit rows, the largest first: each row joins the first group whose mean is at least so similar."""
    groups: list[list[int]] = []
    sums: list[Tensor] = []
    for place, row in enumerate(rows):
        close = [float(functional.normalize(total, dim=0) @ row) for total in sums]
        best = max(range(len(close)), key=close.__getitem__, default=None)
        if best is not None and close[best] >= least:
            groups[best].append(place)
            sums[best] = sums[best] + row
        else:
            groups.append([place])
            sums.append(row)
    return sorted(groups, key=len, reverse=True)
