"""Each method's composition, as its paper has it; and how methods are found by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classgrow.methods
from classgrow import installed
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.methods.ablations import ABLATIONS
from classgrow.methods.catalogue import METHODS
from classgrow.methods.left_open import LEFT_OPEN
from classgrow.methods.options import options_of
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.discriminant import LinearDiscriminant
from classgrow.parts.distillation import LessForget, MarginRanking, SigmoidDistillation, SoftmaxDistillation
from classgrow.parts.heads import CosineHead, LinearHead, RectifiedCosineHead
from classgrow.parts.rules import LargestLogit, NearestClassMean
from classgrow.parts.selection import SELECTIONS
from classgrow.recipes import RECIPES, method_options, recipe_for
from classgrow.steps import OptimiseExemplars, Remember, Train
from classgrow.views import ClassCounts

BCE, CE, HERD = "BCE(σ(a), y)", "CE(softmax(a), y)", "remember exemplars by herding"
GRAPH = "0.1·√(old/seen)·Σ_old exp(−d*/2)·(d − d*)²"
SOFT = "(softmax(a*/2), softmax(a/2))"
HOU19 = f"{CE} + 5·√(old/new)·(1 − ⟨f̄*, f̄⟩) + Σ_hardest 2 max(0, 0.5 − cos_y + cos_new)"
EEIL = f"{CE} + Σ_blocks H{SOFT}"
RANDOM, IMPRINTED = "grow the head (random rows)", "grow the head (imprinted rows, old rows frozen)"

# name: head, rule, recipe, whether the last ReLU stays, steps
COMPOSITIONS: dict[str, tuple[Any, Any, str, bool, tuple[str, ...]]] = {
    "fgp": (RectifiedCosineHead(True), NearestClassMean(), "fgp", False, (RANDOM, f"train: {BCE} + {GRAPH}", HERD)),
    "icarl": (
        LinearHead("lasagne", reserve=True),
        NearestClassMean(),
        "icarl",
        False,
        (RANDOM, "train: BCE(σ(a), [σ(a*)_old, y_new])", HERD),
    ),
    "eeil": (
        LinearHead("he"),
        LargestLogit(),
        "eeil",
        True,
        (
            RANDOM,
            f"train: {EEIL}",
            "the network so far becomes the teacher",
            f"train on a balanced set: {EEIL}",
            HERD,
        ),
    ),
    "bic": (
        LinearHead(),
        LargestLogit(),
        "bic",
        True,
        (
            "hold out 10% of the memory for validation",
            RANDOM,
            f"train: old/seen·H{SOFT} + new/seen·{CE}",
            "correct the new classes' logits: α·a + β on held-out images",
            HERD,
        ),
    ),
    "lucir": (CosineHead(), LargestLogit(), "lucir", False, (IMPRINTED, f"train: {HOU19}", HERD)),
    "mnemonics": (
        CosineHead(),
        LargestLogit(),
        "lucir",
        False,
        (
            IMPRINTED,
            f"train: {HOU19}",
            HERD,
            "optimise the exemplars' pixels bilevel (10 epochs, 5 inner steps)",
        ),
    ),
    "wa": (
        LinearHead(),
        LargestLogit(),
        "bic",
        True,
        (
            RANDOM,
            f"train: old/seen·H{SOFT} + new/seen·{CE}",
            "scale the new rows to the mean length of the old ones",
            HERD,
        ),
    ),
    "finetune": (LinearHead(), LargestLogit(), "plain", True, (RANDOM, f"train: {CE}")),
    "replay": (LinearHead(), LargestLogit(), "plain", True, (RANDOM, f"train: {CE}", HERD)),
    "lwf": (LinearHead(), LargestLogit(), "plain", True, (RANDOM, f"train: {CE} + H{SOFT}")),
    "joint": (
        RectifiedCosineHead(),
        LargestLogit(),
        "fgp",
        False,
        ("start the network again", RANDOM, f"train: {BCE}", "remember every image"),
    ),
    "frozen": (LinearHead(), LinearDiscriminant(), "plain", True, (RANDOM, HERD)),
}

# What an ablation changes: its head, or its objective.
ABLATED: dict[str, tuple[str, Any, str]] = {
    "fgp-ce": ("fgp", None, f"{CE} + {GRAPH}"),
    "fgp-cosine": ("fgp", CosineHead(restart_scale=True), f"{BCE} + {GRAPH}"),
    "fgp-uniform": ("fgp", None, f"{BCE} + 0.1·√(old/seen)·Σ_old (d − d*)²"),
    "fgp-dist-bce": ("fgp", None, f"{BCE} + Σ_old BCE(σ(a*), σ(a))/seen"),
    "fgp-dist-kl": ("fgp", None, f"{BCE} + 1/seen·KL{SOFT}"),
    "fgp-dist-lucir": ("fgp", None, f"{BCE} + 5·1/seen·√(old/new)·(1 − ⟨f̄*, f̄⟩)"),
    "fgp-dist-bce-weighted": (
        "fgp",
        None,
        f"{BCE} + 0.1·√(old/seen)·Σ_old exp(−d*/2)·BCE(p*, p), p = exp(−d/2)",
    ),
    "norm-icarl": ("icarl", RectifiedCosineHead(reserve=True), "BCE(σ(a), [σ(a*)_old, y_new])"),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_composition(name: str) -> None:
    method = build_method(name)
    head, rule, recipe, last_relu, steps = COMPOSITIONS[name]
    assert method.name == name
    assert (method.head, method.rule, method.recipe, method.last_relu) == (head, rule, recipe, last_relu)
    assert tuple(str(step) for step in method.steps) == steps
    trained = [step.removeprefix("train").split(": ", 1)[1] for step in steps if step.startswith("train")]
    assert method.formula == "; then ".join(trained)


@pytest.mark.parametrize("name", ABLATED)
def test_an_ablation_is_its_original_with_one_thing_changed(name: str) -> None:
    method = build_method(name)
    original_name, head, formula = ABLATED[name]
    original = build_method(original_name)
    assert (method.name, method.formula) == (name, formula)
    assert method.head == (head or original.head)
    assert (method.formula == original.formula) == (head is not None)
    assert (method.rule, method.recipe, method.last_relu) == (original.rule, original.recipe, original.last_relu)
    for one, other in zip(method.steps, original.steps, strict=True):
        assert one == other or (isinstance(one, Train) and isinstance(other, Train))
    assert method.source.departures == (*LEFT_OPEN.get(name, ()), *original.source.departures)


def test_the_catalogue_is_the_issues_list() -> None:
    assert set(METHODS) - set(ABLATIONS) == set(COMPOSITIONS) == {
        "fgp", "icarl", "eeil", "bic", "lucir", "mnemonics", "wa", "finetune", "replay", "joint", "lwf", "frozen",
    }  # fmt: skip
    assert set(ABLATIONS) == set(ABLATED) == {
        "fgp-ce", "fgp-cosine", "fgp-uniform", "fgp-dist-bce", "fgp-dist-kl", "fgp-dist-lucir",
        "fgp-dist-bce-weighted", "norm-icarl",
    }  # fmt: skip
    assert set(LEFT_OPEN) <= set(ABLATIONS)


def test_who_keeps_what() -> None:
    without = {name for name in METHODS if not build_method(name).keeps_memory}
    assert without == {"finetune", "lwf", "joint"}
    assert {name for name in METHODS if build_method(name).unlimited_memory} == {"joint"}


def test_options_reach_the_formula() -> None:
    assert "0.3·√(old/seen)" in build_method("fgp", strength=0.3).formula
    assert "softmax(a*/4)" in build_method("eeil", temperature=4.0).formula
    assert "hold out 20%" in str(build_method("bic", held_out=0.2).steps[0])
    assert "Σ_hardest 1 max(0, 0.2" in build_method("lucir", hardest=1, margin=0.2).formula
    assert build_method("mnemonics", optimise=OptimiseExemplars(outer_epochs=3)).steps[-1].outer_epochs == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [name for name in ABLATIONS if name.startswith("fgp-")])
def test_every_ablation_of_fgp_takes_a_strength(name: str) -> None:
    """At its usual value nothing changes; twice the strength is twice the weight of what preserves."""
    usual = options_of(METHODS[name])["strength"]
    assert build_method(name, strength=usual) == build_method(name)
    preserving = [build_method(name, strength=factor * usual).objectives[0].terms()[1] for factor in (1, 2)]
    for counts in (ClassCounts(4, 4), ClassCounts(90, 10)):
        weight, double = (term.scale.factor(counts) for term in preserving)
        assert double == pytest.approx(2 * weight)
    assert "0.75" in build_method(name, strength=0.75).formula


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("fgp-dist-bce", 1.0),  # the division stands in the term itself
        ("fgp-dist-kl", 1 / 100),
        ("fgp-dist-lucir", 5 / 100 * 3),
    ],
)
def test_a_loss_of_another_paper_has_its_weight_there_over_the_classes_seen(name: str, weight: float) -> None:
    """90 old and 10 new classes; √(90/10) = 3."""
    term = build_method(name).objectives[0].terms()[1]
    assert term.scale.factor(ClassCounts(90, 10)) == pytest.approx(weight)


def test_every_loss_of_the_papers_is_named() -> None:
    formulas = " ".join(build_method(name).formula for name in METHODS)
    for term in (
        CrossEntropy(),
        LessForget(),
        MarginRanking(),
        SigmoidDistillation(),
        SoftmaxDistillation(2.0, relative=True),
    ):
        assert term.formula in formulas


@pytest.mark.parametrize(("wrong", "right"), [("icral", "icarl"), ("fgp-cosin", "fgp-cosine")])
def test_an_unknown_name_gets_a_hint(wrong: str, right: str) -> None:
    with pytest.raises(ClassgrowError, match=rf"There is no method '{wrong}'.*Did you mean '{right}'"):
        build_method(wrong)


# --- registration ----------------------------------------------------------------------------------------------------


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that installed packages bring these methods."""

    class Point:
        def __init__(self, name: str, factory: Any) -> None:
            self.name, self.load = name, lambda: factory

    def register(**factories: Callable[..., Method]) -> None:
        points = [Point(name, factory) for name, factory in factories.items()]
        monkeypatch.setattr(installed, "entry_points", lambda group: points if group == "classgrow.methods" else [])
        installed.installed_points.cache_clear()

    yield register
    installed.installed_points.cache_clear()


