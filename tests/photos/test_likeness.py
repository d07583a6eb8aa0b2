"""Which pictures count as nearly the same: thresholds tried on pictures changed as people change them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from classgrow.photos.likeness import alike, perceptual_hashes, small_grey

Change = Callable[[Image.Image], Image.Image]


def scenes(count: int, seed: int = 0) -> list[Image.Image]:
    """Pictures of soft shapes with some grain, all different."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        coarse = Image.fromarray(random.integers(0, 256, (7, 9, 3), dtype=np.uint8)).resize((240, 180), 3)
        grain = random.normal(0, 6, (180, 240, 3))
        made.append(Image.fromarray((np.asarray(coarse) + grain).clip(0, 255).astype(np.uint8)))
    return made


def greys(pictures: list[Image.Image]) -> np.ndarray:
    return np.stack([small_grey(np.asarray(picture.convert("RGB"))) for picture in pictures])


def saved(picture: Image.Image, quality: int) -> Image.Image:
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=quality)
    return Image.open(content)


def trimmed(picture: Image.Image, share: float) -> Image.Image:
    across, down = int(picture.width * share), int(picture.height * share)
    return picture.crop((across, down, picture.width - across, picture.height - down))


CHANGES: dict[str, Change] = {
    "saved at quality 30": lambda one: saved(one, 30),
    "half the size": lambda one: one.resize((one.width // 2, one.height // 2)),
    "30 % brighter": lambda one: ImageEnhance.Brightness(one).enhance(1.3),
    "flatter": lambda one: ImageEnhance.Contrast(one).enhance(0.7),
    "grey": lambda one: one.convert("L"),
    "trimmed by 1 %": lambda one: trimmed(one, 0.01),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_copies_are_found_and_nothing_else(change: Change) -> None:
    """60 pictures and a changed copy of each third: 20 pairs, at most one of them missed, none invented."""
    pictures = scenes(60)
    copies = [change(picture) for picture in pictures[::3]]
    groups = alike(greys([*pictures, *copies]))
    wanted = [[3 * number, 60 + number] for number in range(20)]
    assert [group for group in groups if group not in wanted] == []
    assert len(groups) >= 19


def test_mirrored_and_unrelated_pictures_are_not() -> None:
    pictures = scenes(40, seed=1)
    mirrored = [picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for picture in pictures]
    assert alike(greys([*pictures, *mirrored])) == []


def test_things_on_a_white_ground_are_not_all_one_picture() -> None:
    """The ground alone makes them correlate by more than 0.9."""
    random = np.random.default_rng(0)
    pictures = np.full((200, 32, 32), 255, np.uint8)
    pictures[:, 12:20, 12:20] = random.integers(0, 255, (200, 8, 8))
    pictures[150] = pictures[20]
    assert alike(pictures) == [[20, 150]]


def test_many_copies_are_one_group() -> None:
    random = np.random.default_rng(0)
    many = np.concatenate([greys(scenes(60)), np.repeat(greys(scenes(1, seed=5)), 30, 0)])
    many = (many + random.integers(0, 3, many.shape)).clip(0, 255).astype(np.uint8)
    assert alike(many) == [list(range(60, 90))]


def test_hashes_have_63_bits_half_of_them_set() -> None:
    """As many waves are above the median as below it, and one, the median itself, is not above."""
    hashes = perceptual_hashes(greys(scenes(5)))
    assert [int(one).bit_count() for one in hashes] == [31] * 5
    assert len(set(hashes.tolist())) == 5


def test_few_pairs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many pictures are not four times the work: bands of bits leave most pairs alone."""
    from classgrow.photos import likeness

    counted: list[int] = []
    different = likeness._different_bits

    def counting(hashes: np.ndarray, one: np.uint64) -> np.ndarray:
        counted.append(len(hashes))
        return different(hashes, one)

    monkeypatch.setattr(likeness, "_different_bits", counting)
    random = np.random.default_rng(0)
    coarse = random.normal(128, 60, (1000, 8, 8)).clip(0, 255).astype(np.uint8)
    pictures = np.stack([np.asarray(Image.fromarray(one).resize((32, 32), 3)) for one in coarse])
    assert alike(pictures) == []
    assert sum(counted) < 0.35 * 1000 * 999 / 2


@pytest.mark.skipif("not Path(__import__('os').environ.get('CLASSGROW_DATA', ''), 'mini-imagenet').is_dir()")
def test_real_photos_are_not_taken_for_copies(data_dir: Path) -> None:
    """A thousand photos of a hundred classes."""
    from classgrow.data.decode import decode

    files = sorted((data_dir / "mini-imagenet").rglob("*.jpg"))[:1000]
    pictures = np.stack([small_grey(decode(file.read_bytes(), 64).pixels) for file in files])
    assert alike(pictures) == []
