"""How well a model does on a folder of labelled photos, and on things it has never learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.data.opening import open_image
from classgrow.photos.answering import predictions as predictions_of
from classgrow.photos.checking import thumbnail
from classgrow.photos.finding import PhotosLike
from classgrow.photos.folder import earlier_versions
from classgrow.photos.saved import read_version
from classgrow.photos.sources import Skipped

if TYPE_CHECKING:
    from classgrow.photos.history import Version
    from classgrow.photos.intake import Intake
    from classgrow.photos.model import PhotoModel
    from classgrow.photos.results import Prediction

BINS = 10
"""Equal parts of the probabilities from 0 to 1, in which those are compared with what came true."""
WORST = 24
"""Photos of a kind that are kept to look at."""


@dataclass(frozen=True)
class ClassResult:
    """A known class: the version of the model that learned it first, its photos here, and how many were told right.

    `right` is by the likeliest class, whether or not the photo was called unknown (`unknown`).
    """

    name: str
    version: int
    photos: int
    right: int
    unknown: int

    @property
    def accuracy(self) -> float:
        return self.right / self.photos


@dataclass(frozen=True)
class Bin:
    """Photos of about one probability: its mean, and the share that was right."""

    photos: int
    probability: float
    accuracy: float


@dataclass(frozen=True)
class Mistake:
    """A photo to look at. `answer` is the likeliest class; the pictures are small JPEGs, empty where there are none."""

    file: str
    truth: str
    answer: str
    probability: float
    like: str = ""
    picture: bytes = field(default=b"", repr=False)
    like_picture: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Evaluated:
    """All numbers; shares are fractions, None where there was no photo to measure on.

    classes     known classes with photos here, as they were learned; `strangers`: other classes, with their photos
    accuracy    the share of photos of known classes whose likeliest class is theirs
    unknown     the share of them that was called unknown all the same
    rejected    the share of photos of other classes that was called unknown, as it should be
    calibration expected calibration error: how far probabilities are from what came true, on average
    confusions  (true class, answer, photos), the most frequent first
    wrong       the surest mistakes; `missed`: other classes' photos taken for known, the surest first; `doubted`: known
                photos called unknown
    """

    classes: tuple[ClassResult, ...]
    strangers: dict[str, int]
    accuracy: float | None
    unknown: float | None
    rejected: float | None
    calibration: float | None
    bins: tuple[Bin, ...]
    confusions: tuple[tuple[str, str, int], ...]
    wrong: tuple[Mistake, ...]
    missed: tuple[Mistake, ...]
    doubted: tuple[Mistake, ...]
    skipped: tuple[Skipped, ...]
    before: dict[str, float] = field(default_factory=dict)
    """Accuracy on these photos of each class that the version before knew, where it was asked."""

    @property
    def photos(self) -> int:
        """Those of known classes."""
        return sum(one.photos for one in self.classes)

    @property
    def versions(self) -> dict[int, float]:
        """Accuracy on the classes that each version of the model added."""
        found: dict[int, list[ClassResult]] = {}
        for one in self.classes:
            found.setdefault(one.version, []).append(one)
        return {
            version: sum(one.right for one in members) / sum(one.photos for one in members)
            for version, members in sorted(found.items())
        }

    def as_json(self) -> dict[str, object]:
        """Everything but the pictures, for programs."""
        content = asdict(self)
        for kind in ("wrong", "missed", "doubted"):
            content[kind] = [{name: one[name] for name in SHOWN} for one in content[kind]]
        versions = {str(version): accuracy for version, accuracy in self.versions.items()}
        return {"photos": self.photos, "versions": versions, **content}


SHOWN = ("file", "truth", "answer", "probability", "like")


def evaluate_photos(
    model: PhotoModel, photos: PhotosLike, *, pictures: bool = False, before: bool = False
) -> Evaluated:
    """Predict every photo in class folders and count; `pictures` keeps small ones of the worst, `before` asks the
    version before the same."""
    intake = model.read(photos, labelled=True)
    predictions = list(model.predictions(intake))
    found = count(predictions, intake.names, first_versions(model.history))
    earlier = accuracy_before(model, intake) if before else {}
    return replace(with_pictures(found, intake, predictions, pictures), before=earlier)


def accuracy_before(model: PhotoModel, intake: Intake) -> dict[str, float]:
    """The accuracy of the classes of the version before, by that version; nothing where none is kept."""
    if not model.versions:
        return {}
    folder = earlier_versions(model.folder)[model.versions[-1]]
    content = read_version(folder, progress=model.progress)
    said = list(predictions_of(content, folder, intake, 1))
    found = count(said, intake.names, first_versions(content.history))
    return {one.name: one.accuracy for one in found.numbers.classes}


def first_versions(history: Sequence[Version]) -> dict[str, int]:
    """The version in which each class of the present model was learned, by whatever name."""
    found: dict[str, int] = {}
    names: tuple[str, ...] = ()
    for version in history:
        if version.action == "rename" and len(names) == len(version.classes):  # else the renamed class was forgotten
            found |= {new: found[old] for old, new in zip(names, version.classes, strict=True)}
        found |= {name: version.number for name in version.classes if name not in found}
        names = version.classes
    return {name: found[name] for name in (history[-1].classes if history else ())}


@dataclass(frozen=True)
class Counted:
    """Numbers alone, and the places of the photos to look at."""

    numbers: Evaluated
    wrong: tuple[int, ...]
    missed: tuple[int, ...]
    doubted: tuple[int, ...]


def count(predictions: Sequence[Prediction], truth: Sequence[str], known: dict[str, int]) -> Counted:
    """The numbers, from predictions and true classes; `known` are the model's classes with their versions."""
    said = [one.ranking[0][0] for one in predictions]
    mine = [place for place, name in enumerate(truth) if name in known]
    others = [place for place, name in enumerate(truth) if name not in known]
    right = [said[place] == truth[place] for place in mine]
    bins = calibration_bins([predictions[place].probability for place in mine], right)
    wrong = [place for place in mine if said[place] != truth[place]]
    missed = [place for place in others if not predictions[place].unknown]
    doubted = [place for place in mine if predictions[place].unknown]
    numbers = Evaluated(
        classes=class_results(predictions, truth, said, known),
        strangers=dict(sorted(Counter(truth[place] for place in others).items())),
        accuracy=share(sum(right), len(mine)),
        unknown=share(len(doubted), len(mine)),
        rejected=share(len(others) - len(missed), len(others)),
        calibration=calibration_error(bins),
        bins=bins,
        confusions=confusions([(truth[place], said[place]) for place in wrong]),
        wrong=(), missed=(), doubted=(), skipped=(),
    )  # fmt: skip

    def surest(places: list[int]) -> tuple[int, ...]:
        return tuple(sorted(places, key=lambda place: (-predictions[place].probability, place))[:WORST])

    return Counted(numbers, surest(wrong), surest(missed), surest(doubted))


