"""What a learner is given is checked when it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console
from torch import nn

from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner, terminal
from classgrow.networks.small import SmallNet
from classgrow.progress import Silent
from classgrow.recipes import recipe_for

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
ONE = Execution(threads=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": -5}, "`memory` = -5 does not fit: give a whole number of at least 1"),
        ({"memory": 2.5}, "`memory` = 2.5"),
        ({"memory_per_class": 0}, "`memory_per_class` = 0"),
        ({"memory": 10, "memory_per_class": 2}, "contradict each other"),
        ({"epochs": 0}, "`epochs` = 0"),
        ({"epochs": True}, "`epochs` = True"),
        ({"profile": "x"}, "`profile` = 'x' does not fit: choose one of official, matched, fast"),
        ({"seed": "a"}, "`seed` = 'a'"),
        ({"seed": -1}, "`seed` = -1"),
        ({"total_classes": 0}, "`total_classes` = 0"),
        ({"selection": "herd"}, "Did you mean 'herding'"),
        ({"network": "resnet23"}, "Did you mean 'resnet32'"),
        ({"network": 3}, "`network` cannot be of type int"),
        ({"recipe": recipe_for("fgp", "digits"), "epochs": 3}, "leave out `epochs` and `profile`"),
        ({"recipe": {"epochs": 3}}, "`recipe` cannot be of type dict"),
        ({"dataset": 5}, "`dataset` cannot be of type int"),
        ({"preset": []}, "`preset` cannot be of type list"),
        ({"execution": "cpu"}, "`execution` cannot be of type str: give an Execution"),
        ({"progress": True}, "`progress` cannot show anything|`progress` has no"),
        ({"method": "finetune", "rule": "nearest"}, "'nearest' needs exemplars, and finetune keeps none"),
        ({"method": 7}, "`method` cannot be of type int"),
    ],
)
def test_what_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ClassgrowError, match=message):
        Learner(**settings)


def test_what_is_not_settled_yet_says_so() -> None:
    one = Learner()
    for ask in (lambda: one.recipe, lambda: one.inputs, one.config, lambda: one.state):
        with pytest.raises(ClassgrowError, match="Nothing has been learned yet"):
            ask()


def test_parameters_are_those_it_was_made_with() -> None:
    one = Learner("icarl", 30, seed=4)
    assert one.get_params()["method"] == "icarl" and one.get_params()["memory"] == 30
    assert Learner(**one.get_params()).get_params() == one.get_params()
    assert one.set_params(memory=40, method="fgp").get_params()["memory"] == 40 and one.method.name == "fgp"
    with pytest.raises(ClassgrowError, match=r"no argument `memmory`.*Did you mean 'memory'"):
        one.set_params(memmory=3)
    for wrong in ({"memory": 0}, {"method": "nope"}):
        with pytest.raises(ClassgrowError, match=r"does not fit|There is no method 'nope'"):
            one.set_params(**wrong)
    assert one.get_params()["memory"] == 40 and one.get_params()["method"] == "fgp"


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    one = Learner(memory=np.int64(20), epochs=np.int32(3), seed=np.uint8(4))  # type: ignore[arg-type]
    assert [type(one.get_params()[name]) for name in ("memory", "epochs", "seed")] == [int, int, int]


def test_what_was_learned_stays_when_a_parameter_changes(patches: Patches) -> None:
    one = Learner(memory=12, epochs=1, execution=ONE).learn(*patches([5, 2], per_class=4))
    images, _ = patches([5, 2], per_class=3, seed=2)
    answers = one.predict(images)
    assert one.set_params(progress=Silent()).predict(images) == answers
    with pytest.raises(ClassgrowError, match="`seed` cannot change"):
        one.set_params(seed=2)


def test_a_module_is_copied(patches: Patches) -> None:
    """Two learners that are given one network do not train each other's."""
    torch.manual_seed(0)
    network = SmallNet(1)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for seed in (1, 2):
        Learner(network=network, memory=12, epochs=1, seed=seed, execution=ONE).learn(*patches([0, 1], 4))
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


