"""A model made of photos: what `classgrow.load` and `classgrow.create` return.

model = classgrow.create("model")
model.learn("photos/")          # photos/<class>/*.jpg
model.predict("x.jpg").name
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from classgrow.photos.history import Version
from classgrow.photos.sources import Skipped as Skipped


@dataclass(frozen=True)
class Nearest:
    """A kept photo that looks like the one in question: its class, its file in the model's folder (None where no
    photos are kept), the name it had when it was learned, and the cosine of the two features."""

    name: str
    file: Path | None
    source: str
    similarity: float


@dataclass(frozen=True)
class Prediction:
    """The answer for one photo. `name` is None for "none of the known classes"; `ranking` has the likeliest first.

    `probability` is that of the likeliest class, calibrated; `distance` is what `unknown` was decided by.
    """

    source: str
    name: str | None
    probability: float
    ranking: tuple[tuple[str, float], ...]
    distance: float
    unknown: bool
    nearest: tuple[Nearest, ...]


@dataclass(frozen=True)
class Learned:
    """What a call of `learn` did: new classes and known ones with their numbers of photos, what was skipped, and the
    accuracy of each class before and after (fractions; `before` has the old classes only)."""

    new: dict[str, int]
    known: dict[str, int]
    skipped: tuple[Skipped, ...]
    before: dict[str, float]
    after: dict[str, float]
    seconds: float
    version: Version
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forgotten:
    """What a call of `forget` did: what was looked through, and the accuracy of the others before and after."""

    name: str
    checked: tuple[str, ...]
    removed_versions: tuple[int, ...]
    before: dict[str, float]
    after: dict[str, float]
    version: Version


class PhotoModel:
    """A model in a folder. Nothing is written before the first `learn`.

    Signatures others build on; `learner` is the `classgrow.Learner` inside (without pixels of exemplars).
    """

    folder: Path

    @property
    def classes(self) -> list[str]: ...  # type: ignore[empty-body]

    @property
    def history(self) -> tuple[Version, ...]: ...  # type: ignore[empty-body]

    def learn(self, photos: object, labels: Iterable[str] | None = None, *, strict: bool = False) -> Learned: ...  # type: ignore[empty-body]

    def predict(self, photos: object, top: int = 5) -> Prediction | list[Prediction]: ...  # type: ignore[empty-body]

    def answers(self, photos: object, top: int = 5) -> Iterator[Prediction | Skipped]: ...  # type: ignore[empty-body]

    def forget(self, name: str) -> Forgotten: ...  # type: ignore[empty-body]

    def rename(self, old: str, new: str) -> Version: ...  # type: ignore[empty-body]

    def rollback(self, number: int | None = None) -> Version: ...  # type: ignore[empty-body]
