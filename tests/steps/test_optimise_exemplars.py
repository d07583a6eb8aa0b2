"""Mnemonics: the outer loss falls, and its gradient through the unrolled steps is the true one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.data.labelled import ArrayStore
from classgrow.engine.augment import plain
from classgrow.engine.runtime import Execution
from classgrow.inputs import Inputs
from classgrow.learner import Learner
from classgrow.memory import Budget
from classgrow.methods.mnemonics import mnemonics
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.heads import CosineHead, LinearHead
from classgrow.parts.selection import herding
from classgrow.seeds import seeded
from classgrow.steps import Grow, OptimiseExemplars, Remember, Train
from classgrow.steps.optimise_exemplars import Moments, plain_range

MakeBegin = Callable[..., Any]
Pixels = Callable[..., tuple[Tensor, Tensor]]


class Smooth(nn.Module):
    """A convolution and a bend without corners: finite differences need none."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, 2)

    def forward(self, images: Tensor) -> Tensor:
        return torch.tanh(self.convolution(images)).mean((2, 3))


def smooth_network(head: Any) -> Network:
    with seeded(3, "test"):
        network = Network(Smooth(), head.build(3))
        network.head.grow(2)
        network.head.grow(2, freeze_old=True)
    return network.double().eval()


def batch(count: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 1, 3, 3, generator=generator, dtype=torch.float64), torch.arange(count) % 4


@pytest.mark.parametrize("unroll", ["network", "head"])
@pytest.mark.parametrize("head", [LinearHead(), CosineHead()], ids=["linear", "cosine"])
def test_gradients_through_the_unroll_match_finite_differences(unroll: Any, head: Any) -> None:
    """Four exemplars of 3 x 3 pixels, three inner steps, long ones so that second derivatives matter."""
    network, validation = smooth_network(head), batch(6, seed=1)
    step = OptimiseExemplars(inner_steps=3, inner_lr=0.5, unroll=unroll)
    images, labels = batch(4, seed=2)

    def outer(images: Tensor) -> Tensor:
        return step.outer_loss(network, (images, labels), validation)

    assert torch.autograd.gradcheck(outer, images.requires_grad_(True))
    (slope,) = torch.autograd.grad(outer(images), images)
    assert float(slope.abs().max()) > 1e-4
    assert all(parameter.grad is None for parameter in network.parameters())


