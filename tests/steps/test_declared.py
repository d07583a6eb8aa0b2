"""Steps say what they do: a step of a user's own needs no place in our code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from classgrow import checkpoint
from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.methods import build_method
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.selection import closest_to_mean, herding, random_choice
from classgrow.recipes import recipe_for
from classgrow.state import State
from classgrow.steps import Declares, Grow, Phase, PhasePlan, Remember, RememberEverything, Train, declared
from classgrow.steps.phase import SavePoint, Step

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Noted:
    """Wraps a step, and passes on what it declares."""

    inner: Step
    seen: list[int] = field(default_factory=list, compare=False)

    @property
    def declares(self) -> Declares:
        inner = declared(self.inner)
        change = inner.with_selection
        return replace(inner, with_selection=change and (lambda selection: Noted(change(selection), self.seen)))

    def run(self, state: State, phase: Phase) -> None:
        self.seen.append(phase.step)
        self.inner.run(state, phase)


def test_a_step_that_wraps_remember_keeps_a_memory(patches: Patches) -> None:
    fgp = build_method("fgp")
    noted = Noted(Remember(herding))
    method = replace(fgp, steps=(*fgp.steps[:2], noted))
    assert method.keeps_memory and method.rule.name == "nearest"
    settings = {"memory": 12, "epochs": 2, "execution": Execution(threads=1)}
    one = Learner(method, **settings).learn(*patches([5, 2], 6))
    other = Learner(fgp, **settings).learn(*patches([5, 2], 6))
    assert noted.seen == [2]
    assert torch.equal(one.state.fitted["nearest"]["means"], other.state.fitted["nearest"]["means"])
    assert method.with_selection(random_choice).steps[2].inner == Remember(random_choice)  # type: ignore[union-attr]


@dataclass
class Slow:
    """A step that saves its place without counting epochs, and goes on from there."""

    fail_at: int | None
    done: list[int] = field(default_factory=list)

    def run(self, state: State, phase: Phase) -> None:
        start = phase.resume.plain["place"] if phase.resume else 0
        for place in range(start, 4):
            if place == self.fail_at:
                raise KeyboardInterrupt
            self.done.append(place)
            phase.save(SavePoint({"note": torch.tensor([place + 1])}, {"place": place + 1}))


def test_a_step_may_save_its_place_in_its_own_words(patches: Patches, tmp_path: Path) -> None:
    fgp = build_method("fgp")
    file = checkpoint.CheckpointFile(tmp_path / "c.safetensors", every_seconds=-1.0)
    slow, again = Slow(fail_at=2), Slow(fail_at=None)
    images, labels = patches([5, 2], 6)
    from classgrow.data.labelled import LabelledImages

    data = LabelledImages.from_arrays(images, labels // 3, ["a", "b"])
    settings = {"memory": 12, "epochs": 1, "execution": Execution(threads=1)}
    with pytest.raises(KeyboardInterrupt):
        Learner(replace(fgp, steps=(*fgp.steps, slow)), **settings).learn_phase(data, file)
    saved = file.read()
    assert saved is not None and saved[1]["point"] == {"place": 2} and saved[1]["step"] == 3
    two = Learner(replace(fgp, steps=(*fgp.steps, again)), **settings)
    two.resume_phase(data, file, saved)
    assert (slow.done, again.done) == ([0, 1], [2, 3]) and two.state.fitted.keys() == {"nearest", "head"}


def test_every_step_gets_a_phase_of_its_own(patches: Patches) -> None:
    kept: list[Phase] = []

    class Keep:
        def run(self, state: State, phase: Phase) -> None:
            kept.append(phase)
            phase.fresh = torch.ones(1, 1)

    fgp = build_method("fgp")
    method = replace(fgp, steps=(Keep(), *fgp.steps, Keep(), Remember(herding)))
    Learner(method, memory=12, epochs=1, execution=Execution(threads=1)).learn(*patches([5, 2], 6))
    assert [phase.step for phase in kept] == [0, 4] and kept[0] is not kept[1] and kept[0].log is kept[1].log


def test_what_ours_declare() -> None:
    loss = CrossEntropy()
    assert declared(Grow()) == Declares() and declared(object()) == Declares()  # type: ignore[arg-type]
    assert declared(Train(loss)).objective is loss
    assert declared(Remember(herding, held_out=0.1)).memory == "budget"
    assert declared(Remember(herding, held_out=0.1)).held_out == 0.1
    assert declared(RememberEverything()).memory == "everything"
    change = declared(Remember(herding)).with_selection
    assert change is not None and change(closest_to_mean) == Remember(closest_to_mean)


def test_how_many_images_a_training_goes_over() -> None:
    """EEIL on CIFAR: 90 epochs first; later 60 over everything, and 500 over a balanced set of 30 images, which is one
    batch and so one update an epoch; over one of 3,000, 24 updates an epoch, the recipe's 40 are enough."""
    recipe, method = recipe_for("eeil", "cifar"), build_method("eeil")
    planned = [
        [declared(step).images(PhasePlan(number, recipe, everything=100, balanced=30)) for step in method.steps]
        for number in (1, 2)
    ]
    assert planned == [[0, 9000, 0, 0, 0], [0, 6000, 0, 15000, 0]]
    large = PhasePlan(2, recipe, everything=7000, balanced=3000)
    assert [declared(step).images(large) for step in method.steps] == [0, 420_000, 0, 120_000, 0]