class Wrong(nn.Module):
    def __init__(self, features: Any) -> None:
        super().__init__()
        self.features, self.inner = features, SmallNet(1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.inner(images)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (Wrong(16), r"says features = 16 and returns \(1, 32\)"),
        (Wrong("many"), "needs an attribute `features`"),
        (SmallNet(3), "cannot take an image of 8 x 8 pixels with 1 channels"),
    ],
)
def test_a_network_that_does_not_fit(network: nn.Module, message: str, patches: Patches) -> None:
    one = Learner(network=network, memory=12, execution=ONE)
    with pytest.raises(ClassgrowError, match=message):
        one.learn(*patches([0, 1], 4))
    assert one.classes == []


def test_images_and_labels_in_the_forms_people_have(patches: Patches) -> None:
    images, labels = patches([5, 2], per_class=4)
    one = Learner(memory=12, epochs=1, execution=ONE).learn(images, labels)
    expected = one.predict(images)
    forms = [list(images), (image for image in images), pd.Series(list(images)), [torch.from_numpy(i) for i in images]]
    for form in forms:
        assert one.predict(form) == expected
    names = pd.Series(["a" if label == 5 else "b" for label in labels.tolist()])
    two = Learner(memory=12, epochs=1, execution=ONE).learn((image for image in images), (name for name in names))
    assert two.classes == ["a", "b"] and two.learn(images, names).classes == ["a", "b"]


def test_arrays_of_several_sizes_are_brought_to_one() -> None:
    arrays = [np.full((size, size, 3), 10 * size, np.uint8) for size in (8, 10, 12, 9)]
    one = Learner(memory=4, epochs=1, execution=ONE).learn(arrays, ["a", "a", "b", "b"])
    assert one.inputs.size == 9 and len(one.predict(arrays)) == 4
    with pytest.raises(ClassgrowError, match="cannot be read: give uint8 arrays"):
        one.predict([np.zeros((8, 8, 3)), np.zeros((9, 9, 3))])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["", "b"], "A class name is empty"),
        (["  ", "b"], "A class name is empty"),
        ("ab", "Labels cannot be 'ab'"),
        (7, "Labels cannot be 7"),
        ([None, "b"], "must be text or a whole number, not None"),
    ],
)
def test_labels_that_cannot_be(labels: Any, message: str) -> None:
    with pytest.raises(ClassgrowError, match=message):
        Learner().learn(np.zeros((2, 8, 8), np.uint8), labels)


def test_learners_keep_their_own_threads(patches: Patches, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making or using one learner leaves torch, and so any other learner, as it was."""
    asked: list[int] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: asked[-1] if asked else 3)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    one = Learner(memory=12, epochs=1, execution=Execution(threads=1))
    two = Learner(memory=12, epochs=1, execution=Execution(threads=2))
    assert asked == []
    one.learn(*patches([0, 1], 4))
    assert asked == [1, 3]
    two.learn(*patches([0, 1], 4))
    assert asked == [1, 3, 2, 3]


def test_progress_is_shown_to_people_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(terminal.default_progress()) is Silent
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(terminal.Console, "is_terminal", True)
    assert isinstance(terminal.default_progress(), terminal.Bar)


def test_a_notebook_without_widgets_gets_a_line_at_every_quarter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], patches: Patches
) -> None:
    monkeypatch.setattr(terminal, "Console", lambda stderr: Console(stderr=stderr, force_jupyter=True))
    monkeypatch.setattr(terminal, "find_spec", lambda name: None)
    Learner(memory=12, epochs=4, execution=ONE).learn(*patches([0, 1], 4))
    assert capsys.readouterr().out.splitlines() == [f"phase 1: {share} %" for share in (25, 50, 75, 100)]


def test_the_bar_shows_where_learning_stands(patches: Patches) -> None:
    from io import StringIO

    text = StringIO()
    bar = terminal.Bar(Console(file=text, force_terminal=True, width=80))
    Learner(memory=12, epochs=2, execution=ONE, progress=bar).learn(*patches([0, 1], 4))
    assert "phase 1" in text.getvalue() and "%" in text.getvalue()