@pytest.mark.parametrize("unroll", ["network", "head"])
def test_the_unroll_is_plain_sgd_on_the_exemplars(unroll: Any) -> None:
    """The same steps taken by an optimiser on a real copy give the same outer loss; `head` leaves the backbone."""
    exemplars, validation = batch(4, seed=2), batch(6, seed=1)
    expected = smooth_network(LinearHead())
    learning = expected.parameters() if unroll == "network" else expected.head.parameters()  # type: ignore[attr-defined]
    optimiser = torch.optim.SGD(learning, lr=0.5)
    for _ in range(3):
        optimiser.zero_grad()
        functional.cross_entropy(expected(exemplars[0]).logits, exemplars[1]).backward()
        optimiser.step()
    with torch.no_grad():
        by_hand = functional.cross_entropy(expected(validation[0]).logits, validation[1])
    network = smooth_network(LinearHead())
    before = {name: value.clone() for name, value in network.state_dict().items()}
    step = OptimiseExemplars(inner_steps=3, inner_lr=0.5, unroll=unroll)
    assert step.outer_loss(network, exemplars, validation).item() == pytest.approx(by_hand.item(), rel=1e-9)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def striped(labels: range, count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """6 x 6 pixels: class k has a bright column k under noise."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 120, (count * len(labels), 6, 6, 1), generator=generator, dtype=torch.uint8)
    numbers = torch.tensor(labels).repeat_interleave(count)
    for image, label in zip(images, numbers.tolist(), strict=True):
        image[:, label] += 80
    return images, numbers


def two_phases(begin: MakeBegin, memory: int = 16) -> tuple[Any, Any]:
    """Two classes, then two more, trained for one epoch each and herded."""
    with seeded(1, "test"):
        start = begin(CosineHead(), 32, Budget(total=memory), SmallNet(1))
    for new in (range(2), range(2, 4)):
        phase = start(*striped(new, 16, seed=new.start))
        for step in (Grow(), Train(CrossEntropy()), Remember(herding)):
            step.run(start.state, phase)
    return start.state, phase


def test_the_outer_loss_falls(begin: MakeBegin) -> None:
    """Exemplars of the new classes before, on the way and at the end, all else equal: mean loss on fixed validation
    batches of a copy that took the inner steps on them."""
    state, phase = two_phases(begin)
    step = OptimiseExemplars(outer_epochs=3, outer_lr=0.02, inner_steps=2, inner_lr=0.3, batch_size=32)
    judges = [step.phase_data(state, phase)(torch.Generator().manual_seed(seed)) for seed in range(4)]
    new = state.memory.labels >= 2

    def outer_loss() -> float:
        exemplars = plain(state.memory.images[new], phase.inputs), state.memory.labels[new]
        losses = [float(step.outer_loss(state.network.eval(), exemplars, judge).detach()) for judge in judges]
        return sum(losses) / len(losses)

    losses = [outer_loss()]
    for _ in range(3):
        step.run(state, phase)
        losses.append(outer_loss())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.01, losses


def test_only_pixels_change_and_they_stay_pixels(begin: MakeBegin) -> None:
    """Even with a step so long that everything runs into black or white."""
    state, phase = two_phases(begin)
    before = state.pack()[0]
    OptimiseExemplars(outer_epochs=1, outer_lr=5.0, inner_steps=1, batch_size=8).run(state, phase)
    after = state.pack()[0]
    assert [name for name in after if not torch.equal(after[name], before[name])] == ["memory.images"]
    assert state.memory.images.dtype == torch.uint8 and state.memory.images.shape == before["memory.images"].shape
    assert {0, 255} <= set(state.memory.images.unique().tolist())
    assert phase.log.remember_seconds > 0


def test_black_and_white_as_the_network_sees_them(begin: MakeBegin) -> None:
    """Two channels with mean 0.5 and 0.25, deviation 0.5 and 0.25: from -1 to 1 and from -1 to 3."""
    _, phase = two_phases(begin)
    phase = replace(phase, inputs=Inputs(6, 2, (0.5, 0.25), (0.5, 0.25), 0, False, 0.0))
    black, white = plain_range(phase, torch.zeros(1, 2, 6, 6))
    assert black.flatten().tolist() == pytest.approx([-1, -1]) and white.flatten().tolist() == pytest.approx([1, 3])


@dataclass(frozen=True)
class Listening(OptimiseExemplars):
    """Changes nothing, and notes which exemplars would be tuned and what would judge them."""

    heard: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def optimise(self, state: Any, phase: Any, tuned: Tensor, validation: Any, job: int) -> Tensor:
        self.heard.append((tuned, validation(torch.Generator())[1]))
        images: Tensor = state.memory.images[tuned]
        return images


def test_old_exemplars_are_tuned_in_two_halves(begin: MakeBegin) -> None:
    """16 images for 4 classes, ranks 0 to 3. New ones: judged by the phase's 32 images and the 8 old exemplars.
    Old ones of even rank: judged by those of odd rank, then the other way round."""
    state, phase = two_phases(begin)
    step = Listening(batch_size=100)
    before = state.memory.images.clone()
    step.run(state, phase)
    assert torch.equal(before, state.memory.images)
    (new, by_data), (even, by_odd), (odd, by_even) = step.heard
    labels, ranks = state.memory.labels, state.memory.ranks
    assert sorted(labels[new].tolist()) == [2] * 4 + [3] * 4
    assert torch.bincount(by_data).tolist() == [4, 4, 16, 16]
    assert set(ranks[even].tolist()) == {0, 2} and set(ranks[odd].tolist()) == {1, 3}
    for half in (even, odd):
        assert sorted(labels[half].tolist()) == [0, 0, 1, 1]
    assert torch.bincount(by_odd).tolist() == torch.bincount(by_even).tolist() == [2, 2]
    assert torch.equal(torch.cat((new, even, odd)).sort().values, torch.arange(16))


def test_a_half_without_judges_stays_as_it_is(begin: MakeBegin) -> None:
    """One exemplar per class: no odd ranks."""
    state, phase = two_phases(begin, memory=4)
    step = Listening()
    step.run(state, phase)
    assert len(step.heard) == 1


def test_exemplars_larger_than_what_the_network_sees(begin: MakeBegin) -> None:
    """8 x 8 pixels of which the network sees the 6 x 6 in the middle: the rest keeps its pixels."""
    state, phase = two_phases(begin)
    inside = torch.zeros(8, 8, dtype=torch.bool)
    inside[1:7, 1:7] = True
    state.memory.images = functional.pad(state.memory.images, (0, 0, 1, 1, 1, 1), value=7)
    pixels = phase.data.read(torch.arange(len(phase.data)))
    data = replace(phase.data, store=ArrayStore(functional.pad(pixels, (0, 0, 1, 1, 1, 1))))
    phase = replace(phase, data=data, inputs=replace(phase.inputs, crop="resized"))
    before = state.memory.images.clone()
    OptimiseExemplars(outer_epochs=1, outer_lr=0.1, inner_steps=1, batch_size=8).run(state, phase)
    assert torch.equal(state.memory.images[:, ~inside], before[:, ~inside])
    assert not torch.equal(state.memory.images[:, inside], before[:, inside])


def learned(method: Any) -> Learner:
    learner = Learner(method, memory=12, epochs=1, execution=Execution(threads=1))
    for new in (range(2), range(2, 4)):
        images, labels = striped(new, 8)
        learner.learn(np.asarray(images), labels.tolist())
    return learner


def test_without_outer_epochs_it_is_hou19_exactly() -> None:
    one = learned(mnemonics(optimise=OptimiseExemplars(outer_epochs=0))).state.pack()[0]
    other = learned("lucir").state.pack()[0]
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_means_are_those_of_the_optimised_exemplars() -> None:
    learner = learned(mnemonics(optimise=OptimiseExemplars(outer_epochs=1, inner_steps=1, outer_lr=0.5)))
    means = learner.state.fitted["nearest"]["means"].clone()
    learner.refit_rules()
    assert torch.equal(means, learner.state.fitted["nearest"]["means"])


def test_it_says_what_it_will_cost(begin: MakeBegin) -> None:
    """16 exemplars in jobs of 8, 4 and 4, batches of 4: 2 + 1 + 1 outer steps, three epochs."""
    state, phase = two_phases(begin)
    said: list[str] = []
    phase.progress.say = said.append
    Listening(outer_epochs=3, batch_size=4).run(state, phase)
    assert said == ["optimising 16 exemplars: 12 outer steps, each unrolling 5 steps on 4 images"]


def test_adam_moves_only_the_batch_and_by_the_rate_at_first() -> None:
    """First step: mean = g, spread = g², so the direction is sign(g); the others' moments stay 0."""
    moments = Moments(torch.zeros(3, 2), torch.zeros(3, 2))
    direction = moments.step(torch.tensor([0, 2]), torch.tensor([[4.0, -0.5], [1.0, 2.0]]), times=1)
    assert torch.allclose(direction, torch.tensor([[1.0, -1.0], [1.0, 1.0]]))
    assert torch.equal(moments.first[1], torch.zeros(2)) and torch.equal(moments.second[1], torch.zeros(2))
    reference = torch.zeros(2, requires_grad=True)
    adam = torch.optim.Adam([reference], lr=1.0)
    for times, slope in ((1, [4.0, -0.5]), (2, [1.0, 1.0])):
        reference.grad = torch.tensor(slope)
        adam.step()
        if times == 2:
            direction = direction[0] + moments.step(torch.tensor([0]), torch.tensor([slope]), times)[0]
    assert torch.allclose(-reference.detach(), direction, atol=1e-6)
