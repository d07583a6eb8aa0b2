"""Where every pixel goes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from classgrow.engine.augment import Draws, augment, plain
from classgrow.inputs import Inputs

IMAGE = torch.tensor([[10, 20, 30], [40, 50, 60], [70, 80, 90]], dtype=torch.uint8).reshape(1, 3, 3, 1)
UNSCALED = Inputs(3, 1, (0.0,), (1 / 255,), padding=1, mirror=True, brightness=0.0)
"""x / 255 divided by 1/255: pixel values come out as they went in."""


def drawn(corner: tuple[int, int] = (1, 1), mirrored: bool = False, brightness: float = 1.0) -> Draws:
    """The draws of one image; corner (1, 1) with a padding of 1 is the image in place."""
    return Draws(torch.tensor([corner]), torch.tensor([mirrored]), torch.tensor([brightness]))


def pixels(out: Tensor) -> list[list[float]]:
    return [[round(value, 3) for value in row] for row in out[0, 0].tolist()]


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (drawn(), [[10, 20, 30], [40, 50, 60], [70, 80, 90]]),
        (drawn((0, 0)), [[0, 0, 0], [0, 10, 20], [0, 40, 50]]),
        (drawn((2, 1)), [[40, 50, 60], [70, 80, 90], [0, 0, 0]]),
        (drawn((1, 2)), [[20, 30, 0], [50, 60, 0], [80, 90, 0]]),
        (drawn(mirrored=True), [[30, 20, 10], [60, 50, 40], [90, 80, 70]]),
        (drawn((0, 0), mirrored=True), [[0, 0, 0], [20, 10, 0], [50, 40, 0]]),
    ],
    ids=["in place", "down and right", "up", "left", "mirrored", "cropped, then mirrored"],
)
def test_crop_and_mirror(draws: Draws, expected: list[list[int]]) -> None:
    assert pixels(augment(IMAGE, UNSCALED, draws)) == expected


def test_the_border_is_black_before_normalisation() -> None:
    """mean 0.2, std 0.1: black becomes (0 - 0.2) / 0.1 = -2, and 10/255 becomes (0.0392 - 0.2) / 0.1 = -1.608."""
    out = augment(IMAGE, replace(UNSCALED, mean=(0.2,), std=(0.1,)), drawn((0, 0)))
    assert pixels(out)[0] == [-2.0, -2.0, -2.0]
    assert pixels(out)[1][:2] == [-2.0, -1.608]


def test_brightness_multiplies_and_clamps() -> None:
    """Factor 3 before normalisation: 30, 60, ... and 90 · 3 = 270 stays at 255; where it is off nothing changes."""
    bright = drawn(brightness=3.0)
    found = pixels(augment(IMAGE, replace(UNSCALED, brightness=0.5), bright))
    assert found == [[30, 60, 90], [120, 150, 180], [210, 240, 255]]
    assert pixels(augment(IMAGE, UNSCALED, bright))[2] == [70, 80, 90]


def test_every_image_follows_its_own_draw_in_all_channels() -> None:
    images = torch.randint(0, 256, (5, 4, 4, 3), dtype=torch.uint8)
    inputs = Inputs(4, 3, (0.0,) * 3, (1 / 255,) * 3, padding=2, mirror=True, brightness=0.3)
    draws = Draws.make(5, inputs, torch.Generator().manual_seed(4))
    together = augment(images, inputs, draws)
    for one in range(5):
        own = Draws(draws.corners[one : one + 1], draws.mirrored[one : one + 1], draws.brightness[one : one + 1])
        assert torch.equal(together[one : one + 1], augment(images[one : one + 1], inputs, own))


def test_normalisation_by_channel() -> None:
    """(255/255 - 0.5) / 0.25 = 2, (0 - 0.4) / 0.2 = -2, (51/255 - 0.2) / 0.1 = 0."""
    image = torch.tensor([255, 0, 51], dtype=torch.uint8).reshape(1, 1, 1, 3)
    inputs = Inputs(1, 3, (0.5, 0.4, 0.2), (0.25, 0.2, 0.1), padding=0, mirror=False, brightness=0.0)
    assert plain(image, inputs)[0, :, 0, 0].tolist() == pytest.approx([2.0, -2.0, 0.0], abs=1e-6)
    assert image.flatten().tolist() == [255, 0, 51]


def test_outputs_lie_in_channels_last_memory() -> None:
    images = torch.zeros(2, 4, 4, 3, dtype=torch.uint8)
    inputs = Inputs(4, 3, (0.5,) * 3, (0.5,) * 3, padding=1, mirror=True, brightness=0.2)
    draws = Draws.make(2, inputs, torch.Generator())
    for out in (augment(images, inputs, draws), plain(images, inputs)):
        assert out.shape == (2, 3, 4, 4) and out.dtype == torch.float32
        assert out.is_contiguous(memory_format=torch.channels_last)


def test_ranges_of_the_draws() -> None:
    inputs = replace(UNSCALED, padding=2, brightness=0.25)
    draws = Draws.make(2000, inputs, torch.Generator().manual_seed(0))
    assert sorted(set(draws.corners.flatten().tolist())) == [0, 1, 2, 3, 4]
    assert 900 < int(draws.mirrored.sum()) < 1100
    assert 0.75 <= float(draws.brightness.min()) < 0.76 < 1.24 < float(draws.brightness.max()) <= 1.25
    assert not Draws.make(100, replace(inputs, mirror=False), torch.Generator()).mirrored.any()


def test_processes_share_the_draws_of_one_batch() -> None:
    whole = Draws.make(7, replace(UNSCALED, brightness=0.3), torch.Generator().manual_seed(0))
    shares = [whole.share(rank, 3) for rank in range(3)]
    assert [len(share.mirrored) for share in shares] == [3, 2, 2]
    for rank, share in enumerate(shares):
        assert torch.equal(share.corners, whole.corners[rank::3])
        assert torch.equal(share.mirrored, whole.mirrored[rank::3])
        assert torch.equal(share.brightness, whole.brightness[rank::3])


def test_without_a_crop_the_image_stays_whole() -> None:
    inputs = replace(UNSCALED, crop="none")
    assert pixels(augment(IMAGE, inputs, drawn((0, 0)))) == [[10, 20, 30], [40, 50, 60], [70, 80, 90]]
    assert pixels(augment(IMAGE, inputs, drawn((0, 0), mirrored=True)))[0] == [30, 20, 10]
