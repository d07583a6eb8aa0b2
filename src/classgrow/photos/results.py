"""What the calls of a model of photos return: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from classgrow.photos.history import Version
from classgrow.photos.sources import Skipped


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

    `probability` is that of the likeliest class, calibrated; `distance` is what `unknown` was decided by: both are
    None where that cannot be told, as with one photo in all.
    """

    source: str
    name: str | None
    probability: float
    ranking: tuple[tuple[str, float], ...]
    distance: float | None
    unknown: bool | None
    nearest: tuple[Nearest, ...]


@dataclass(frozen=True)
class Preview:
    """What a call of `learn` would do, photos read and nothing learned: new and known classes with their photos, how
    (`words`), and about how many seconds it would take on this computer as busy as it is."""

    new: dict[str, int]
    known: dict[str, int]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    words: str
    seconds: float


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