def mine(strength: float = 0.1) -> Method:
    return replace(build_method("fgp", strength=strength), name="mine")


def test_a_registered_method_is_known_by_name(register: Any) -> None:
    register(mine=mine)
    assert build_method("mine", strength=0.7).formula.startswith(f"{BCE} + 0.7")
    assert Learner("mine").method.name == "mine"
    with pytest.raises(ClassgrowError, match="Did you mean 'mine'"):
        build_method("mien")
    with pytest.raises(ClassgrowError, match=r"'mine' cannot be built with the options.*'weight'"):
        build_method("mine", weight=1)


def test_nobody_can_take_a_name_of_ours(register: Any) -> None:
    register(icarl=mine)
    assert build_method("icarl").name == "icarl"


def test_a_broken_package_is_told_and_disturbs_no_other_method(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "theirs"

        def load(self) -> Any:
            raise ImportError("no module named theirs")

    monkeypatch.setattr(installed, "entry_points", lambda group: [Broken()])
    installed.installed_points.cache_clear()
    try:
        assert build_method("fgp").name == "fgp"
        with pytest.raises(ClassgrowError, match=r"'theirs'.*no module named theirs.*uninstall"):
            build_method("theirs")
    finally:
        installed.installed_points.cache_clear()


def test_a_method_can_be_given_as_it_is() -> None:
    method = mine()
    assert Learner(method).method is method


# --- profiles and data sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_recipe_for_all_data_in_both_profiles(name: str) -> None:
    row = RECIPES[build_method(name).recipe]
    assert set(row) == {"digits", "cifar", "imagenet"}
    for kind in row:
        official = recipe_for(build_method(name).recipe, kind)
        matched = recipe_for(build_method(name).recipe, kind, "matched")
        second_stage = matched.fine_tune.epochs if matched.fine_tune else 0
        assert (official.fine_tune is not None) == (name == "eeil")
        assert matched.first.epochs == matched.later.epochs + second_stage == 70
        assert (matched.first.lr, matched.later.lr) == (official.first.lr, official.later.lr)


@pytest.mark.parametrize(("epochs", "stages"), [(70, (40, 30)), (14, (8, 6)), (7, (4, 3)), (2, (1, 1))])
def test_eeil_splits_matched_epochs_four_to_three(epochs: int, stages: tuple[int, int]) -> None:
    recipe = recipe_for("eeil", "cifar", "matched", epochs)
    assert recipe.fine_tune is not None
    assert (recipe.later.epochs, recipe.fine_tune.epochs) == stages


def test_the_numbers_of_every_method_can_be_given() -> None:
    assert {name: options_of(factory) for name, factory in METHODS.items() if options_of(factory)} == {
        "fgp": {"strength": 0.1},
        "icarl": {"outputs": 1},
        "eeil": {"temperature": 2.0},
        "bic": {"temperature": 2.0, "held_out": 0.1},
        "lucir": {"base": 5.0, "hardest": 2, "margin": 0.5},
        "mnemonics": {"base": 5.0},
        "wa": {"temperature": 2.0},
        "lwf": {"temperature": 2.0},
        "norm-icarl": {"outputs": 1},
        **{name: {"strength": 0.1} for name in ("fgp-ce", "fgp-cosine", "fgp-uniform", "fgp-dist-bce-weighted")},
        "fgp-dist-bce": {"strength": 1.0},
        "fgp-dist-kl": {"strength": 1.0, "temperature": 2.0},
        "fgp-dist-lucir": {"strength": 5.0},
    }
    assert "0.5·√(old/seen)" in build_method("fgp", strength=0.5).formula
    assert "Σ_hardest 1 " in build_method("lucir", hardest=1.0).formula


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fgp", {"strenght": 1}, "fgp has no option 'strenght'. Did you mean 'strength'? Its options: strength."),
        ("finetune", {"x": 1}, "finetune has no option 'x'. Its options: none."),
        ("eeil", {"temperature": 0}, "A temperature of 0 softens nothing: give one above 0."),
        ("bic", {"held_out": 1}, "A share of 1 cannot be held out: give one between 0 and 1."),
        ("lucir", {"hardest": 1.5}, "The option hardest of lucir takes a whole number of at least 0, not 1.5."),
        ("fgp", {"strength": float("nan")}, "The option strength of fgp takes a number of at least 0, not nan."),
        ("fgp", {"strength": "x"}, "The option strength of fgp takes a number of at least 0, not 'x'."),
        ("fgp", {"name": 1}, "fgp has no option 'name'. Its options: strength."),
    ],
)
def test_numbers_that_a_method_does_not_take_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ClassgrowError) as caught:
        build_method(name, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["lucir", "mnemonics"])
