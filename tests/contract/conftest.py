"""What the contract suite runs on: every method of the catalogue, and the example of docs/adding_a_method.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from classgrow.data.digits import load_digits
from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.method import Method
from classgrow.methods.catalogue import METHODS
from classgrow.methods.mnemonics import mnemonics
from classgrow.state import State
from classgrow.steps import Grow, OptimiseExemplars, Phase

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_method.md"
ONE_THREAD = Execution(threads=1)
# The default of 10 outer epochs times 5 inner steps would take a minute here and show nothing more.
QUICK: dict[str, Callable[..., Method]] = {
    "mnemonics": partial(mnemonics, optimise=OptimiseExemplars(outer_epochs=2, inner_steps=1, batch_size=8))
}


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.fixture(scope="session")
def documented() -> dict[str, Any]:
    """The names that the first code block of the page defines."""
    names: dict[str, Any] = {}
    exec(compile(python_blocks(PAGE.read_text(encoding="utf-8"))[0], str(PAGE), "exec"), names)
    return names


@pytest.fixture(params=[*METHODS, "steady"])
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, documented: dict[str, Any]) -> str:
    """A method's name; asking the catalogue for it gives the method under test."""
    chosen: str = request.param
    factory = documented["steady"] if chosen == "steady" else QUICK.get(chosen, METHODS.get(chosen))
    monkeypatch.setitem(METHODS, chosen, factory)
    return chosen


def pictures(classes: list[int], count: int = 14) -> tuple[np.ndarray, list[int]]:
    """8 x 8 pixels in grey: each class a pattern of its own under noise."""
    images = []
    for one in classes:
        generator = torch.Generator().manual_seed(one)
        pattern = torch.randint(0, 200, (1, 8, 8, 1), generator=generator)
        images.append(pattern + torch.randint(0, 56, (count, 8, 8, 1), generator=generator))
    return torch.cat(images).to(torch.uint8).numpy(), [one for one in classes for _ in range(count)]


def phases_of(sizes: tuple[int, ...]) -> list[list[int]]:
    starts = np.cumsum((0, *sizes[:-1])).tolist()
    return [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)]


@pytest.fixture
def teach() -> Callable[..., Learner]:
    """A learner of the named method after phases of these sizes; `after` hears of it after each."""

    def teach(
        method: str | Method, sizes: tuple[int, ...], after: Callable[[Learner], None] | None = None, **options: Any
    ) -> Learner:
        settings = {"memory": 24, "epochs": 1, "execution": ONE_THREAD, **options}
        learner = Learner(method, **settings)
        for classes in phases_of(sizes):
            learner.learn(*pictures(classes))
            if after:
                after(learner)
        return learner

    return teach


@pytest.fixture
def unseen_images() -> Callable[[int], np.ndarray]:
    """Five images of each of so many classes."""
    return lambda classes: pictures(list(range(classes)), count=5)[0]


@dataclass(frozen=True)
class WatchedGrow:
    """Grows, and notes the old classes' rows and biases before and after."""

    grow: Grow
    seen: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = field(default_factory=list)

    def run(self, state: State, phase: Phase) -> None:
        head = state.network.head
        old = head.classes
        before = self.rows(state, old)
        self.grow.run(state, phase)
        if phase.number > 1:
            self.seen.append((before, self.rows(state, old)))

    def rows(self, state: State, old: int) -> dict[str, Tensor]:
        head: Any = state.network.head
        found = {"rows": head.rows()[:old]} | ({} if head.bias is None else {"biases": head.bias[:old]})
        return {name: value.detach().clone() for name, value in found.items()}


@pytest.fixture
def watched() -> Callable[[Method], tuple[Method, WatchedGrow]]:
    """The same method with a watch on its growth."""

    def watch(method: Method) -> tuple[Method, WatchedGrow]:
        (grow,) = (step for step in method.steps if isinstance(step, Grow))
        watch = WatchedGrow(grow)
        return replace(method, steps=tuple(watch if step is grow else step for step in method.steps)), watch

    return watch


def few() -> Dataset:
    """Twenty training and six test images of each digit."""

    def first(images: LabelledImages, count: int) -> LabelledImages:
        places = [torch.nonzero(images.labels == label)[:count, 0] for label in range(10)]
        return images.select(torch.cat(places))

    everything = load_digits()
    return Dataset("digits", first(everything.train, 20), first(everything.test, 6))


@pytest.fixture(scope="session")
def few_digits() -> Dataset:
    return few()
