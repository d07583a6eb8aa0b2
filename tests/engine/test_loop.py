"""The training loop on a problem of twenty images."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from classgrow.data.labelled import LabelledImages
from classgrow.engine.batches import training_batches
from classgrow.engine.loop import Fit, Training, make_optimiser
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.heads import CosineHead, LinearHead
from classgrow.progress import Silent
from classgrow.recipes import Recipe, Schedule
from classgrow.seeds import generator, seeded
from classgrow.views import BatchView, ClassCounts

SCHEDULE = Schedule(epochs=4, lr=0.1, drops=(3,), factor=0.1)
RECIPE = Recipe(SCHEDULE, SCHEDULE, None, 0.9, 1e-4, "all", batch_size=8, drop_last=False)


class Counting(Silent):
    """How many images went by."""

    images = 0

    def advance(self, images: int) -> None:
        self.images += images


class Flat(nn.Module):
    """Pixels as features: a backbone with nothing to learn."""

    features = 16

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)


def network() -> Network:
    with seeded(1, "test"):
        made = Network(SmallNet(1), LinearHead().build(32))
        made.head.grow(2)
    return made


@pytest.fixture
def training(left_or_right: LabelledImages, inputs: Inputs, runtime: Runtime) -> Training:
    return Training(
        network=network(),
        teacher=None,
        data=left_or_right,
        objective=CrossEntropy(),
        schedule=SCHEDULE,
        recipe=RECIPE,
        inputs=inputs,
        counts=ClassCounts(0, 2),
        blocks=(2,),
        runtime=runtime,
        seed=1,
        place=("phase", 1),
    )


def run(training: Training, fit: Fit | None = None) -> list[Fit]:
    """Train to the end; what was known after each epoch."""
    seen: list[Fit] = []
    training.run(fit or Fit(), Silent(), lambda fit: seen.append(copy.deepcopy(fit)))
    return seen


def weights(network: Network) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_loss_falls(training: Training) -> None:
    fits = run(replace(training, schedule=replace(SCHEDULE, epochs=8, drops=())))
    assert fits[-1].loss < 0.3 * fits[0].loss
    assert (fits[-1].epoch, fits[-1].images) == (8, 160)
    assert fits[-1].seconds > 0


def test_the_same_seed_gives_the_same_bits_and_another_does_not(training: Training) -> None:
    results = []
    for seed in (1, 1, 2):
        one = replace(training, network=network(), seed=seed)
        run(one)
        results.append(weights(one.network))
    assert same(results[0], results[1]) and not same(results[0], results[2])


def test_going_on_from_saved_momentum_is_the_same_to_the_bit(training: Training) -> None:
    run(training)
    first = replace(training, network=network(), schedule=replace(SCHEDULE, epochs=2))
    half = run(first)[-1]
    second = replace(training, network=network())
    second.network.load_state_dict(first.network.state_dict())
    fits = run(second, copy.deepcopy(half))
    assert same(weights(training.network), weights(second.network))
    assert [fit.epoch for fit in fits] == [3, 4] and fits[-1].images == 80
    forgetful = replace(training, network=network())
    forgetful.network.load_state_dict(first.network.state_dict())
    run(forgetful, replace(half, momentum={}))
    assert not same(weights(training.network), weights(forgetful.network))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_within_fifty_steps(training: Training, bad: float) -> None:
    def broken(view: BatchView) -> list[tuple[float, Tensor, float]]:
        return [(1.0, view.student.logits.sum() * bad, 1.0)]

    data = training.data.select(torch.arange(20).repeat(4))
    one_by_one = replace(training, objective=broken, recipe=replace(RECIPE, batch_size=1), data=data)
    progress = Counting()
    with pytest.raises(ClassgrowError, match="stopped being a number in phase 1, epoch 1"):
        one_by_one.run(Fit(), progress, lambda fit: None)
    assert progress.images == 50


def test_learning_rates_follow_the_schedule(training: Training) -> None:
    """The loss is the sum of the rows, so every weight falls by exactly lr a step; one step an epoch."""

    def sum_of_rows(view: BatchView) -> list[tuple[float, Tensor, float]]:
        return [(1.0, view.student.embeddings.sum(), 1.0)]

    made = Network(Flat(), CosineHead().build(16))
    made.head.grow(2)
    recipe = replace(RECIPE, momentum=0.0, weight_decay=0.0, batch_size=20)
    values = [float(made.head.rows().detach()[0, 0])]
    one = replace(training, network=made, objective=sum_of_rows, recipe=recipe)
    one = replace(one, schedule=Schedule(4, 0.5, (1, 3), 0.1))
    one.run(Fit(), Silent(), lambda fit: values.append(float(made.head.rows().detach()[0, 0])))
    steps = [before - after for before, after in pairwise(values)]
    assert steps == pytest.approx([0.5, 0.05, 0.05, 0.005], abs=1e-6)


def test_terms_are_weighted_and_divided_by_their_count(training: Training) -> None:
    """2 · 6/3 + 0.5 · 8/4 = 5; a mean over no samples adds 0."""

    def terms(view: BatchView) -> list[tuple[float, Tensor, Tensor | float]]:
        return [(2.0, torch.tensor(6.0), 3.0), (0.5, torch.tensor(8.0), 4.0), (1.0, torch.tensor(0.0), torch.tensor(0))]

    loss = replace(training, objective=terms).loss(torch.zeros(2, 1, 4, 4), torch.tensor([0, 1]))
    assert float(loss) == 5.0


def test_student_and_teacher_are_forwarded_once_and_the_teacher_without_gradient(training: Training) -> None:
    calls: list[str] = []
    views: list[BatchView] = []

    def objective(view: BatchView) -> Any:
        views.append(view)
        return CrossEntropy()(view)

    teacher = copy.deepcopy(training.network).eval()
    teacher.backbone.register_forward_hook(lambda *_: calls.append("teacher"))
    training.network.backbone.register_forward_hook(lambda *_: calls.append("student"))
    one = replace(training, teacher=teacher, objective=objective, counts=ClassCounts(1, 1), blocks=(1, 1))
    one.loss(torch.zeros(2, 1, 4, 4), torch.tensor([0, 1])).backward()  # type: ignore[no-untyped-call]
    assert sorted(calls) == ["student", "teacher"]
    assert views[0].teacher is not None and not views[0].teacher.logits.requires_grad
    assert views[0].student.logits.requires_grad
    assert (views[0].counts, views[0].blocks) == (ClassCounts(1, 1), (1, 1))
    assert all(parameter.grad is None for parameter in teacher.parameters())


def test_who_decays() -> None:
    """All parameters; or all but biases and batch-norm shifts; never what is frozen."""
    made = network()
    names = {id(parameter): name for name, parameter in made.named_parameters()}
    (everyone,) = make_optimiser(made, RECIPE).param_groups
    assert len(everyone["params"]) == len(names) and everyone["weight_decay"] == 1e-4
    decayed, spared = make_optimiser(made, replace(RECIPE, decay="weights")).param_groups
    assert (decayed["weight_decay"], spared["weight_decay"]) == (1e-4, 0.0)
    found = {names[id(parameter)] for parameter in spared["params"]}
    assert {"head.bias", "backbone.bn1.bias"} <= found and all(name.endswith("bias") for name in found)
    assert "backbone.bn1.weight" in {names[id(parameter)] for parameter in decayed["params"]}
    made.backbone.requires_grad_(False)
    (heads,) = make_optimiser(made, RECIPE).param_groups
    assert {names[id(parameter)] for parameter in heads["params"]} == {"head.weight", "head.bias"}


def test_images_of_an_epoch_when_the_last_batch_is_dropped(training: Training) -> None:
    assert training.epoch_images() == 20
    assert replace(training, recipe=replace(RECIPE, drop_last=True)).epoch_images() == 16
    assert replace(training, recipe=replace(RECIPE, drop_last=True, batch_size=64)).epoch_images() == 20


def one_rate_an_epoch(training: Training) -> None:
    """The loop as it was while a rate held for a whole epoch."""
    optimiser, schedule = make_optimiser(training.network, training.recipe), training.schedule
    for epoch in range(schedule.epochs):
        for group in optimiser.param_groups:
            group["lr"] = schedule.lr * schedule.factor ** sum(drop <= epoch for drop in schedule.drops)
        training.network.train()
        draws = generator(training.seed, *training.place, "epoch", epoch)
        for images, labels in training_batches(training.data, training.inputs, 8, False, draws, training.runtime):
            loss = training.loss(images, labels)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()


def test_rates_for_every_update_leave_steps_as_they_were_to_the_bit(training: Training) -> None:
    before = replace(training, network=copy.deepcopy(training.network))
    one_rate_an_epoch(before)
    run(training)
    assert_equal_weights(training.network, before.network)


@pytest.mark.parametrize("shape", ["linear", "cosine", "one-cycle"])
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_resumes_within_a_schedule_to_the_bit(training: Training, shape: Any, stop: int) -> None:
    """Twenty images in batches of 8 are three updates an epoch: the rate after `stop` epochs is that of 3 x stop."""
    schedule = Schedule(4, 0.1, (), 1.0, shape, warm_up=0.4)
    whole = replace(training, schedule=schedule, network=copy.deepcopy(training.network))
    assert whole.rate(stop, 1) == schedule.rate((3 * stop + 1.5) / 12)
    weights: dict[int, dict[str, Tensor]] = {}
    fits: dict[int, Fit] = {}

    def keep(fit: Fit) -> None:
        fits[fit.epoch] = copy.deepcopy(fit)
        weights[fit.epoch] = copy.deepcopy(whole.network.state_dict())

    whole.run(Fit(), Silent(), keep)
    resumed = replace(whole, network=network())
    resumed.network.load_state_dict(weights[stop])
    run(resumed, fits[stop])
    assert_equal_weights(resumed.network, whole.network)


def assert_equal_weights(one: nn.Module, other: nn.Module) -> None:
    theirs = other.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in one.state_dict().items())
