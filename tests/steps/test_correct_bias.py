"""BiC's two numbers on a problem whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from classgrow.memory import HELD_OUT
from classgrow.parts.heads import LinearHead
from classgrow.steps import CorrectBias, Grow
from classgrow.steps.remember import keep

MakeBegin = Callable[..., Any]
LN3 = math.log(3)


def biased_toy() -> tuple[Tensor, Tensor]:
    """One old and one new class, z_old = 0. The honest logit of the new class is ln 3 for the first four images and
    -ln 3 for the last four: it is right in 3 of 4 and in 1 of 4 cases, and so are the labels. The head says 2·z + 1
    instead, so alpha = ½ and beta = -½ undo its bias; cross-entropy is least there, as
    Σ (σ(z) - y) = 4·¾ - 3 + 4·¼ - 1 = 0, in each group of four."""
    honest = torch.tensor([LN3] * 4 + [-LN3] * 4)
    logits = torch.stack((torch.zeros(8), 2 * honest + 1), dim=1)
    return logits, torch.tensor([1, 1, 1, 0, 1, 0, 0, 0])


def test_a_known_bias_is_undone() -> None:
    logits, labels = biased_toy()
    pair = CorrectBias(penalty=0.0).fit(logits.repeat(32, 1), labels.repeat(32), 1, torch.Generator().manual_seed(0))
    assert pair.tolist() == pytest.approx([0.5, -0.5], abs=5e-3)


def test_no_bias_no_correction() -> None:
    """The honest logits themselves: (1, 0)."""
    logits, labels = biased_toy()
    honest = torch.stack((logits[:, 0], (logits[:, 1] - 1) / 2), dim=1)
    pair = CorrectBias().fit(honest.repeat(8, 1), labels.repeat(8), 1, torch.Generator().manual_seed(0))
    assert pair.tolist() == pytest.approx([1.0, 0.0], abs=2e-3)


def test_the_penalty_pulls_beta_towards_zero() -> None:
    """At the end the slopes of mean cross-entropy + 0.1·beta²/2 vanish: mean((p - y)·u) = 0 and
    mean(p - y) + 0.1·beta = 0, p being the new class's probability and u its logit."""
    logits, labels = biased_toy()
    alpha, beta = CorrectBias().fit(logits.repeat(8, 1), labels.repeat(8), 1, torch.Generator().manual_seed(0)).tolist()
    assert -0.5 < beta < -0.1
    excess = torch.sigmoid(alpha * logits[:, 1] + beta) - labels
    assert float((excess * logits[:, 1]).mean()) == pytest.approx(0, abs=2e-3)
    assert float(excess.mean()) + 0.1 * beta == pytest.approx(0, abs=2e-3)


@pytest.fixture
def corrected(begin: MakeBegin) -> Any:
    """Two classes, then one more; one held-out image of each old class, two withheld of the new one; corrected."""
    start = begin(LinearHead())
    old = torch.tensor([[250, 0], [0, 250]] * 2, dtype=torch.uint8).reshape(4, 1, 2, 1)
    phase = start(old, torch.tensor([0, 1, 0, 1]))
    Grow().run(start.state, phase)
    CorrectBias().run(start.state, phase)
    assert start.state.network.head.correction.tolist() == [1.0, 0.0]  # nothing to correct in the first phase
    keep(start.state, phase.data.select(torch.tensor([0])), HELD_OUT)
    keep(start.state, phase.data.select(torch.tensor([1])), HELD_OUT)
    new = torch.tensor([[200, 200]] * 3, dtype=torch.uint8).reshape(3, 1, 2, 1)
    phase = start(new, torch.tensor([2, 2, 2]))
    Grow().run(start.state, phase)
    start.state.network.head.bias.data[2] = 5.0  # a strong preference for the new class
    start.state.withheld = torch.tensor([0, 2])
    start.before = start.state.pack()[0]
    CorrectBias().run(start.state, phase)
    start.phase = phase
    return start


def test_nothing_but_the_pair_changes(corrected: Any) -> None:
    after = corrected.state.pack()[0]
    changed = [name for name in after if not torch.equal(after[name], corrected.before[name])]
    assert after.keys() == corrected.before.keys()
    assert changed == ["network.head.correction"]
    alpha, beta = corrected.state.network.head.correction.tolist()
    assert beta < 0 and corrected.phase.log.notes == [f"alpha {alpha:.3f}, beta {beta:.3f}"]


def test_the_corrected_head_predicts(corrected: Any) -> None:
    """Old logits stay, new ones become alpha·a + beta."""
    network = corrected.state.network.eval()
    image = torch.tensor([[[[0.5, 0.2]]]])
    with torch.no_grad():
        found = network(image).logits[0]
        raw = network.head.weight @ torch.tensor([0.5, 0.2]) + network.head.bias
    alpha, beta = network.head.correction
    torch.testing.assert_close(found, torch.stack((raw[0], raw[1], alpha * raw[2] + beta)))


def test_the_teacher_carries_its_own_pair(corrected: Any) -> None:
    """In the next phase the student starts at (1, 0), which now applies to the newest classes; the teacher answers as
    the corrected head did, with its pair on the block that was new then."""
    state = corrected.state
    pair = state.network.head.correction.clone()
    image = torch.tensor([[[[0.5, 0.2]]]])
    with torch.no_grad():
        before = state.network.eval()(image).logits
    phase = corrected(torch.full((2, 1, 2, 1), 9, dtype=torch.uint8), torch.tensor([3, 3]))
    Grow().run(state, phase)
    assert state.network.head.correction.tolist() == [1.0, 0.0]
    assert torch.equal(state.teacher.head.correction, pair)
    with torch.no_grad():
        assert torch.equal(state.teacher(image).logits, before)
        features = torch.tensor([0.5, 0.2])
        raw = state.network.head.weight @ features + state.network.head.bias
        torch.testing.assert_close(state.network(image).logits[0], raw)


def test_classes_of_one_image_leave_nothing_to_fit(begin: MakeBegin) -> None:
    start = begin(LinearHead())
    for label in (0, 1):
        phase = start(torch.full((1, 1, 2, 1), 9, dtype=torch.uint8), torch.tensor([label]))
        Grow().run(start.state, phase)
        CorrectBias().run(start.state, phase)
    assert start.state.network.head.correction.tolist() == [1.0, 0.0]
