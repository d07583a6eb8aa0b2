"""What a learner says of itself from the photos it keeps, and what it says of a photo it is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.labelled import LabelledImages
from classgrow.engine import inference
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.learner.answers import Details, probabilities
from classgrow.learner.estimates import estimate
from classgrow.methods import build_method
from classgrow.parts.ridge import RandomRidge
from classgrow.parts.rules import NearestClassMean, Rule, Seen
from classgrow.parts.unknown import distances
from classgrow.views import Outputs

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
RULES = ("discriminant", "ridge", "nearest")


def learner(method: Any = "frozen", **settings: Any) -> Learner:
    return Learner(method, **{"memory": 40, "execution": Execution(threads=1), **settings})


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each pass through a network looks at."""
    seen: list[int] = []

    def counted(name: str) -> Any:
        whole = getattr(inference, name)

        def call(network: Any, data: LabelledImages, *rest: Any, **more: Any) -> Any:
            seen.append(len(data))
            return whole(network, data, *rest, **more)

        return call

    for place, name in (
        ("learner.fitting", "features"),
        ("steps.remember", "features"),
        ("steps.measure", "features"),
        ("steps.measure", "outputs"),
        ("learner.answers", "outputs"),
    ):
        monkeypatch.setattr(f"classgrow.{place}.{name}", counted(name))
    return seen


def test_every_photo_passes_through_a_frozen_network_once(looks: list[int], patches: Patches) -> None:
    """Twelve photos, six of a new class, four more of a known one; then four that are asked about."""
    one = learner().learn(*patches([5, 2], 6))
    one.learn(*patches([8], 6)).learn(*patches([5], 4, seed=3))
    assert looks == [12, 6, 4] and one.state.fitted.keys() == set(RULES)
    estimate(one)
    assert looks == [12, 6, 4]
    one.answer(patches([5], 4, seed=5)[0])
    assert looks == [12, 6, 4, 4]
    assert one.forget(2).classes == [5, 8] and len(looks) == 4


def test_mirror_images_are_computed_for_a_rule_that_asks(looks: list[int], patches: Patches) -> None:
    images, labels = patches([5, 2], 6)
    inputs = replace(learner().learn(images, labels).inputs, mirror=True)
    looks.clear()
    learner(inputs=inputs).learn(images, labels)
    assert looks == [12]
    method = replace(build_method("frozen"), others=(NearestClassMean(),))
    looks.clear()
    learner(method, inputs=inputs).learn(images, labels)
    assert looks == [12, 12]


def test_features_in_memory_are_those_of_its_images(patches: Patches) -> None:
    """Also after a class was forgotten, and after the network has learned again."""
    for method in ("frozen", "fgp", "bic"):
        one = learner(method, epochs=1).learn(*patches([5, 2], 8)).learn(*patches([8, 5], 8, seed=2))
        for _ in range(2):
            memory = one.state.memory
            assert memory.features is not None and memory.images is not None
            data = one._unlabelled(memory.images.numpy())
            again = inference.features(one.state.network, data, one.inputs, one.runtime)
            torch.testing.assert_close(memory.features, again)
            one.forget(2) if 2 in one.classes else None


def test_features_are_saved_and_loaded(looks: list[int], patches: Patches, tmp_path: Path) -> None:
    one = learner().learn(*patches([5, 2], 6))
    one.save(tmp_path / "model")
    other = Learner.load(tmp_path / "model")
    assert other.state.memory.features is not None and one.state.memory.features is not None
    assert torch.equal(other.state.memory.features, one.state.memory.features)
    looks.clear()
    other.learn(*patches([8], 6))
    assert looks == [6]


