"""Large images: random parts in training, the centre in tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from classgrow.data.catalogue import DATASETS
from classgrow.data.crops import NUMBERS
from classgrow.data.labelled import LabelledImages
from classgrow.engine import augment as module
from classgrow.engine.augment import Draws, augment, centre, plain, scale
from classgrow.engine.batches import training_batches
from classgrow.engine.runtime import Execution, Runtime
from classgrow.specs.training import inputs_of

LARGE = replace(inputs_of(DATASETS["imagenet100"], (256, 256, 3)), size=28)


def noise(count: int, side: int = 32) -> Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (count, side, side, 3), np.uint8))


@pytest.fixture
def data() -> LabelledImages:
    return LabelledImages.from_arrays(noise(20), torch.arange(20) % 4)


def epoch(data: LabelledImages, seed: int = 1, processes: int = 1) -> list[tuple[Tensor, Tensor]]:
    runtime = Runtime(Execution(threads=1, processes=processes))
    return list(training_batches(data, LARGE, 8, False, torch.Generator().manual_seed(seed), runtime))


def test_batches_are_the_parts_the_draws_say(data: LabelledImages) -> None:
    """Drawn again by hand: the order, then the draws of each batch in turn."""
    generator = torch.Generator().manual_seed(1)
    order = torch.randperm(20, generator=generator)
    batches = epoch(data)
    assert [len(labels) for _, labels in batches] == [8, 8, 4]
    for (images, labels), positions in zip(batches, order.split(8), strict=True):
        draws = Draws.make(len(positions), LARGE, generator)
        pixels = data.read_random(positions, draws.parts, 28)
        pixels = torch.where(draws.mirrored[:, None, None, None], pixels.flip(2), pixels)
        assert torch.equal(images, scale(pixels.permute(0, 3, 1, 2).float(), LARGE))
        assert torch.equal(labels, data.labels[positions])
        assert images.is_contiguous(memory_format=torch.channels_last)


def test_the_same_seed_gives_the_same_batches(data: LabelledImages) -> None:
    first, second, other = epoch(data), epoch(data), epoch(data, seed=2)
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(first, second, strict=True))
    assert not torch.equal(first[0][0], other[0][0])


def test_a_process_reads_its_share_of_every_batch(data: LabelledImages) -> None:
    """Rank 0 of two: every second image of the batches of one process."""
    for (whole, labels), (share, mine) in zip(epoch(data), epoch(data, processes=2), strict=True):
        assert torch.equal(whole[::2], share)
        assert torch.equal(labels[::2], mine)


def test_other_inputs_draw_no_parts() -> None:
    """Nor do they move the generator any further than they did before there were parts."""
    small = inputs_of(DATASETS["cifar100"], (32, 32, 3))
    generator, by_hand = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    assert Draws.make(6, small, generator).parts.shape == (0, NUMBERS)
    torch.randint(0, 9, (6, 2), generator=by_hand)
    torch.rand(6, generator=by_hand)
    torch.empty(6).uniform_(0, 1, generator=by_hand)
    assert torch.equal(generator.get_state(), by_hand.get_state())
    assert Draws.make(6, LARGE, generator).share(1, 2).parts.shape == (3, NUMBERS)


def test_the_test_view_is_the_centre() -> None:
    """28 of 32 pixels: rows and columns 2 to 30; smaller images stay whole."""
    images = noise(3)
    assert torch.equal(centre(images, LARGE), images[:, 2:30, 2:30])
    assert torch.equal(plain(images, LARGE), scale(images[:, 2:30, 2:30].permute(0, 3, 1, 2).float(), LARGE))
    assert centre(noise(3, 20), LARGE).shape == (3, 20, 20, 3)
    assert centre(images, replace(LARGE, crop="pad")) is images


def test_brightness_still_applies_and_the_given_images_stay() -> None:
    images = noise(2, 28)
    before = images.clone()
    draws = Draws(torch.zeros(2, 2, dtype=torch.long), torch.tensor([True, False]), torch.tensor([0.5, 2.0]))
    found = augment(images, replace(LARGE, brightness=0.5), draws)
    halved = scale((images[:1].flip(2).permute(0, 3, 1, 2).float() * 0.5), LARGE)
    assert torch.equal(found[:1], halved) and torch.equal(images, before)


def test_the_quick_way_gives_the_same_bits_inside_inference_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    images = noise(40)
    with torch.inference_mode():
        quick = plain(images, LARGE)
    assert torch.equal(quick, scale(module.centre(images, LARGE).permute(0, 3, 1, 2).float(), LARGE))
