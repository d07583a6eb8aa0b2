"""WA's step by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from classgrow.data.labelled import ClassLabel
from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.memory import Budget, Memory
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.parts.heads import LinearHead
from classgrow.state import State, frozen_copy
from classgrow.steps.align_weights import AlignWeights

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


class Note:
    notes: list[str]


class Place:
    def __init__(self) -> None:
        self.log = Note()
        self.log.notes = []


def grown(sizes: tuple[int, ...], rows: list[float]) -> State:
    """Each row of the head is (length, 0, 0, ...)."""
    network = Network(SmallNet(1), LinearHead().build(32))
    state = State(network, Memory(Budget(total=10)), frozen_copy(network))
    network.head.grow(sum(sizes))
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.weight[:, 0] = torch.tensor(rows)
    state.classes = tuple(ClassLabel(n, str(n)) for n in range(sum(sizes)))
    state.sizes = sizes
    return state


def test_new_rows_become_as_long_as_old_ones_on_average() -> None:
    """Old rows 1 and 3 (mean 2), new rows 2, 4 and 6 (mean 4): γ = 0.5, so new rows become 1, 2 and 3."""
    state, place = grown((2, 3), [1.0, 3.0, 2.0, -4.0, 6.0]), Place()
    bias = state.network.head.bias.detach().clone()
    AlignWeights().run(state, place)  # type: ignore[arg-type]
    assert state.network.head.weight[:, 0].tolist() == [1.0, 3.0, 1.0, -2.0, 3.0]
    assert torch.equal(state.network.head.bias, bias) and place.log.notes == ["γ 0.500"]


def test_the_first_phase_has_nothing_to_align() -> None:
    state, place = grown((2,), [1.0, 3.0]), Place()
    AlignWeights().run(state, place)  # type: ignore[arg-type]
    assert state.network.head.weight[:, 0].tolist() == [1.0, 3.0] and place.log.notes == []


@pytest.mark.parametrize("sizes", [((0, 1), (2, 3))])
def test_wa_ends_a_phase_with_rows_of_equal_mean_length(sizes: tuple[tuple[int, ...], ...], patches: Patches) -> None:
    one = Learner("wa", memory=12, epochs=2, execution=Execution(threads=1))
    for classes in sizes:
        one.learn(*patches(list(classes), per_class=8))
    norms = one.state.network.head.rows().detach().norm(dim=1)
    assert float(norms[:2].mean()) == pytest.approx(float(norms[2:].mean()), rel=1e-5)
