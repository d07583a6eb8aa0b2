"""EEIL's second stage: its teacher, its balanced set; and starting again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.memory import Budget
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.selection import herding
from classgrow.recipes import recipe_for
from classgrow.steps import Grow, PhasePlan, Remember, Restart, Snapshot, Train, a_balanced_set
from classgrow.steps.balance import balanced_quota
from classgrow.steps.train import schedule_of

MakeBegin = Callable[..., Any]
Pixels = Callable[..., tuple[Tensor, Tensor]]


def test_a_snapshot_is_a_frozen_copy_from_the_second_phase_on(begin: MakeBegin, pixels: Pixels) -> None:
    start = begin()
    phase = start(*pixels(range(2), 6))
    Grow().run(start.state, phase)
    Snapshot().run(start.state, phase)
    assert not start.state.teacher
    phase = start(*pixels(range(2, 4), 6))
    Grow().run(start.state, phase)
    assert start.state.teacher.head.classes == 2
    Snapshot().run(start.state, phase)
    teacher, network = start.state.teacher, start.state.network
    assert teacher is not network and teacher.head.classes == 4 and not teacher.training
    assert not any(parameter.requires_grad for parameter in teacher.parameters())
    assert all(parameter.requires_grad for parameter in network.parameters())
    rows = teacher.head.rows().clone()
    Train(CrossEntropy()).run(start.state, phase)
    assert torch.equal(teacher.head.rows(), rows) and not torch.equal(network.head.rows().detach(), rows)


def test_a_restart_returns_to_the_network_before_it_learned(begin: MakeBegin, pixels: Pixels) -> None:
    start = begin(backbone=nn.Sequential(nn.Flatten(), nn.Linear(2, 2)))
    blank = {name: value.clone() for name, value in start.state.network.state_dict().items()}
    for new in (range(2), range(2, 4)):
        phase = start(*pixels(new, 6))
        Restart().run(start.state, phase)
        now = start.state.network.state_dict()
        assert now.keys() == blank.keys() and all(torch.equal(now[name], blank[name]) for name in blank)
        assert start.state.teacher is None and start.state.network is not start.state.blank
        assert all(parameter.requires_grad for parameter in start.state.network.parameters())
        Grow().run(start.state, phase)
        assert start.state.network.head.classes == new.stop
        Train(CrossEntropy()).run(start.state, phase)
        assert not torch.equal(start.state.network.backbone[1].weight, blank["backbone.1.weight"])


@pytest.mark.parametrize(
    ("memory", "old", "new", "expected"),
    [
        (1000, 10, 10, 100),  # ⌊(1000 + 10·100)/20⌋
        (1000, 20, 10, 50),
        (1000, 30, 10, 33),  # ⌊1330/40⌋ = ⌊33.25⌋
        (1000, 60, 10, 16),  # ⌊1160/70⌋ = ⌊16.57⌋
        (2000, 10, 10, 200),
        (2000, 50, 10, 40),
        (2000, 60, 10, 33),  # ⌊2330/70⌋ = ⌊33.29⌋
        (2000, 90, 10, 22),  # ⌊2220/100⌋ = ⌊22.2⌋
        (10, 3, 5, 3),  # ⌊(10 + 5·3)/8⌋ = ⌊3.125⌋
    ],
)
def test_images_per_new_class_of_the_balanced_set(memory: int, old: int, new: int, expected: int) -> None:
    """EEIL: ⌊(M + new·⌊M/old⌋)/seen⌋, about what each old class has."""
    assert balanced_quota(Budget(total=memory), old, new) == expected


def test_a_number_per_class_is_the_same_for_all() -> None:
    assert balanced_quota(Budget(per_class=20), 7, 3) == 20


class Pick(nn.Module):
    """Features that look at some of the pixels only."""

    def __init__(self, *columns: int) -> None:
        super().__init__()
        self.columns = columns
        self.anything = nn.Parameter(torch.zeros(()))

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)[:, list(self.columns)]


def test_the_network_after_the_first_stage_chooses(begin: MakeBegin, pixels: Pixels) -> None:
    """12 images for 2 + 2 classes: all 6 exemplars of each old class, ⌊(12 + 2·6)/4⌋ = 6 of each new one, by the
    teacher, who looks at the first two pixels; the network itself looks at the last two by now."""
    start = begin(backbone=Pick(0, 1), budget=Budget(total=12))
    phase = start(*pixels(range(2), 40, width=4))
    Grow().run(start.state, phase)
    Remember(herding).run(start.state, phase)
    images, labels = pixels(range(2, 4), 40, width=4, seed=1)
    phase = start(images, labels)
    Grow().run(start.state, phase)
    Snapshot().run(start.state, phase)
    start.state.network.backbone.columns = (2, 3)

    balanced = a_balanced_set(start.state, phase)
    assert torch.bincount(balanced.labels).tolist() == [6, 6, 6, 6]
    pixels_of_new = images[:, 0, :, 0].double() / 255
    for label in (2, 3):
        mine = pixels_of_new[labels == label]
        chosen = balanced.read(torch.nonzero(balanced.labels == label)[:, 0])[:, 0, :, 0].double() / 255
        by_teacher, by_student = (
            mine[herding([functional.normalize(mine[:, columns]).float()], 6, torch.Generator())[0]]
            for columns in ([0, 1], [2, 3])
        )
        torch.testing.assert_close(chosen, by_teacher)
        assert not torch.equal(chosen, by_student)
    old = balanced.read(torch.nonzero(balanced.labels < 2)[:, 0])
    assert torch.equal(old, start.state.memory.images)


def test_the_second_stage_is_for_later_phases_only(begin: MakeBegin, pixels: Pixels) -> None:
    stage = Train(CrossEntropy(), data=a_balanced_set, schedule="fine_tune", later_only=True)
    start = begin()
    phase = start(*pixels(range(2), 6))
    Grow().run(start.state, phase)
    before = start.state.network.head.rows().detach().clone()
    stage.run(start.state, phase)
    assert torch.equal(before, start.state.network.head.rows()) and phase.log.images == 0


def test_which_schedule_a_stage_takes() -> None:
    recipe = recipe_for("eeil", "cifar")
    assert [schedule_of(recipe, "main", phase).epochs for phase in (1, 2, 3)] == [90, 60, 60]
    assert schedule_of(recipe, "fine_tune", 2).epochs == 40
    assert schedule_of(recipe_for("fgp", "cifar"), "fine_tune", 2) == recipe_for("fgp", "cifar").later


def test_the_second_stage_goes_on_until_it_has_made_enough_updates(begin: MakeBegin, pixels: Pixels) -> None:
    """2 + 2 balanced images and 4 exemplars in batches of 4 make 2 updates an epoch: 9 updates take 5 epochs, 40 images
    after the 12 of the first stage. As planned."""
    start = begin(budget=Budget(total=4))
    phase = start(*pixels(range(2), 4))
    Grow().run(start.state, phase)
    Remember(herding).run(start.state, phase)
    recipe = replace(recipe_for("eeil", "digits", epochs=1), batch_size=4, fine_tune_updates=9)
    phase = start(*pixels(range(2, 4), 4), recipe=recipe)
    balanced = Train(CrossEntropy(), data=a_balanced_set, schedule="fine_tune", later_only=True)
    for step in (Grow(), Train(CrossEntropy()), Snapshot(), balanced):
        step.run(start.state, phase)
    assert phase.log.images == 12 + 40
    assert balanced.planned_images(PhasePlan(2, recipe, everything=12, balanced=8)) == 40
    assert balanced.planned_images(PhasePlan(1, recipe, everything=8, balanced=0)) == 0


def test_both_stages_are_logged(begin: MakeBegin, pixels: Pixels) -> None:
    """8 images of new classes, one epoch; then 2 + 2 balanced and 4 exemplars, one epoch: 12 + 8 images trained on,
    and the larger set is the one reported."""
    start = begin(budget=Budget(total=4))
    phase = start(*pixels(range(2), 4))
    Grow().run(start.state, phase)
    Remember(herding).run(start.state, phase)
    phase = start(*pixels(range(2, 4), 4), recipe=recipe_for("eeil", "digits", epochs=1))
    balanced = Train(CrossEntropy(), data=a_balanced_set, schedule="fine_tune")
    for step in (Grow(), Train(CrossEntropy()), Snapshot(), balanced):
        step.run(start.state, phase)
    assert (phase.log.training_images, phase.log.images) == (12, 20)
