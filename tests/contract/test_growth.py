"""What every method promises while classes arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from classgrow.engine.loop import Training
from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.methods.catalogue import METHODS

Teach = Callable[..., Learner]
Watched = Callable[[Method], tuple[Method, Any]]
UnseenImages = Callable[[int], np.ndarray]

# One class first, one class later, more at once than all before, and on from there.
SIZES = (1, 1, 3, 2)
RESTARTS = {"joint"}
NO_BUDGET = {"joint"}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def state_of(learner: Learner) -> dict[str, Tensor]:
    """Everything the learner knows, as tensors."""
    return learner.state.pack()[0]


def test_old_rows_survive_growth(name: str, teach: Teach, watched: Watched) -> None:
    method, watch = watched(build_method(name))
    teach(method, SIZES)
    assert len(watch.seen) == 3
    for (before, after), old in zip(watch.seen, (1, 2, 5), strict=True):
        assert len(before["rows"]) == (0 if name in RESTARTS else old)
        assert same(before, after)


@pytest.mark.parametrize(
    "memory", [{"memory": 24}, {"memory": None, "memory_per_class": 3}], ids=["total", "per class"]
)
def test_memory_keeps_its_budget_after_every_phase(name: str, memory: dict[str, int | None], teach: Teach) -> None:
    """Held-out images count too."""
    kept: list[Tensor] = []
    learner = teach(name, SIZES, lambda one: kept.append(torch.bincount(one.state.memory.labels)), **memory)
    if name in NO_BUDGET:
        assert [counts.tolist() for counts in kept] == [[14] * seen for seen in (1, 2, 5, 7)]
        return
    if not learner.method.keeps_memory:
        assert not any(len(counts) for counts in kept)
        return
    for counts, seen in zip(kept, (1, 2, 5, 7), strict=True):
        assert len(counts) == seen and int(counts.min()) >= 1
        allowed = min(14, memory.get("memory_per_class") or 24 // seen)
        assert int(counts.max()) <= allowed
        assert int(counts.sum()) <= (memory["memory"] or 3 * seen)


def test_predictions_cover_exactly_the_classes_seen(name: str, teach: Teach, unseen_images: UnseenImages) -> None:
    """After phases of one class, and of more classes than all before: no other class is ever named, every logit has
    its class, and every rule answers with a number of a class seen."""
    widths: list[int] = []

    def look(learner: Learner) -> None:
        seen = len(learner.classes)
        images = unseen_images(seen)
        assert set(learner.predict(images)) <= set(range(seen))
        found = learner.predictions(learner._unlabelled(images))
        keeps, trains = bool(len(learner.state.memory)), bool(learner.method.objectives)
        assert set(found) == {rule.name for rule in learner.method.rules if rule.applies(keeps, trains)}
        for predicted in found.values():
            assert len(predicted) == len(images) and 0 <= int(predicted.min()) <= int(predicted.max()) < seen
        out = learner.state.network.eval()(torch.zeros(2, 1, 8, 8))
        assert bool(out.logits.isfinite().all()) and out.logits.shape == (2, len(out.embeddings))
        widths.append(out.logits.shape[1])

    learner = teach(name, SIZES, look)
    assert widths == [1, 2, 5, 7]
    assert learner.classes == list(range(7)) and learner.state.sizes == SIZES


def test_a_formula_with_a_star_asks_the_teacher(name: str, teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written a*, d* or f* is the teacher's: there from the second phase on, and in nobody else's training."""
    seen: list[tuple[bool, bool, bool]] = []
    run = Training.run

    def watched(self: Training, *rest: Any) -> None:
        later = self.counts.old > 0 and name not in RESTARTS
        seen.append((later, "*" in str(self.objective), self.teacher is not None))
        run(self, *rest)

    monkeypatch.setattr(Training, "run", watched)
    teach(name, (2, 2))
    trained = {False} if name in RESTARTS else {False, True}
    assert {later for later, _, _ in seen} == (trained if build_method(name).objectives else set())
    for later, starred, asked in seen:
        assert asked == (later and starred)


def test_the_seed_decides_every_bit(name: str, teach: Teach) -> None:
    first, again, other = (state_of(teach(name, (2, 2), seed=seed)) for seed in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)


def test_classes_of_a_single_image(name: str) -> None:
    """Nothing to hold out, nothing to choose: every number stays a number."""
    learner = Learner(name, memory=24, epochs=1, execution=Execution(threads=1))
    for labels in ([0, 1], [2, 3]):
        learner.learn(np.full((2, 8, 8), 90, dtype=np.uint8) + np.arange(2, dtype=np.uint8)[:, None, None], labels)
    assert all(bool(value.isfinite().all()) for value in state_of(learner).values())


def test_a_total_known_in_advance_may_be_exceeded(name: str, teach: Teach) -> None:
    """Told of three classes, given four."""
    learner = teach(name, (2, 2), total_classes=3)
    assert learner.classes == [0, 1, 2, 3]
    assert len(learner.state.network.head.rows()) == 4


def test_the_suite_covers_the_catalogue(name: str) -> None:
    assert name in METHODS and build_method(name).name == name