def test_hou19_holds_harder_on_imagenet(name: str) -> None:
    for kind, base in (("cifar", 5), ("digits", 5), ("imagenet", 10)):
        assert f"{base}·√(old/new)" in build_method(name, **method_options(name, kind)).formula  # type: ignore[arg-type]


def test_a_learner_of_large_images_takes_the_base_of_imagenet() -> None:
    learner = Learner("lucir", memory=4, epochs=1)
    learner.prepare((72, 72, 3))
    assert "10·√(old/new)" in learner.method.formula
    small = Learner("lucir", memory=4, epochs=1)
    small.prepare((8, 8, 1))
    assert "5·√(old/new)" in small.method.formula


def test_epochs_and_profile_reach_the_learner() -> None:
    learner = Learner("eeil", profile="matched", epochs=7)
    learner.prepare((8, 8, 1))
    assert learner.recipe == recipe_for("eeil", "digits", "matched", 7)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_any_method_with_a_memory_takes_any_selection(selection: str) -> None:
    for name in METHODS:
        method = build_method(name).with_selection(SELECTIONS[selection])
        assert all(step.selection is SELECTIONS[selection] for step in method.steps if isinstance(step, Remember))
        assert method.formula == build_method(name).formula and len(method.steps) == len(build_method(name).steps)
    assert build_method("bic").with_selection(SELECTIONS[selection]).steps[-1] == Remember(SELECTIONS[selection], 0.1)


def test_a_learner_remembers_by_its_selection() -> None:
    """Two classes of six images, two exemplars each: which ones depends on how they are chosen."""
    images = np.random.default_rng(0).integers(0, 255, (12, 8, 8), dtype=np.uint8)
    kept = {}
    for selection in ("herding", "random", "closest"):
        learner = Learner("replay", memory=4, epochs=1, selection=selection, execution=Execution(threads=1)).learn(
            images, [0, 1] * 6
        )
        assert str(learner.method.steps[-1]).startswith("remember exemplars by")
        kept[selection] = learner.state.memory.images.tolist()  # type: ignore[union-attr]
    assert kept["herding"] != kept["random"]


def test_a_method_fits_one_screen() -> None:
    folder = Path(classgrow.methods.__file__).parent
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}
    not_methods = {"ablations.py", "cards.py", "catalogue.py", "fingerprint.py", "own_code.py"}
    long = {name: length for name, length in lengths.items() if length > 60 and name not in not_methods}
    assert long == {}
