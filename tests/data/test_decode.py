"""Every kind of file that a folder of photographs turns out to hold."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from classgrow.data import decode as module
from classgrow.data import opening
from classgrow.data.decode import BrokenImageError, decode


@pytest.fixture(params=["simplejpeg", "Pillow"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "simplejpeg":
        pytest.importorskip("simplejpeg", reason="needs simplejpeg: pip install 'classgrow[imagenet]'")
    else:
        monkeypatch.setattr(module, "simplejpeg", None)
    assert module.decoder_name() == request.param
    return str(request.param)


def test_a_small_image_stays_as_it_is(
    decoder: str, picture: Callable[..., Image.Image], jpeg: Callable[..., bytes]
) -> None:
    content = jpeg(picture(1))
    decoded = decode(content, 256)
    assert decoded.note == ""
    assert np.array_equal(decoded.pixels, np.asarray(Image.open(io.BytesIO(content))))


@pytest.mark.parametrize(("width", "height", "shape"), [(500, 375, (256, 341, 3)), (300, 1200, (1024, 256, 3))])
def test_large_images_shrink_to_the_short_side(
    decoder: str,
    width: int,
    height: int,
    shape: tuple[int, int, int],
    picture: Callable[..., Image.Image],
    jpeg: Callable[..., bytes],
) -> None:
    """Decoded whole and resized by Pillow: the same within one grey level."""
    content = jpeg(picture(1, width, height))
    expected = Image.open(io.BytesIO(content)).resize((shape[1], shape[0]), Image.Resampling.BILINEAR)
    found = decode(content, 256).pixels
    assert found.shape == shape
    assert np.abs(found.astype(int) - np.asarray(expected).astype(int)).max() <= 1


def test_twice_too_large_is_decoded_at_half_size(
    decoder: str, picture: Callable[..., Image.Image], jpeg: Callable[..., bytes]
) -> None:
    """1200 x 900 is decoded at 600 x 450 or less; close to the slow way, not equal to it."""
    image = picture(1, 1200, 900)
    found = decode(jpeg(image), 256).pixels
    expected = np.asarray(image.resize((341, 256), Image.Resampling.BILINEAR)).astype(int)
    assert found.shape == (256, 341, 3)
    assert np.abs(found.astype(int) - expected).mean() < 1.5


def test_greyscale_cmyk_turned_and_misnamed_files_are_used(
    decoder: str, oddities: dict[str, bytes], picture: Callable[..., Image.Image]
) -> None:
    expected = {
        "grey.jpg": ("greyscale", picture(3, mode="L").convert("RGB")),
        "cmyk.jpg": ("CMYK", picture(2, mode="CMYK").convert("RGB")),
        "turned.jpg": ("turned upright (EXIF)", picture(4)),
        "really_png.jpg": ("not a JPEG", picture(5)),
    }
    for name, (note, image) in expected.items():
        decoded = decode(oddities[name], 256)
        assert decoded.note == note
        assert decoded.pixels.shape == (30, 40, 3), name
        assert np.abs(decoded.pixels.astype(int) - np.asarray(image).astype(int)).mean() < 4, name


@pytest.mark.parametrize(
    ("name", "reason"), [("truncated.jpg", "truncated"), ("text.jpg", "not an image"), ("empty.jpg", "not an image")]
)
def test_broken_files_say_why(decoder: str, name: str, reason: str, oddities: dict[str, bytes]) -> None:
    with pytest.raises(BrokenImageError, match=reason):
        decode(oddities[name], 256)


def test_a_picture_that_would_fill_the_memory_is_refused(
    decoder: str, monkeypatch: pytest.MonkeyPatch, picture: Callable[..., Image.Image], jpeg: Callable[..., bytes]
) -> None:
    monkeypatch.setattr(opening, "MOST_PIXELS", 1000)
    monkeypatch.setattr(module, "MOST_PIXELS", 1000)
    with pytest.raises(BrokenImageError, match="40 x 30 pixels are too many"):
        decode(jpeg(picture(1)), 256)
