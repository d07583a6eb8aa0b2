"""How many exemplars are kept and how many images held out in every phase, as METHODS (0 and 4) counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from classgrow.errors import ClassgrowError
from classgrow.memory import HELD_OUT, TRAIN, Budget
from classgrow.parts.selection import closest_to_mean, herding
from classgrow.steps import Grow, HoldOut, Remember
from classgrow.steps.correct_bias import validation_set

MakeBegin = Callable[..., Any]
Pixels = Callable[..., tuple[Tensor, Tensor]]

IMAGES = 500
# Quotas per class after each phase of ten classes: METHODS, section 0.
QUOTAS = {
    (1000, 10): [100, 50, 33, 25, 20, 16, 14, 12, 11, 10],
    (2000, 10): [200, 100, 66, 50, 40, 33, 28, 25, 22, 20],
    (1000, 50): [20, 16, 14, 12, 11, 10],
    (2000, 50): [40, 33, 28, 25, 22, 20],
}
# BiC holds out max(1, ⌊M/10/n⌋) of them.
HELD = {
    (1000, 10): [10, 5, 3, 2, 2, 1, 1, 1, 1, 1],
    (2000, 10): [20, 10, 6, 5, 4, 3, 2, 2, 2, 2],
    (1000, 50): [2, 1, 1, 1, 1, 1],
    (2000, 50): [4, 3, 2, 2, 2, 2],
}
SCENARIOS = list(QUOTAS)


def per_class(state: Any, role: int) -> list[int]:
    """Images of a role for each class seen."""
    mine = state.memory.labels[state.memory.roles == role]
    return torch.bincount(mine, minlength=state.counts.seen).tolist()


def phases(first: int) -> list[range]:
    return [range(first), *(range(start, start + 10) for start in range(first, 100, 10))]


@pytest.mark.parametrize(("memory", "first"), SCENARIOS)
def test_exemplars_of_every_phase(memory: int, first: int, begin: MakeBegin, pixels: Pixels) -> None:
    """All training images, without and with what is remembered: 500 per new class and ⌊M/old⌋ per old one."""
    start = begin(features=4, budget=Budget(total=memory))
    quota_before = 0
    for new, quota in zip(phases(first), QUOTAS[memory, first], strict=True):
        phase = start(*pixels(new, IMAGES, width=4))
        Grow().run(start.state, phase)
        assert len(start.state.training_set(phase.data)) == IMAGES * len(new) + quota_before * new.start
        Remember(herding).run(start.state, phase)
        assert per_class(start.state, TRAIN) == [quota] * new.stop
        assert len(start.state.memory) == quota * new.stop <= memory
        assert start.state.memory.count(HELD_OUT) == 0
        quota_before = quota


@pytest.mark.parametrize(("memory", "first"), SCENARIOS)
def test_exemplars_and_held_out_images_of_every_phase_of_bic(
    memory: int, first: int, begin: MakeBegin, pixels: Pixels
) -> None:
    """In a phase: v = max(1, ⌊M/10/old⌋) images of every class, old or new, decide the correction, and old classes
    train with ⌊M/old⌋ - v. Kept after it: the same with the classes now seen."""
    start = begin(features=4, budget=Budget(total=memory))
    held_before = quota_before = 0
    for new, quota, held in zip(phases(first), QUOTAS[memory, first], HELD[memory, first], strict=True):
        phase = start(*pixels(new, IMAGES, width=4))
        HoldOut(0.1).run(start.state, phase)
        Grow().run(start.state, phase)
        withheld = held_before or held
        assert len(start.state.withheld) == withheld * len(new)
        training = start.state.training_set(phase.data)
        assert len(training) == (IMAGES - withheld) * len(new) + (quota_before - held_before) * new.start
        if new.start:
            balanced = validation_set(start.state, phase)
            assert torch.bincount(balanced.labels).tolist() == [withheld] * new.stop
        Remember(herding, held_out=0.1).run(start.state, phase)
        assert per_class(start.state, TRAIN) == [quota - held] * new.stop
        assert per_class(start.state, HELD_OUT) == [held] * new.stop
        assert len(start.state.memory) == quota * new.stop <= memory
        held_before, quota_before = held, quota


def test_a_number_per_class_holds_out_a_tenth(begin: MakeBegin, pixels: Pixels) -> None:
    """20 per class: 18 to train and 2 held out, in every phase; 3 per class: 2 and 1."""
    for number, held in ((20, 2), (3, 1), (2, 1)):
        start = begin(budget=Budget(per_class=number))
        for new in (range(2), range(2, 3)):
            phase = start(*pixels(new, 60))
            for step in (HoldOut(0.1), Grow(), Remember(herding, held_out=0.1)):
                step.run(start.state, phase)
            assert per_class(start.state, TRAIN) == [number - held] * new.stop
            assert per_class(start.state, HELD_OUT) == [held] * new.stop


def test_one_image_per_class_cannot_be_shared(begin: MakeBegin, pixels: Pixels) -> None:
    start = begin(budget=Budget(per_class=1))
    with pytest.raises(ClassgrowError, match="raise the memory"):
        HoldOut(0.1).run(start.state, start(*pixels(range(2), 10)))


def test_held_out_images_never_train_and_are_never_exemplars(begin: MakeBegin) -> None:
    """Every image has a brightness of its own, so that it can be recognised."""
    start = begin(budget=Budget(total=60))
    images = torch.arange(60, dtype=torch.uint8).reshape(60, 1, 1, 1).expand(60, 1, 2, 1).clone()
    phase = start(images, torch.arange(60) % 2)
    HoldOut(0.1).run(start.state, phase)
    withheld = set(start.state.withheld.tolist())
    training = start.state.training_set(phase.data)
    assert len(withheld) == 6  # ⌊6/2⌋ of each class
    assert {int(image[0, 0, 0]) for image in training.read(torch.arange(len(training)))} == set(range(60)) - withheld
    Grow().run(start.state, phase)
    Remember(herding, held_out=0.1).run(start.state, phase)
    memory = start.state.memory
    roles = [{int(image[0, 0, 0]) for image in memory.images[memory.roles == role]} for role in (TRAIN, HELD_OUT)]
    assert roles[1] == withheld and not roles[0] & withheld and len(roles[0]) == 54


def test_a_memory_large_for_the_data_holds_out_a_share_of_the_class(begin: MakeBegin, pixels: Pixels) -> None:
    """2000 images for two classes of 30: a tenth of the quota would be 100. A tenth of the class is 3; 27 train."""
    start = begin(budget=Budget(total=2000))
    phase = start(*pixels(range(2), 30))
    HoldOut(0.1).run(start.state, phase)
    assert len(start.state.withheld) == 6
    assert torch.bincount(start.state.training_set(phase.data).labels).tolist() == [27, 27]


def test_old_classes_keep_the_best_ranked(begin: MakeBegin, pixels: Pixels) -> None:
    """10 images: five of each of two classes; then three classes, three of each: the first three of the five."""
    start = begin(budget=Budget(total=10))
    for new in (range(2), range(2, 3)):
        phase = start(*pixels(new, 20))
        Grow().run(start.state, phase)
        Remember(closest_to_mean).run(start.state, phase)
        if new.start == 0:
            before = start.state.memory.view(start.state.classes)
            best = [before.read(torch.arange(5 * label, 5 * label + 3)) for label in (0, 1)]
    memory = start.state.memory
    assert memory.ranks.tolist() == [0, 1, 2] * 3
    assert all(torch.equal(memory.images[memory.labels == label], best[label]) for label in (0, 1))


def test_fewer_images_than_the_quota(begin: MakeBegin, pixels: Pixels) -> None:
    start = begin(budget=Budget(total=100))
    phase = start(*pixels(range(2), 7))
    Grow().run(start.state, phase)
    Remember(herding).run(start.state, phase)
    assert per_class(start.state, TRAIN) == [7, 7]


def test_what_they_say() -> None:
    assert str(HoldOut(0.1)) == "hold out 10% of the memory for validation"
    assert str(Remember(closest_to_mean)) == "remember exemplars by closest to mean"
