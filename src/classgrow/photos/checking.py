"""A folder of photos looked through before learning: what is broken, doubled, blank, scarce or wrongly labelled."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from classgrow.data.decode import BrokenImageError, decode
from classgrow.data.opening import UnreadableFileError
from classgrow.data.threads import ahead, shared_pool, thread_count
from classgrow.photos.finding import PhotosLike, find
from classgrow.photos.likeness import alike, small_grey
from classgrow.photos.names import differing_in_case
from classgrow.photos.sources import Photo, Skipped
from classgrow.progress import Progress, Silent

THUMBNAIL = 160
"""The short side of what is looked at, and the most that a picture on the page has."""
TINY = 32
"""Pixels of the short side below which a photo shows too little."""
FLAT = 2.0
"""Standard deviation of grey values (of 255) below which a picture is blank."""
FEW = 10
"""Photos below which a class is hard to learn, and its accuracy hard to measure."""
UNEVEN = 10
"""How many times more photos the largest class may have than the smallest."""


@dataclass(frozen=True)
class Kind:
    """What may be wrong, and what to do about it."""

    name: str
    title: str
    advice: str


BROKEN = Kind("broken", "Unreadable files", "Learning skips them. Replace or remove them.")
SKIPPED = Kind("skipped", "Files and folders that learning skips", "Each photo belongs into a folder of its class.")
TWO_LABELS = Kind("two-labels", "One photo under two classes", "One of them is wrong: keep the photo in one class.")
LABEL = Kind("label", "Photos that look like another class", "Some may be right: look at each before you move it.")
EXACT = Kind("exact", "Exact duplicates", "Copies add nothing and make accuracy look better: keep one of each.")
NEAR = Kind("near", "Near duplicates", "The same picture saved again, resized or slightly cropped: keep the best one.")
BLANK = Kind("blank", "Blank pictures", "There is nothing to learn from them: remove them.")
SMALL = Kind("small", "Tiny pictures", f"Less than {TINY} pixels show too little: use larger copies.")
SCARCE = Kind("scarce", "Classes with few photos", f"Give each class {FEW} photos or more; 20 and more are better.")
UNBALANCED = Kind(
    "unbalanced", "Unequal classes", "Large classes are answered more often: add photos to the small ones."
)
CASE = Kind("case", "Names that differ in small and large letters only", "They are learned as different classes.")
KINDS = (TWO_LABELS, LABEL, BROKEN, SKIPPED, EXACT, NEAR, BLANK, SMALL, SCARCE, UNBALANCED, CASE)
"""In the order in which they matter."""


@dataclass(frozen=True)
class Seen:
    """A photo as the check saw it. `thumbnail` is a small JPEG, where pages were asked for."""

    file: str
    name: str
    digest: bytes = b""
    grey: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.uint8), repr=False, compare=False)
    size: tuple[int, int] = (0, 0)
    thumbnail: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Finding:
    """One thing to look at, and the photos it is about."""

    kind: Kind
    words: str
    photos: tuple[Seen, ...] = ()


@dataclass(frozen=True)
class Checked:
    """Everything found. `notes` says what could not be looked at."""

    photos: int
    classes: dict[str, int]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    def of(self, kind: Kind) -> list[Finding]:
        return [one for one in self.findings if one.kind is kind]

    def as_json(self) -> dict[str, object]:
        """For programs: findings with their kind, words and files."""
        findings = [
            {
                "kind": one.kind.name,
                "words": one.words,
                "photos": [{"file": photo.file, "class": photo.name} for photo in one.photos],
            }
            for one in self.findings
        ]
        return {"photos": self.photos, "classes": self.classes, "findings": findings, "notes": list(self.notes)}


Suspect = Callable[[PhotosLike, Progress], tuple[list[tuple[str, str]], str]]
"""Finds wrong labels: (file, what is said of it), and a note where that could not be done."""


def check(
    photos: PhotosLike,
    *,
    suspect: Suspect | None = None,
    thumbnails: bool = False,
    progress: Progress | None = None,
) -> Checked:
    """Look through photos in class folders (or an archive of them); nothing is changed."""
    progress = progress or Silent()
    found = find(photos, None)
    seen, broken = _look(found.photos, found.count, thumbnails, progress)
    counts: dict[str, int] = {}
    for one in seen:
        counts[one.name] = counts.get(one.name, 0) + 1
    findings = [Finding(BROKEN, one.reason, (Seen(one.file, ""),)) for one in broken]
    findings += [Finding(SKIPPED, one.reason, (Seen(one.file, ""),)) for one in found.skipped]
    findings += [*of_single_photos(seen), *of_copies(seen), *of_classes(counts)]
    notes = []
    if suspect is not None:
        by_file = {one.file: one for one in seen}
        suspects, note = suspect(photos, progress)
        findings += [Finding(LABEL, words, (by_file[file],)) for file, words in suspects if file in by_file]
        notes += [note] if note else []
    order = {kind.name: place for place, kind in enumerate(KINDS)}
    findings.sort(key=lambda one: order[one.kind.name])
    return Checked(len(seen), counts, tuple(findings), tuple(notes))


def _look(
    photos: Iterable[Photo], count: int, thumbnails: bool, progress: Progress
) -> tuple[list[Seen], list[Skipped]]:
    """Every photo opened once, in threads; those that cannot be read with the reason."""

    def work(photo: Photo) -> Seen | Skipped:
        try:
            content = photo.read()
            decoded = decode(content, THUMBNAIL)
        except (UnreadableFileError, BrokenImageError) as problem:
            return Skipped(photo.source, str(problem))
        digest = hashlib.blake2b(content, digest_size=16).digest()
        picture = thumbnail(decoded.pixels) if thumbnails else b""
        return Seen(photo.source, photo.name, digest, small_grey(decoded.pixels), decoded.full, picture)

    seen: list[Seen] = []
    broken: list[Skipped] = []
    progress.begin("looking at photos", count)
    try:
        for one in ahead(shared_pool(), work, photos, 4 * thread_count()):
            progress.advance(1)
            if isinstance(one, Seen):
                seen.append(one)
            else:
                broken.append(one)
    finally:
        progress.end()
    return seen, broken


def thumbnail(pixels: np.ndarray) -> bytes:
    """Pixels (H, W, 3) as a small JPEG."""
    picture, content = Image.fromarray(pixels), io.BytesIO()
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    picture.save(content, "JPEG", quality=70)
    return content.getvalue()


def of_single_photos(seen: Sequence[Seen]) -> list[Finding]:
    """Blank and tiny pictures."""
    found = []
    for one in seen:
        if is_blank(one):
            found.append(Finding(BLANK, "the same colour everywhere", (one,)))
        if min(one.size) < TINY:
            found.append(Finding(SMALL, f"{one.size[1]} x {one.size[0]} pixels", (one,)))
    return found


def is_blank(one: Seen) -> bool:
    return float(one.grey.std()) < FLAT


def of_copies(seen: Sequence[Seen]) -> list[Finding]:
    """The same file twice, nearly the same picture twice, and either of them under two classes."""
    by_digest: dict[bytes, list[Seen]] = {}
    for one in seen:
        by_digest.setdefault(one.digest, []).append(one)
    found = [copies_of(group, EXACT, "hold the same photo") for group in by_digest.values() if len(group) > 1]
    first = [group[0] for group in by_digest.values() if not is_blank(group[0])]
    if len(first) > 1:
        for places in alike(np.stack([one.grey for one in first])):
            group = [one for place in places for one in _one_a_class(by_digest[first[place].digest])]
            found.append(copies_of(group, NEAR, "show nearly the same picture"))
    return found


def _one_a_class(copies: Sequence[Seen]) -> list[Seen]:
    """Of equal files one in each class: the others are told already."""
    return list({one.name: one for one in reversed(copies)}.values())[::-1]


def copies_of(group: Sequence[Seen], kind: Kind, words: str) -> Finding:
    """A group of copies; under several classes it is worse than a waste."""
    names = list(dict.fromkeys(one.name for one in group))
    if len(names) == 1:
        return Finding(kind, f"{len(group)} files {words}", tuple(group))
    return Finding(TWO_LABELS, f"{len(group)} files in {len(names)} classes {words}", tuple(group))


def of_classes(counts: dict[str, int]) -> list[Finding]:
    """What the numbers of photos and the names of classes say."""
    found = [Finding(SCARCE, f"{name}: {photo_count(count)}") for name, count in counts.items() if count < FEW]
    if counts:
        largest, smallest = max(counts, key=lambda name: counts[name]), min(counts, key=lambda name: counts[name])
        if counts[largest] > UNEVEN * counts[smallest]:
            words = f"{largest} has {photo_count(counts[largest])}, {smallest} has {counts[smallest]}"
            found.append(Finding(UNBALANCED, words))
    found += [Finding(CASE, " and ".join(group)) for group in differing_in_case(counts)]
    return found


def photo_count(count: int) -> str:
    return f"{count:,} photo{'' if count == 1 else 's'}"
