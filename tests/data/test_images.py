from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from classgrow.data.images import as_images
from classgrow.errors import ClassgrowError

RED, GREEN = (255, 0, 0), (0, 255, 0)


def test_arrays_are_taken_as_they_are() -> None:
    colour = np.arange(2 * 2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 2, 3)
    images = as_images(colour)
    assert torch.equal(images, torch.from_numpy(colour))
    assert images.data_ptr() == colour.ctypes.data
    assert torch.equal(as_images(torch.from_numpy(colour)), images)


def test_greyscale_arrays_get_a_channel() -> None:
    grey = np.array([[[1, 2], [3, 4]]], dtype=np.uint8)
    assert as_images(grey).tolist() == as_images(torch.from_numpy(grey)).tolist() == [[[[1], [2]], [[3], [4]]]]


def test_read_only_and_reversed_arrays_work() -> None:
    grey = np.array([[[1, 2]], [[3, 4]]], dtype=np.uint8)
    grey.flags.writeable = False
    assert as_images(grey[::-1]).flatten().tolist() == [3, 4, 1, 2]


def test_all_greyscale_pictures_keep_one_channel() -> None:
    assert as_images([Image.new("L", (3, 2), 7)]).tolist() == [[[[7]] * 3] * 2]


def test_mixed_pictures_and_paths_become_rgb(tmp_path: Path) -> None:
    Image.new("P", (2, 2), 0).save(tmp_path / "black.png")
    pictures = [
        Image.new("L", (2, 2), 9),
        str(tmp_path / "black.png"),
        Image.new("RGBA", (2, 2), (1, 2, 3, 128)),
        tmp_path / "black.png",
        Image.new("CMYK", (2, 2), (0, 255, 255, 0)),
    ]
    images = as_images(pictures)
    assert images.shape == (5, 2, 2, 3)
    assert images[:, 1, 1].tolist() == [[9, 9, 9], [0, 0, 0], [128, 128, 129], [0, 0, 0], [255, 0, 0]]


def test_what_is_transparent_shows_white_paper() -> None:
    """Opaque by 128/255, a grey of 0 becomes 255 - 128 = 127; wholly transparent pixels are white."""
    half = Image.new("LA", (2, 2), (0, 128))
    assert as_images([half]).unique().tolist() == [127] and as_images([half]).shape == (1, 2, 2, 1)
    palette = Image.new("P", (2, 2), 0)
    palette.info["transparency"] = 0
    assert as_images([palette]).unique().tolist() == [255]
    arrays = np.array([[[[10, 20, 30, 0], [10, 20, 30, 255]]] * 2] * 5, np.uint8)
    assert as_images(arrays)[0, 0].tolist() == [[255, 255, 255], [10, 20, 30]]


def test_sixteen_bit_greyscale_keeps_its_upper_bits() -> None:
    picture = Image.fromarray(np.array([[0, 256, 65535]], dtype=np.uint16))
    assert as_images([picture]).flatten().tolist() == [0, 1, 255]


def test_exif_rotation_is_applied(tmp_path: Path) -> None:
    """Orientation 6 means: turn by 90 degrees clockwise, so the left pixel ends on top."""
    lying = Image.new("RGB", (2, 1), RED)
    lying.putpixel((1, 0), GREEN)
    exif = Image.Exif()
    exif[0x0112] = 6
    lying.save(tmp_path / "lying.png", exif=exif)
    assert as_images([tmp_path / "lying.png"]).tolist() == [[[list(RED)], [list(GREEN)]]]


def test_other_sizes_follow_the_first_image() -> None:
    images = as_images([Image.new("L", (4, 6), 1), Image.new("L", (50, 20), 2)])
    assert images.shape == (2, 6, 4, 1)
    assert images.unique(dim=0).flatten(1)[:, 0].tolist() == [1, 2]


def test_a_given_size_is_height_then_width_and_crops_the_centre() -> None:
    """A 3 by 1 banner of green, red, green keeps its middle when made square."""
    banner = Image.new("RGB", (30, 10), GREEN)
    banner.paste(RED, (10, 0, 20, 10))
    assert as_images([banner], size=(10, 10)).eq(torch.tensor(RED)).all()
    assert as_images([banner], size=(2, 5)).shape == (1, 2, 5, 3)


def test_arrays_are_resized_too_when_a_size_is_given() -> None:
    assert as_images(np.full((2, 8, 8), 5, np.uint8), size=(4, 6)).tolist() == [[[[5]] * 6] * 4] * 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.zeros((1, 2, 2, 3), np.float32), r"float32: .*\* 255"),
        (torch.zeros(1, 2, 2, 3), r"float32: .*\* 255"),
        (np.zeros((1, 2, 2, 3), np.int64), "int64: .*convert them to uint8"),
        (np.zeros((2, 2), np.uint8), "add or remove dimensions"),
        (np.zeros((8, 8, 3), np.uint8), r"images\[None\]"),
        (np.zeros((5, 3, 8, 8), np.uint8), "permute"),
        (torch.zeros(5, 1, 8, 8, dtype=torch.uint8), "permute"),
        (np.zeros((5, 8, 8, 2), np.uint8), "1 or 3 channels, not 2"),
        (np.zeros((0, 8, 8, 3), np.uint8), "at least one"),
        ([], "at least one"),
        ("cat.png", "put it in a list"),
        (7, "cannot be read from int"),
        ([np.zeros((2, 2, 3), np.uint8)], "numpy.stack"),
        ([Image.new("F", (2, 2))], "Image 0 holds floating point"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_way_out(given: Any, says: str) -> None:
    with pytest.raises(ClassgrowError, match=says):
        as_images(given)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match=r"no image file .*gone\.png"):
        as_images([tmp_path / "gone.png"])


@pytest.mark.parametrize("keep", [0, 8, 60])
def test_a_broken_file_is_named(tmp_path: Path, keep: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "torn.png")
    (tmp_path / "torn.png").write_bytes((tmp_path / "torn.png").read_bytes()[:keep])
    with pytest.raises(ClassgrowError, match=r"torn\.png cannot be read"):
        as_images([tmp_path / "torn.png"])
