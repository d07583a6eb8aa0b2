"""Scores, probabilities and rankings; rules of a user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.learner.answers import best_temperature, probabilities
from classgrow.methods import build_method
from classgrow.parts.rules import LargestLogit, Rule, Seen, Tensors
from classgrow.views import Outputs

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


def learner(method: str = "fgp", **settings: object) -> Learner:
    settings = {"memory": 24, "epochs": 8, "execution": Execution(threads=1), **settings}
    return Learner(method, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shared() -> dict[str, Learner]:
    return {}


@pytest.fixture
def taught(patches: Patches, shared: dict[str, Learner]) -> Learner:
    if "taught" not in shared:
        shared["taught"] = learner().learn(*patches([5, 2])).learn(*patches([8, 0]))
    return shared["taught"]


def test_scores_probabilities_and_names_agree(taught: Learner, patches: Patches) -> None:
    images, labels = patches([5, 2, 8, 0], per_class=6, seed=9)
    scores, chances = taught.scores(images), taught.predict_proba(images)
    assert scores.shape == chances.shape == (24, 4)
    np.testing.assert_allclose(chances.sum(1), 1)
    assert (scores.argmax(1) == chances.argmax(1)).all()
    assert taught.predict(images) == [taught.classes[n] for n in scores.argmax(1)]
    assert taught.score(images, labels) == taught.evaluate(images, labels).accuracy
    assert taught.classes_.tolist() == taught.classes == [5, 2, 8, 0]


def test_the_best_few(taught: Learner, patches: Patches) -> None:
    images, _ = patches([5, 0], per_class=2, seed=3)
    ranked, chances = taught.predict(images, top=3), taught.predict_proba(images)
    assert [row[0][0] for row in ranked] == taught.predict(images)
    for row, given in zip(ranked, chances, strict=True):
        assert [chance for _, chance in row] == sorted(given.tolist(), reverse=True)[:3]
    assert [len(row) for row in taught.predict(images, top=99)] == [4] * 4
    for wrong in (0, -1, 2.5, "3", True):
        with pytest.raises(ClassgrowError, match="`top`"):
            taught.predict(images, top=wrong)  # type: ignore[call-overload]


def test_the_temperature_by_hand() -> None:
    """Two classes, scores (0, s) with s = 1 for three images of class 1 and one of class 0: by Platt's targets
    t = 5/6 each; the mean target of class 1 is (3 · 5/6 + 1/6)/4 = 2/3, reached where 1/(1 + exp(-1/T)) = 2/3, so
    T = 1/ln 2."""
    scores = torch.tensor([[0.0, 1.0]]).repeat(4, 1)
    assert best_temperature(scores, torch.tensor([1, 1, 1, 0])) == pytest.approx(1 / math.log(2), rel=1e-6)
    assert best_temperature(torch.zeros(3, 1), torch.zeros(3, dtype=torch.long)) == 1.0
    torch.testing.assert_close(
        probabilities(torch.tensor([[0.0, math.log(3)]]), 1.0), torch.tensor([[0.25, 0.75]]).double()
    )


def test_a_scale_of_the_scores_changes_no_probability() -> None:
    draws = torch.Generator().manual_seed(0)
    scores, labels = torch.randn(40, 3, generator=draws), torch.arange(40) % 3
    one, ten = (probabilities(factor * scores, best_temperature(factor * scores, labels)) for factor in (1.0, 10.0))
    torch.testing.assert_close(one, ten, atol=1e-5, rtol=0)


def test_calibrated_probabilities_are_likelier_than_a_plain_softmax(taught: Learner, patches: Patches) -> None:
    images, labels = patches([5, 2, 8, 0], per_class=20, seed=11)
    truth = np.array([taught.classes.index(label) for label in labels.tolist()])
    plain = torch.softmax(torch.from_numpy(taught.scores(images)).double(), 1).numpy()
    rows = np.arange(len(truth))
    calibrated = taught.predict_proba(images)
    assert -np.log(calibrated[rows, truth]).mean() < -np.log(plain[rows, truth]).mean() - 0.1
    assert abs(calibrated.max(1).mean() - (calibrated.argmax(1) == truth).mean()) < 0.15


@dataclass(frozen=True)
class Brightest(Rule):
    """The class whose exemplars' mean feature sum is nearest: a rule of a user's own."""

    name: ClassVar[str] = "brightest"
    title: ClassVar[str] = "nearest sum"
    formula: ClassVar[str] = "argmin_c |Σf − s_c|"

    def fit(self, seen: Seen) -> Tensors | None:
        if seen.exemplars is None:
            return None
        sums, labels = seen.exemplars.features.sum(1), seen.exemplars.labels
        return {"sums": torch.stack([sums[labels == label].mean() for label in range(seen.classes)])}

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        return -(outputs.features.sum(1)[:, None] - fitted["sums"]).abs()


def test_a_rule_of_ones_own_answers(patches: Patches) -> None:
    """Its scores are used, not the head's; the method's own rules are there beside it."""
    images, labels = patches([5, 2], per_class=6, seed=4)
    one = learner(rule=Brightest(), epochs=2).learn(*patches([5, 2], per_class=8))
    exemplars = one.state.fitted["brightest"]["sums"]
    assert exemplars.shape == (2,)
    result = one.evaluate(images, labels)
    assert set(result.by_rule) == {"brightest", "nearest", "head"} and result.accuracy == result.by_rule["brightest"]
    one.learn(*patches([7], per_class=6)).forget(2)
    assert one.state.fitted["brightest"]["sums"].shape == (2,) and one.scores(images).shape == (12, 2)


@pytest.mark.parametrize("name", ["discriminant", "raw_nearest", "head"])
def test_a_rule_by_name(name: str, patches: Patches) -> None:
    one = learner(rule=name).learn(*patches([5, 2])).learn(*patches([8, 0]))
    images, labels = patches([5, 2, 8, 0], per_class=8, seed=9)
    assert one.method.rule.name == name
    assert one.evaluate(images, labels).by_rule.keys() == {name, "nearest", "head"}
    assert one.score(images, labels) >= (0.7 if name != "head" else 0.3)


def test_what_is_no_rule_is_refused_at_once() -> None:
    class Old:
        name, formula = "mine", "argmax"

    with pytest.raises(ClassgrowError, match="The rule 'mine' does not say how it answers"):
        learner(rule=Old())
    with pytest.raises(ClassgrowError, match="There is no rule 'nearset'"):
        learner(rule="nearset")
    with pytest.raises(ClassgrowError, match="'nearest' needs exemplars, and finetune keeps none"):
        learner("finetune", rule="nearest").learn(np.zeros((2, 8, 8), np.uint8), [0, 1])
    with pytest.raises(ClassgrowError, match="is not a rule"):
        build_method("fgp").with_rule(3)  # type: ignore[arg-type]


def test_a_rule_of_ones_own_is_given_again_when_loading(patches: Patches, tmp_path: Path) -> None:
    one = learner(rule=Brightest(), epochs=1).learn(*patches([5, 2], per_class=6))
    one.save(tmp_path / "model")
    images, _ = patches([5, 2], per_class=4, seed=3)
    assert Learner.load(tmp_path / "model", rule=Brightest()).predict(images) == one.predict(images)
    with pytest.raises(ClassgrowError, match=r"saved with a rule of your own \(brightest\)"):
        Learner.load(tmp_path / "model")
    with pytest.raises(ClassgrowError, match="answers by the rule 'brightest', not 'head'"):
        Learner.load(tmp_path / "model", rule=LargestLogit())


def test_a_rule_by_name_is_saved_with_its_name(patches: Patches, tmp_path: Path) -> None:
    one = learner(rule="discriminant", epochs=1).learn(*patches([5, 2], per_class=6))
    one.save(tmp_path / "model")
    images, _ = patches([5, 2], per_class=4, seed=3)
    other = Learner.load(tmp_path / "model")
    assert other.method.rule.name == "discriminant"
    np.testing.assert_array_equal(other.scores(images), one.scores(images))


@pytest.mark.parametrize("as_value", [False, True])
def test_a_method_by_value_and_a_rule_are_loaded_as_they_were_saved(
    as_value: bool, patches: Patches, tmp_path: Path
) -> None:
    method = replace(build_method("fgp", strength=0.2), name="mine") if as_value else build_method("fgp")
    one = learner(method, rule="head", epochs=1).learn(*patches([5, 2], per_class=6))  # type: ignore[arg-type]
    one.save(tmp_path / "model")
    images, _ = patches([5, 2], per_class=4, seed=3)
    other = Learner.load(tmp_path / "model", method=method if as_value else None)
    assert other.method.rule.name == "head" and other.predict(images) == one.predict(images)
    with pytest.raises(ClassgrowError, match="was saved with the method"):
        Learner.load(tmp_path / "model", method="icarl")
    if not as_value:
        assert Learner.load(tmp_path / "model", method="fgp", rule="head").classes == [5, 2]


@dataclass(frozen=True)
class Signed(Brightest):
    sign: int = 1


def test_another_rule_of_the_same_name_is_refused(patches: Patches, tmp_path: Path) -> None:
    learner(rule=Signed(1), epochs=1).learn(*patches([5, 2], per_class=6)).save(tmp_path / "model")
    assert Learner.load(tmp_path / "model", rule=Signed(1)).classes == [5, 2]
    with pytest.raises(ClassgrowError, match="another rule called 'brightest'"):
        Learner.load(tmp_path / "model", rule=Signed(-1))


@dataclass(frozen=True)
class Faulty(Rule):
    """Whatever a user's own rule may get wrong."""

    how: str = ""
    name: ClassVar[str] = "faulty"
    title: ClassVar[str] = "faulty"
    formula: ClassVar[str] = "?"

    def fit(self, seen: Seen) -> Tensors | None:
        if self.how == "fit fails":
            raise KeyError("x")
        if self.how == "fits a number":
            return {"a": 3}  # type: ignore[dict-item]
        return {"features": torch.rand(7, 2)} if self.how == "other rows" else {}

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        if self.how == "not numbers":
            return outputs.logits * float("nan")
        if self.how == "a list":
            return outputs.logits.tolist()  # type: ignore[return-value]
        if self.how == "scores fail":
            raise IndexError("y")
        return outputs.logits[:, :1] if self.how == "a column" else outputs.logits


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("fit fails", "cannot be fitted .*fix its fit"),
        ("fits a number", "must fit a dict of tensors"),
        ("not numbers", "scores that are not numbers"),
        ("a list", "list instead of a tensor"),
        ("scores fail", "cannot answer .*y.*fix its scores"),
        ("a column", r"\(8, 1\) instead of a tensor \(8, 2\)"),
    ],
)
def test_a_faulty_rule_is_named(how: str, message: str, patches: Patches) -> None:
    images, labels = patches([5, 2], per_class=4)
    with pytest.raises(ClassgrowError, match=rf"The rule 'faulty' .*{message}"):
        learner(rule=Faulty(how), epochs=1).learn(images, labels).predict(images)


def test_a_rule_that_keeps_other_tensors_must_say_how_it_forgets(patches: Patches) -> None:
    one = learner(rule=Faulty("other rows"), epochs=1).learn(*patches([5, 2], per_class=4))
    with pytest.raises(ClassgrowError, match="give it a method forget"):
        one.forget(5)
    assert one.classes == [5, 2]


def test_impossible_classes_do_not_spoil_the_temperature() -> None:
    scores = torch.tensor([[0.0, 1.0, float("-inf")]]).repeat(4, 1)
    found = best_temperature(scores, torch.tensor([1, 1, 1, 0]))
    assert math.isfinite(found) and bool(probabilities(scores, found).isfinite().all())
