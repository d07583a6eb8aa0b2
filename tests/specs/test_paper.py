"""The paper's grid, whole and reduced."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from classgrow.errors import ClassgrowError
from classgrow.specs.paper import ABLATIONS, ITEMS, METHODS, all_specs, item_named, specs_of, words_for
from classgrow.specs.reduction import FULL_SIZE, Reduction
from classgrow.specs.spec import Spec

SMALL = Reduction(
    datasets=("cifar100",), orders=("0", "1", "2"), epochs=7, classes=20, first=4, step=4, memory=200
)  # fmt: skip


def test_every_table_and_figure_is_listed() -> None:
    wanted = {"table1", *(f"tableA{n}" for n in (1, 2, 3)), *(f"figure{n}" for n in range(1, 10))}
    assert set(ITEMS) == wanted | {f"figureA{n}" for n in range(1, 6)} | {"batch"}
    without = {name: item.kind for name, item in ITEMS.items() if not item.has_runs}
    assert without == {"figure1": "drawing", "figure2": "drawing", "figure3": "toy", "figureA1": "toy"}


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("table1", 8 * 6 * 5),
        ("tableA1", 8 * 6 * 5),
        ("tableA2", 8 * 6 * 5),
        ("tableA3", 8 * 6 * 5),
        ("figure3", 0),
        ("figure4", 8 * 6 * 5),
        ("figure5", 4 * 6 * 5),
        ("figure6", 4 * 2 * 5),
        ("figure7", 4 * 2 * 5),
        ("figure8", 4 * 4 * 5),
        ("figure9", 4 * 2 * 5),
        ("figureA2", 4 * 2 * 5),
        ("figureA3", 4 * 3 * 5),
        ("figureA4", 8 * 6 * 5),
        ("figureA5", 4 * 6 * 5),
        ("batch", 5),
    ],
)
def test_the_whole_grid(name: str, runs: int) -> None:
    specs = specs_of(ITEMS[name])
    assert len(specs) == len(set(specs)) == runs


def test_table_1_is_the_papers_grid() -> None:
    specs = specs_of(ITEMS["table1"])
    assert {spec.dataset for spec in specs} == {"cifar100", "imagenet100"}
    assert {(spec.first, spec.step) for spec in specs} == {(10, 10), (50, 10)}
    assert {spec.memory for spec in specs} == {1000, 2000}
    assert {spec.order for spec in specs} == {"0", "1", "2", "3", "4"}
    assert {spec.method for spec in specs} == set(METHODS)
    assert all(spec.epochs is None and spec.classes is None and spec.profile == "official" for spec in specs)
    assert {(spec.first, spec.step) for spec in specs_of(ITEMS["tableA3"])} == {(5, 5), (50, 5)}


def test_items_share_runs() -> None:
    assert set(specs_of(ITEMS["table1"])) == set(specs_of(ITEMS["tableA2"])) == set(specs_of(ITEMS["figure4"]))
    assert set(specs_of(ITEMS["figure5"])) < set(specs_of(ITEMS["table1"]))
    assert len(all_specs()) == 240 + 240 + 4 * 8 * 5 + 5
    assert {spec.method for spec in all_specs()} == {*METHODS, *ABLATIONS, "joint"}


def test_batch_training_learns_all_classes_in_one_phase_however_many_there_are() -> None:
    (whole,) = specs_of(ITEMS["batch"], Reduction(orders=("0",)))
    assert (whole.method, whole.first, whole.classes) == ("joint", 100, None)
    (small,) = specs_of(ITEMS["batch"], Reduction(orders=("0",), classes=20))
    assert (small.first, small.classes) == (20, 20)
    assert Reduction.of([whole]).words() == "CIFAR-100 only; 1 of 5 class orders"


def test_a_small_setting_is_one_setting() -> None:
    specs = specs_of(ITEMS["table1"], SMALL)
    assert len(specs) == 6 * 3
    assert Counter((s.dataset, s.first, s.step, s.classes, s.memory, s.epochs) for s in specs) == {
        ("cifar100", 4, 4, 20, 200, 7): 18
    }
    assert set(specs_of(ITEMS["tableA1"], SMALL)) == set(specs)


def test_settings_that_do_not_fit_are_left_out_or_explained() -> None:
    reduced = Reduction(classes=20)
    assert {spec.first for spec in specs_of(ITEMS["table1"], reduced)} == {10}
    with pytest.raises(ClassgrowError, match="add `first` and `step`"):
        specs_of(ITEMS["figure5"], reduced)


def test_unknown_names_are_explained() -> None:
    with pytest.raises(ClassgrowError, match="figure4"):
        item_named("figure44")
    with pytest.raises(ClassgrowError, match="does not use 'digits'"):
        specs_of(ITEMS["table1"], Reduction(datasets=("digits",)))


def test_words_say_what_was_shortened() -> None:
    assert Reduction().words() == FULL_SIZE
    assert SMALL.words() == (
        "CIFAR-100 only; 3 of 5 class orders; 7 of 70 epochs (FGP's; other methods' in proportion); 20 of 100 classes, "
        "4 in the first phase, 4 in each later one; a memory of 200 images instead of 1,000 or 2,000"
    )
    both = Reduction(epochs=6).words()
    assert both == "6 of 70 (CIFAR-100) or 60 (ImageNet-100) epochs (FGP's; other methods' in proportion)"
    assert Reduction(profile="matched", epochs=7).words() == "every phase of every method takes 7 of 70 epochs"
    fast = Reduction(profile="fast")
    assert fast.words() == "the fast profile: 20% of the image-steps in ten phases of ten classes"
    assert Reduction(profile="fast", epochs=7).words() == (
        "the fast profile with 7 epochs in the first phase (others in proportion)"
    )


def test_words_come_from_specs_too() -> None:
    assert Reduction.of(specs_of(ITEMS["table1"])) == Reduction()
    assert Reduction.of(specs_of(ITEMS["table1"], SMALL)) == SMALL
    assert Reduction.of([Spec(dataset="digits", epochs=5)]).words() == (
        "digits, which the paper does not use; 1 class order of our own; 5 of 30 epochs (FGP's; other methods' in "
        "proportion)"
    )


def test_words_name_numbers_that_are_not_the_methods_own() -> None:
    words = Reduction.of([Spec(lr=0.4, options={"strength": 0.5})]).words()
    assert words.endswith("; first learning rate set to 0.4; strength set to 0.5")


def test_classes_are_counted_of_the_papers_data_only() -> None:
    assert "20 of 100 classes" in Reduction.of([Spec(classes=20)]).words()
    assert Reduction.of([Spec(dataset="digits", classes=4)]).words().endswith("; 4 classes")


def test_settings_that_no_longer_fit_are_named() -> None:
    """With 20 classes none can start from 50; with --first given, all do."""
    short = Reduction(datasets=("cifar100",), orders=("0",), classes=20)
    words = words_for([ITEMS["figure6"]], short)
    assert words.endswith("20 of 100 classes; without the settings that start from 50 classes")
    assert "without" not in words_for([ITEMS["figure6"]], replace(short, first=4, step=4))
