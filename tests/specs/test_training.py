"""One resolution: `run`, the outline of a grid and `Learner` train equal settings equally."""

from __future__ import annotations

from typing import Any

import pytest

from classgrow.data.catalogue import DATASETS
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.experiments.outline import outline
from classgrow.experiments.plan import method_of, resolved_for
from classgrow.inputs import Shape
from classgrow.learner import Learner
from classgrow.recipes import recipe_for
from classgrow.specs.spec import Spec, identity
from classgrow.specs.training import Asked, resolve_training

KNOWN = [DATASETS[name] for name in DATASETS.names if DATASETS[name].shape is not None]
UNNAMED: list[Shape] = [(8, 8, 1), (28, 28, 1), (28, 28, 3), (32, 32, 3), (84, 84, 3), (256, 256, 3)]


def learner(shape: Shape, method: str = "fgp", **settings: Any) -> Learner:
    """A learner that has chosen how to learn images of this shape."""
    one = Learner(method, execution=Execution(threads=1), **settings)
    one.prepare(shape)
    return one


def choices(one: Learner) -> tuple[object, ...]:
    return one.setup.preset, one.setup.network, one.recipe, one.inputs, one.method.formula


def of_run(shape: Shape, **settings: Any) -> tuple[object, ...]:
    """The same from a spec, as `classgrow run` resolves it."""
    resolved = resolved_for(Spec(**settings), 100, shape, "")
    usual = {"digits": "small", "cifar": "resnet32", "imagenet": "resnet18"}
    method = method_of(resolved)
    return resolved.kind, resolved.network or usual[resolved.kind], resolved.recipe, resolved.inputs, method.formula


@pytest.mark.parametrize("method", ["fgp", "lucir"])
@pytest.mark.parametrize("name", [facts.name for facts in KNOWN])
def test_a_known_data_set_is_learned_the_same_way_by_run_and_learner(name: str, method: str) -> None:
    facts = DATASETS[name]
    assert facts.shape is not None
    settings = {"method": method, "epochs": 3, "profile": "matched"}
    run = of_run(facts.shape, dataset=name, order="natural", memory=2000, **settings)
    assert choices(learner(facts.shape, dataset=name, **settings)) == run
    assert run[3].mean == (facts.statistics or ((),))[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", UNNAMED, ids=str)
def test_unnamed_data_are_learned_the_same_way_by_run_and_learner(shape: Shape) -> None:
    """A folder's name says nothing of its images: both use the preset's statistics."""
    run = of_run(shape, dataset="folder", method="lucir")
    assert choices(learner(shape, "lucir")) == choices(learner(shape, "lucir", dataset="folder")) == run
    assert run[3].mean == ((0.5,) if shape[2] == 1 else run[3].mean)  # type: ignore[attr-defined]


def test_grey_images_of_28_pixels_are_mnist_only_where_it_is_said() -> None:
    shape = (28, 28, 1)
    assert learner(shape).inputs.mean == (0.5,)
    assert learner(shape, dataset="mnist").inputs.mean == (0.1307,)


def test_a_preset_and_a_network_by_hand() -> None:
    asked = {"preset": "imagenet", "network": "small", "method": "lucir"}
    run = of_run((32, 32, 3), dataset="cifar100", **asked)
    assert choices(learner((32, 32, 3), dataset="cifar100", **asked)) == run
    assert run[:2] == ("imagenet", "small")
    assert run[2] == recipe_for("lucir", "imagenet")
    assert "10" in str(run[4])  # lambda_base of Hou19 on ImageNet


def test_the_outline_is_the_run() -> None:
    for settings in ({}, {"preset": "cifar", "network": "resnet32"}, {"network": "resnet18", "rule": "head"}):
        spec = Spec(dataset="digits", **settings)
        assert outline(spec).identity == identity(resolved_for(spec, 10, (8, 8, 1), ""))


def test_what_is_as_it_is_anyway_changes_no_identity() -> None:
    usual = resolved_for(Spec(dataset="digits"), 10, (8, 8, 1), "")
    aloud = resolved_for(Spec(dataset="digits", preset="digits", network="small", rule="nearest"), 10, (8, 8, 1), "")
    assert aloud == usual
    assert not {"network", "rule", "value", "data"} & usual.to_json().keys()
    others = [{"preset": "cifar"}, {"network": "resnet32"}, {"rule": "head"}]
    found = {identity(resolved_for(Spec(dataset="digits", **one), 10, (8, 8, 1), "")) for one in others}
    assert len(found | {identity(usual)}) == 4
    other = resolved_for(Spec(dataset="digits", network="resnet32", rule="head"), 10, (8, 8, 1), "")
    assert (other.to_json()["network"], other.to_json()["rule"]) == ("resnet32", "head")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked(preset="cifr"), "no preset 'cifr': `preset` is one of digits, cifar, imagenet. Did you mean 'cifar'?"),
        (Asked(network="resnet3"), "no network 'resnet3': `network` is one of small, resnet32, resnet18"),
        (Asked(profile="fair"), "no profile 'fair': `profile` is one of official, matched, fast"),  # type: ignore[arg-type]
        (Asked(epochs=0), "0 epochs train nothing: give `epochs` of 1 or more"),
        (Asked(epochs=3, recipe=recipe_for("fgp", "digits")), "leave out `epochs` or the recipe"),
    ],
)
def test_what_is_asked_wrongly_is_said_in_one_sentence(asked: Asked, message: str) -> None:
    with pytest.raises(ClassgrowError) as caught:
        resolve_training(asked, None, (8, 8, 1), "fgp", "fgp")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_images_that_cannot_be_of_the_data_set_are_refused() -> None:
    with pytest.raises(ClassgrowError, match=r"Images of mnist have 1 channels, these have 3: .*`dataset`"):
        learner((28, 28, 3), dataset="mnist")
    with pytest.raises(ClassgrowError, match="no data set 'mnsit': `dataset` is one of"):
        Learner(dataset="mnsit")
    with pytest.raises(ClassgrowError, match="`shape`"):
        resolve_training(Asked(), None, (8, 8), "fgp", "fgp")  # type: ignore[arg-type]
