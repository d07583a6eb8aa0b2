"""Boxes as torchvision documents them, pixels as Pillow resamples them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from classgrow.data.crops import NUMBERS, central_square, random_boxes, random_views, resized, size_with_short_side

TOLERANCE = 1  # grey levels of 255


def numbers(area: float, shape: float, top: float = 0.0, left: float = 0.0) -> torch.Tensor:
    """The same area and shape in all ten tries."""
    return torch.tensor([[area] * 10 + [shape] * 10 + [top, left]], dtype=torch.float64)


def box(drawn: torch.Tensor, height: int, width: int) -> list[int]:
    return random_boxes(drawn, np.array([height]), np.array([width]))[0].tolist()


def test_boxes_by_hand() -> None:
    """shape 1/2 is ratio 1. Area 0.08 + 0.92 u: u = 0.17/0.92 gives a quarter of 100 x 100, so 50 x 50; there are
    51 places along each side, and 0.5 picks the middle one. Ratio 3/4 of that area: 50 / sqrt(3/4) = 57.7 tall."""
    assert box(numbers(0.17 / 0.92, 0.5), 100, 100) == [0, 0, 50, 50]
    assert box(numbers(0.17 / 0.92, 0.5, 0.5, 0.999999), 100, 100) == [25, 50, 50, 50]
    assert box(numbers(0.17 / 0.92, 0.0), 100, 100) == [0, 0, 58, 43]
    assert box(numbers(0.0, 0.5), 100, 100) == [0, 0, 28, 28]  # 8 %: sqrt(800) = 28.3


def test_the_first_try_that_fits_is_taken() -> None:
    """The whole area at ratio 4/3 does not fit a square; the third try (a quarter, ratio 1) does."""
    drawn = numbers(1.0, 1.0)
    drawn[0, 2], drawn[0, 12] = 0.17 / 0.92, 0.5
    assert box(drawn, 100, 100) == [0, 0, 50, 50]


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [(100, 100, [0, 0, 100, 100]), (100, 1000, [0, 433, 100, 133]), (1000, 100, [433, 0, 133, 100])],
)
def test_without_a_fit_the_middle_is_taken(height: int, width: int, expected: list[int]) -> None:
    drawn = numbers(1.0, 0.0 if width > height else 1.0)
    assert box(drawn, height, width) == expected


@settings(deadline=None)
@given(height=st.integers(1, 400), width=st.integers(1, 400), seed=st.integers(0, 2**31))
def test_boxes_always_lie_inside(height: int, width: int, seed: int) -> None:
    drawn = torch.rand(8, NUMBERS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    top, left, tall, wide = random_boxes(drawn, np.full(8, height), np.full(8, width)).T
    assert (top >= 0).all() and (left >= 0).all() and (tall >= 1).all() and (wide >= 1).all()
    assert (top + tall <= height).all() and (left + wide <= width).all()


def test_areas_and_ratios_are_spread_as_documented() -> None:
    """4,000 boxes in a large square: areas from 8 % up with mean near 1/2 (fewer large ones fit), ratios 3/4 to 4/3."""
    drawn = torch.rand(4000, NUMBERS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    _, _, tall, wide = random_boxes(drawn, np.full(4000, 1000), np.full(4000, 1000)).T
    areas, ratios = tall * wide / 1e6, wide / tall
    assert 0.079 < areas.min() < 0.09 and 0.45 < areas.mean() < 0.54
    assert 0.745 < ratios.min() < 0.76 and 1.32 < ratios.max() < 1.34
    assert np.log(ratios).mean() == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("size", [(224, 224), (37, 51), (300, 20)])
def test_resizing_agrees_with_pillow(size: tuple[int, int]) -> None:
    """Noise is the hardest picture there is."""
    noise = np.random.default_rng(0).integers(0, 256, (120, 90, 3), np.uint8)
    ours = resized(noise, *size).numpy().astype(int)
    pillow = np.asarray(Image.fromarray(noise).resize(size[::-1], Image.Resampling.BILINEAR)).astype(int)
    assert np.abs(ours - pillow).max() <= TOLERANCE


def test_random_views_agree_with_pillow(picture: Callable[..., Image.Image]) -> None:
    """Crop, then resize, image by image in Pillow; the parts lie anywhere in larger images."""
    images = [np.array(picture(seed, 60 + 7 * seed, 90 - 5 * seed)) for seed in range(12)]
    drawn = torch.rand(12, NUMBERS, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    boxes = random_boxes(
        drawn, np.array([image.shape[0] for image in images]), np.array([image.shape[1] for image in images])
    )
    views = random_views(lambda place: images[place], boxes, 64, 3).numpy().astype(int)
    for image, (top, left, height, width), view in zip(images, boxes.tolist(), views, strict=True):
        part = Image.fromarray(image).crop((left, top, left + width, top + height))
        expected = np.asarray(part.resize((64, 64), Image.Resampling.BILINEAR)).astype(int)
        assert np.abs(view - expected).max() <= TOLERANCE


def test_the_central_square_is_resize_then_centre_crop(picture: Callable[..., Image.Image]) -> None:
    """500 x 375 becomes 341 x 256, of which columns 42 to 298 stay (85 / 2 = 42.5 rounds to the even 42)."""
    image = picture(3, 500, 375)
    expected = image.resize((341, 256), Image.Resampling.BILINEAR).crop((42, 0, 298, 256))
    found = central_square(np.array(image), 256).numpy().astype(int)
    assert found.shape == (256, 256, 3)
    assert np.abs(found - np.asarray(expected).astype(int)).max() <= TOLERANCE


def test_the_longer_side_is_rounded_down() -> None:
    assert size_with_short_side(375, 500, 256) == (256, 341)
    assert size_with_short_side(500, 375, 256) == (341, 256)
    assert size_with_short_side(64, 64, 84) == (84, 84)