def class_results(
    predictions: Sequence[Prediction], truth: Sequence[str], said: Sequence[str], known: dict[str, int]
) -> tuple[ClassResult, ...]:
    """Known classes that have photos here, in the order in which they were learned."""
    photos, right, unknown = Counter(truth), Counter[str](), Counter[str]()
    for one, name, answer in zip(predictions, truth, said, strict=True):
        right[name] += name == answer
        unknown[name] += bool(one.unknown)
    return tuple(
        ClassResult(name, version, photos[name], right[name], unknown[name])
        for name, version in known.items()
        if photos[name]
    )


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def confusions(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str, int], ...]:
    """(true class, answer, photos), the most frequent first."""
    counts = Counter(pairs)
    return tuple((*pair, counts[pair]) for pair in sorted(counts, key=lambda pair: (-counts[pair], pair)))


def calibration_bins(probabilities: Sequence[float], right: Sequence[bool]) -> tuple[Bin, ...]:
    """Answers grouped by probability, empty groups left out."""
    groups: dict[int, list[int]] = {}
    for place, probability in enumerate(probabilities):
        groups.setdefault(min(int(probability * BINS), BINS - 1), []).append(place)
    return tuple(
        Bin(
            len(places),
            sum(probabilities[place] for place in places) / len(places),
            sum(right[place] for place in places) / len(places),
        )
        for _, places in sorted(groups.items())
    )


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Σ_b n_b / n |accuracy_b - probability_b|; None without answers."""
    photos = sum(one.photos for one in bins)
    return sum(one.photos * abs(one.accuracy - one.probability) for one in bins) / photos if photos else None


def with_pictures(found: Counted, intake: Intake, predictions: Sequence[Prediction], pictures: bool) -> Evaluated:
    """The numbers with the photos to look at."""

    def mistake(place: int) -> Mistake:
        one = predictions[place]
        like = next((near for near in one.nearest if near.name == one.ranking[0][0]), None)
        return Mistake(
            intake.sources[place],
            intake.names[place],
            one.ranking[0][0],
            one.probability,
            "" if like is None else like.source or like.name,
            thumbnail(rgb(intake.pixels[place].numpy())) if pictures else b"",
            stored(like.file) if pictures and like is not None and like.file is not None else b"",
        )

    return replace(
        found.numbers,
        wrong=tuple(map(mistake, found.wrong)),
        missed=tuple(map(mistake, found.missed)),
        doubted=tuple(map(mistake, found.doubted)),
        skipped=intake.skipped,
    )


def rgb(pixels: np.ndarray) -> np.ndarray:
    """Pixels (H, W, 1 or 3) with three channels."""
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def stored(file: Path) -> bytes:
    """A kept photo as a small JPEG; nothing where it cannot be read."""
    try:
        with open_image(file) as image:
            return thumbnail(np.asarray(image.convert("RGB")))
    except Exception:  # decoders fail in many ways on broken bytes
        return b""
