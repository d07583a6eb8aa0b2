"""The model that answers: loaded once, and exchanged as a whole when the folder has another version."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from classgrow.errors import ClassgrowError
from classgrow.inputs import kept_side
from classgrow.photos.folder import CONFIG, EXEMPLARS
from classgrow.photos.intake import Intake
from classgrow.photos.model import PhotoModel
from classgrow.photos.presets import Wish, plan_for
from classgrow.photos.results import Prediction
from classgrow.progress import Silent
from classgrow.serve.refusals import RefusedError

LOG = logging.getLogger("classgrow.serve")


@dataclass(frozen=True)
class Loaded:
    """A version of the model, ready to answer. `photos` are the file names of its kept photos, by class."""

    model: PhotoModel
    version: int
    classes: tuple[str, ...]
    side: int
    channels: int
    photos: dict[str, list[str]]

    @classmethod
    def read(cls, folder: Path) -> Loaded:
        """Read, checked, and asked once, so that the first real question does not wait."""
        model = PhotoModel(folder, progress=Silent())
        inputs = model.learner.inputs
        photos: dict[str, list[str]] = defaultdict(list)
        for one in model.exemplars:
            photos[one.label].append(one.file)
        loaded = cls(
            model, model.history[-1].number, tuple(model.classes), kept_side(inputs), inputs.channels, dict(photos)
        )
        loaded.answer([torch.zeros(loaded.side, loaded.side, loaded.channels, dtype=torch.uint8)], ["warm up"], 1)
        return loaded

    def answer(self, pixels: Sequence[Tensor], sources: Sequence[str], top: int) -> list[Prediction]:
        """The answers for photos at the model's size."""
        intake = Intake(torch.stack(list(pixels)), ("",) * len(pixels), tuple(sources))
        return list(self.model.predictions(intake, top))

    def photo(self, digest: str) -> Path | None:
        """The file of a kept photo."""
        name = f"{digest}.png"
        return self.model.folder / EXEMPLARS / name if any(name in files for files in self.photos.values()) else None


class Current:
    """Whoever asks gets one version, whole; a change is seen by the next who asks."""

    def __init__(self, folder: Path, wish: Wish) -> None:
        self.folder, self.wish = folder, wish
        self._loaded: Loaded | None = None
        self._digest = ""
        self._lock = threading.Lock()

    @property
    def loaded(self) -> Loaded | None:
        return self._loaded

    def need(self) -> Loaded:
        """The model, or a refusal where there is none yet."""
        loaded = self._loaded
        if loaded is None:
            raise RefusedError(409, "Nothing has been learned yet: teach a class first.")
        return loaded

    def refresh(self) -> bool:
        """Load the folder's version if it is another one; whether it was. Of damaged ones, the last good stays."""
        with self._lock:
            digest = version_digest(self.folder)
            if digest == self._digest:
                return False
            try:
                loaded = Loaded.read(self.folder) if digest else None
            except ClassgrowError as error:
                LOG.error("the new version is not used: %s", error)
                if self._loaded is None:
                    raise
                self._digest = digest
                return False
            self._loaded, self._digest = loaded, digest
            return True

    def form(self) -> tuple[int, int]:
        """Side and channels of the photos it learns from, also before it exists."""
        if self._loaded is not None:
            return self._loaded.side, self._loaded.channels
        inputs = plan_for(self.wish).inputs
        return kept_side(inputs), inputs.channels


def version_digest(folder: Path) -> str:
    """Tells a version from any other; "" where there is none."""
    try:
        return hashlib.sha256((folder / CONFIG).read_bytes()).hexdigest()
    except OSError:
        return ""