def test_a_model_saved_without_features_gets_them(looks: list[int], patches: Patches) -> None:
    """As older versions saved it: all exemplars are looked at once, when first needed."""
    one = learner().learn(*patches([5, 2], 6))
    expected, one.state.memory.features = estimate(one), None
    one.state.estimated = {}
    looks.clear()
    found = estimate(one)
    assert looks == [12] and found.predicted.tolist() == expected.predicted.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_an_estimate_is_that_of_rules_fitted_without_the_fold(rule: str, patches: Patches) -> None:
    """Ten and seven exemplars, and a single one that is never left out."""
    images, labels = patches([5, 2, 8], 10)
    chosen = np.r_[0:10, 10:17, 20]
    one = learner(rule=rule).learn(images[chosen], labels[chosen])
    memory, mine = one.state.memory, one.method.rule
    found = estimate(one)
    assert memory.features is not None and found.source == "exemplars" and set(found.per_class) == {5, 2}
    within = torch.cat([torch.arange(10), torch.arange(7), torch.tensor([-1])])
    assert sorted(found.places.tolist()) == list(range(17))
    for fold in range(4):
        out = within % 4 == fold
        out[-1] = False
        rest = SimpleNamespace(features=memory.features[~out], labels=memory.labels[~out], mirrored=None)
        before = {"strength": one.state.fitted["ridge"]["strength"]}
        fitted = strengthened(mine, before).fit(Seen(3, rest))
        assert fitted is not None
        expected = mine.scores(outputs(memory.features[out]), fitted)
        here = torch.isin(found.places, torch.nonzero(out)[:, 0])
        torch.testing.assert_close(found.scores[here], expected)
        assert found.labels[here].tolist() == memory.labels[out].tolist()
    right = (found.predicted == found.labels).double()
    assert found.accuracy == pytest.approx(float(right.mean()))
    assert found.per_class[5] == pytest.approx(float(right[found.labels == 0].mean()))


def strengthened(rule: Rule, before: dict[str, Tensor]) -> Rule:
    """A ridge of the strength that was chosen; every other rule as it is."""
    return replace(rule, strength=float(before["strength"])) if isinstance(rule, RandomRidge) else rule


def outputs(features: Tensor) -> Outputs:
    return Outputs(features, features, features)


def test_held_out_photos_are_tried_as_they_are(patches: Patches) -> None:
    one = learner("bic", epochs=1).learn(*patches([5, 2], 12))
    found, memory = estimate(one), one.state.memory
    assert found.source == "held out" and found.places.tolist() == torch.nonzero(memory.roles == 1)[:, 0].tolist()
    assert memory.images is not None
    scores = torch.from_numpy(one.scores(memory.images[found.places].numpy()))
    torch.testing.assert_close(found.scores, scores)


@pytest.mark.parametrize(("method", "photos"), [("finetune", 6), ("frozen", 1)])
def test_where_nothing_can_be_tried(method: str, photos: int, patches: Patches) -> None:
    """No memory; one photo a class."""
    one = learner(method, epochs=1).learn(*patches([5, 2], photos))
    found = estimate(one)
    assert (found.source, found.accuracy, found.per_class, found.threshold) == ("nothing", None, {}, None)
    assert len(found.labels) == 0 and math.isfinite(found.temperature)
    answers = one.answer(patches([5], 2, seed=4)[0])
    assert [answer.unknown for answer in answers] == [None, None]
    assert all(math.isnan(answer.distance) == (method == "finetune") for answer in answers)
    assert [len(answer.nearest) for answer in answers] == [0 if method == "finetune" else 2] * 2


@pytest.mark.parametrize("method", ["frozen", "fgp"])
def test_an_answer_says_what_the_parts_say(method: str, patches: Patches) -> None:
    one = learner(method, epochs=4).learn(*patches([5, 2, 8], 10))
    images, _ = patches([5, 2, 8, 1], 3, seed=6)
    answers, memory = one.answer(images, top=2), one.state.memory
    assert [answer.ranking for answer in answers] == one.predict(images, top=2)
    seen_as = inference.features(one.state.network, one._unlabelled(images), one.inputs, one.runtime)
    unknown = one.estimating.unknown()
    assert unknown is not None and memory.features is not None
    threshold = estimate(one).threshold
    assert threshold is not None
    cosines = functional.normalize(seen_as) @ functional.normalize(memory.features).T
    for number, answer in enumerate(answers):
        distance = float(distances(seen_as[number : number + 1], unknown))
        assert answer.distance == pytest.approx(distance, rel=1e-4)
        assert answer.unknown == (answer.distance > threshold)
        (first, alike), (second, _) = answer.nearest
        assert first == int(cosines[number].argmax()) != second
        assert alike == pytest.approx(float(cosines[number].max()), rel=1e-5)
    for wrong in (0, True, "2"):
        with pytest.raises(ClassgrowError, match="`top`"):
            one.answer(images, top=wrong)  # type: ignore[arg-type]


def test_details_in_words_by_hand() -> None:
    """Scores (0, ln 3) at temperature 1: a quarter and three quarters; 2 is beyond a threshold of 1.5, 1 is not."""
    details = Details(
        torch.tensor([[0.0, math.log(3)]] * 3), torch.tensor([1.0, 2.0, math.nan]), torch.tensor([[0.1, 0.9, 0.5]] * 3)
    )
    answers = details.answers(["cat", "dog"], 1.0, 1.5, top=2)
    assert [[name for name, _ in answer.ranking] for answer in answers] == [["dog", "cat"]] * 3
    assert [chance for _, chance in answers[0].ranking] == pytest.approx([0.75, 0.25])
    assert [answer.unknown for answer in answers] == [False, True, None]
    assert [place for place, _ in answers[0].nearest] == [1, 2]
    assert [answer.unknown for answer in details.answers(["cat", "dog"], 1.0, math.inf, top=1)] == [None] * 3


def test_what_was_estimated_is_saved_until_something_is_learned(patches: Patches, tmp_path: Path) -> None:
    one = learner().learn(*patches([5, 2], 8))
    assert one.state.estimated == {}
    first = one.predict_proba(patches([5], 2)[0])
    estimate(one)
    one.save(tmp_path / "model")
    other = Learner.load(tmp_path / "model")
    kept = {"temperature.discriminant", "whitening", "centres", "threshold"}
    assert other.state.estimated.keys() == one.state.estimated.keys() == kept
    np.testing.assert_array_equal(other.predict_proba(patches([5], 2)[0]), first)
    found = estimate(one)
    scores = torch.from_numpy(one.scores(patches([5], 2)[0]))
    np.testing.assert_allclose(probabilities(scores, found.temperature).numpy(), first)
    assert other.learn(*patches([8], 4)).state.estimated == {} and one.forget(2).state.estimated == {}


def test_without_photos_features_are_kept_and_no_pixel(patches: Patches, tmp_path: Path) -> None:
    """It goes on learning, loads, forgets and answers as one that keeps photos does."""
    with_photos, one = learner(), learner(keep_photos=False)
    for each in (with_photos, one):
        each.learn(*patches([5, 2], 6)).learn(*patches([8], 6)).learn(*patches([5], 4, seed=3))
    assert one.state.memory.images is None and len(one.state.memory) == 22
    one.save(tmp_path / "model")
    one = Learner.load(tmp_path / "model")
    for each in (with_photos, one):
        each.learn(*patches([1], 4)).forget(2)
    images, _ = patches([5, 8, 1], 4, seed=8)
    assert one.answer(images) == with_photos.answer(images)
    mine, theirs = one.state.pack()[0], with_photos.state.pack()[0]
    assert theirs.keys() - mine.keys() == {"memory.images"}
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("method", ["fgp", "bic", "mnemonics", "joint"])
def test_methods_that_train_on_kept_photos_must_keep_them(method: str) -> None:
    with pytest.raises(ClassgrowError, match=f"{method} trains on kept photos: leave out `keep_photos`"):
        learner(method, keep_photos=False)
    with pytest.raises(ClassgrowError, match="`keep_photos` cannot be of type int: give True or False"):
        learner(keep_photos=1)


def test_a_method_without_a_memory_keeps_no_photos_anyway(patches: Patches) -> None:
    assert len(learner("finetune", epochs=1, keep_photos=False).learn(*patches([5, 2], 4)).state.memory) == 0
