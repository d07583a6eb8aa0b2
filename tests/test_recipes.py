"""Schedules count completed epochs; recipes are the papers' numbers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classgrow.errors import ClassgrowError
from classgrow.recipes import FAST, PROFILES, RECIPES, Recipe, Schedule, method_options, recipe_for
from classgrow.specs.typed import json_of, typed


def test_fgp_on_cifar_trains_50_14_and_6_epochs_at_falling_rates() -> None:
    schedule = recipe_for("fgp", "cifar").first
    rates = [schedule.lr_at(epoch) for epoch in range(schedule.epochs)]
    assert rates[:50] == [2.0] * 50
    assert rates[50:64] == pytest.approx([0.4] * 14)
    assert rates[64:] == pytest.approx([0.08] * 6)
    assert len(rates) == 70


def test_icarl_on_imagenet_trains_21_10_10_10_and_9_epochs() -> None:
    schedule = recipe_for("icarl", "imagenet").later
    rates = [round(schedule.lr_at(epoch), 6) for epoch in range(schedule.epochs)]
    counts = [rates.count(rate) for rate in (2.0, 0.4, 0.08, 0.016, 0.0032)]
    assert counts == [21, 10, 10, 10, 9]


def test_scaling_keeps_the_shape() -> None:
    """50 of 70 and 64 of 70 epochs become 5 of 7 and 6.4 of 7, rounded to 6."""
    assert Schedule(70, 2.0, (50, 64), 0.2).scaled(7) == Schedule(7, 2.0, (5, 6), 0.2)


def test_a_single_epoch_uses_the_starting_rate() -> None:
    assert recipe_for("fgp", "imagenet", epochs=1).first.lr_at(0) == 2.0


@given(
    name=st.sampled_from(sorted(RECIPES)),
    kind=st.sampled_from(["digits", "cifar", "imagenet"]),
    epochs=st.integers(1, 500),
)
def test_scaled_drops_stay_inside_and_in_order(name: str, kind: Any, epochs: int) -> None:
    recipe = recipe_for(name, kind, "matched", epochs)
    for schedule in (recipe.first, recipe.later, recipe.fine_tune):
        if schedule is not None:
            assert list(schedule.drops) == sorted(schedule.drops)
            assert all(1 <= drop <= schedule.epochs for drop in schedule.drops)


@pytest.mark.parametrize(
    ("name", "epochs", "lr", "drops", "factor", "weight_decay"),
    [
        ("fgp", 70, 2.0, (50, 64), 0.2, 1e-5),
        ("icarl", 70, 2.0, (49, 63), 0.2, 1e-5),
        ("eeil", 90, 0.1, (50, 60), 0.1, 1e-4),
        ("bic", 250, 0.1, (100, 150, 200), 0.1, 2e-4),
        ("lucir", 160, 0.1, (80, 120), 0.1, 5e-4),
        ("plain", 70, 0.1, (49, 63), 0.1, 5e-4),
    ],
)
def test_cifar_recipes_are_the_papers(
    name: str, epochs: int, lr: float, drops: tuple[int, ...], factor: float, weight_decay: float
) -> None:
    recipe = recipe_for(name, "cifar")
    assert recipe.first == Schedule(epochs, lr, drops, factor)
    assert (recipe.weight_decay, recipe.momentum, recipe.batch_size) == (weight_decay, 0.9, 128)


@pytest.mark.parametrize(
    ("name", "epochs", "drops", "weight_decay", "batch_size"),
    [
        ("fgp", 60, (20, 30, 40, 50), 1e-5, 128),
        ("icarl", 60, (21, 31, 41, 51), 1e-5, 128),
        ("bic", 100, (30, 60, 80, 90), 1e-4, 256),
        ("lucir", 90, (30, 60), 1e-4, 128),
        ("plain", 60, (30, 45), 1e-4, 128),
    ],
)
def test_imagenet_recipes_are_the_papers(
    name: str, epochs: int, drops: tuple[int, ...], weight_decay: float, batch_size: int
) -> None:
    recipe = recipe_for(name, "imagenet")
    assert (recipe.later.epochs, recipe.later.drops) == (epochs, drops)
    assert (recipe.weight_decay, recipe.batch_size) == (weight_decay, batch_size)


def test_eeil_has_a_second_stage_and_nobody_else() -> None:
    recipe = recipe_for("eeil", "cifar")
    assert recipe.later == Schedule(60, 0.1, (40, 50), 0.1)
    assert recipe.fine_tune == Schedule(40, 0.01, (10, 20), 0.1)
    assert [name for name in RECIPES if recipe_for(name, "cifar").fine_tune] == ["eeil"]


def test_icarl_drops_the_last_batch_and_spares_biases() -> None:
    recipe = recipe_for("icarl", "cifar")
    assert (recipe.drop_last, recipe.decay) == (True, "weights")
    assert (recipe_for("fgp", "cifar").drop_last, recipe_for("fgp", "cifar").decay) == (False, "all")


@pytest.mark.parametrize("name", sorted(RECIPES))
@pytest.mark.parametrize("epochs", [None, 7, 35])
def test_matched_gives_every_phase_the_same_epochs(name: str, epochs: int | None) -> None:
    recipe = recipe_for(name, "cifar", "matched", epochs)
    second_stage = recipe.fine_tune.epochs if recipe.fine_tune else 0
    assert recipe.first.epochs == recipe.later.epochs + second_stage == (epochs or 70)
    assert recipe.first.lr == recipe_for(name, "cifar").first.lr


def test_matched_eeil_splits_four_to_three() -> None:
    recipe = recipe_for("eeil", "cifar", "matched")
    assert recipe.fine_tune is not None
    assert (recipe.later.epochs, recipe.fine_tune.epochs) == (40, 30)


def test_official_with_epochs_scales_all_stages_by_the_first() -> None:
    """A tenth of 90, 60 and 40 epochs."""
    recipe = recipe_for("eeil", "cifar", "official", epochs=9)
    assert recipe.fine_tune is not None
    assert (recipe.first.epochs, recipe.later.epochs, recipe.fine_tune.epochs) == (9, 6, 4)
    assert (recipe.first.drops, recipe.later.drops, recipe.fine_tune.drops) == ((5, 6), (4, 5), (1, 2))
    assert recipe.fine_tune_updates == 50


def test_the_second_stage_makes_500_updates_at_least_in_every_profile_but_on_digits() -> None:
    least = [recipe_for("eeil", "cifar", profile).fine_tune_updates for profile in PROFILES]
    assert least == [500, 500, 500]
    assert recipe_for("eeil", "cifar", "matched", 30).fine_tune_updates == 500
    assert recipe_for("eeil", "digits").fine_tune_updates == 0
    assert {recipe_for(name, "cifar").fine_tune_updates for name in RECIPES if name != "eeil"} == {0}


def test_a_recipe_without_a_least_number_of_updates_is_written_as_before() -> None:
    """So recorded runs keep their identities."""
    assert "fine_tune_updates" not in json_of(recipe_for("fgp", "cifar"))
    recipe = recipe_for("eeil", "cifar")
    assert json_of(recipe)["fine_tune_updates"] == 500
    assert typed(Recipe, json_of(recipe)) == recipe


def test_fast_is_small_batches_a_warm_up_and_a_straight_line_to_zero() -> None:
    """5/7 and 11/70 of 70 epochs, 1/4 and 1/2 of a rate of 2.0."""
    recipe = recipe_for("fgp", "cifar", "fast")
    assert recipe.first == Schedule(50, 0.5, (), 1.0, "linear", 0.1)
    assert recipe.later == Schedule(11, 1.0, (), 1.0, "linear", 0.1)
    assert (recipe.batch_size, recipe.weight_decay, recipe.momentum) == (16, 1e-5, 0.9)


def test_fast_takes_a_fifth_of_the_image_steps_of_the_paper_s_run() -> None:
    """Ten phases of 5,000 new images; beside those of nine stands a memory of 2,000: 4.76 million become 0.94."""

    def images(recipe: Recipe) -> int:
        return recipe.first.epochs * 5000 + 9 * recipe.later.epochs * 7000

    own, fast = images(recipe_for("fgp", "cifar")), images(recipe_for("fgp", "cifar", "fast"))
    assert (own, fast) == (4_760_000, 943_000)
    assert fast / own < 1 / 5


@pytest.mark.parametrize("name", sorted(RECIPES))
@pytest.mark.parametrize("preset", ["digits", "cifar", "imagenet"])
def test_fast_is_one_rule_for_every_method(name: str, preset: Any) -> None:
    """The same epochs for all, 11 of 70 later; of EEIL's two stages (40 and 30 of 70) 6 and 5."""
    own, fast = recipe_for(name, preset), recipe_for(name, preset, "fast")
    assert fast == FAST.of(own)
    assert (fast.first.lr, fast.later.lr) == (own.first.lr / 4, own.later.lr / 2)
    assert (fast.first.epochs, fast.batch_size) == (50, 16)
    assert fast.later.epochs + (fast.fine_tune.epochs if fast.fine_tune else 0) == 11
    assert (fast.drop_last, fast.decay, fast.fine_tune is None) == (own.drop_last, own.decay, own.fine_tune is None)


def test_fast_with_epochs_and_rate_of_its_own() -> None:
    """Half of 50 epochs: 11 become 6 (half to even); twice 0.5: 1.0 becomes 2.0."""
    recipe = recipe_for("fgp", "cifar", "fast", epochs=25, lr=1.0)
    assert (recipe.first.epochs, recipe.later.epochs) == (25, 6)
    assert (recipe.first.lr, recipe.later.lr, recipe.later.warm_up) == (1.0, 2.0, 0.1)


def test_another_first_rate_moves_all_rates_in_proportion() -> None:
    recipe = recipe_for("eeil", "cifar", "matched", 7, lr=0.4)
    own = recipe_for("eeil", "cifar", "matched", 7)
    assert recipe.fine_tune is not None and own.fine_tune is not None
    rates = (recipe.first.lr, recipe.later.lr, recipe.fine_tune.lr)
    assert rates == pytest.approx((0.4, 0.4, 0.04))  # four times 0.1, 0.1 and 0.01
    assert (recipe.first.drops, recipe.fine_tune.epochs) == (own.first.drops, own.fine_tune.epochs)
    for name in RECIPES:
        assert recipe_for(name, "cifar", lr=recipe_for(name, "cifar").first.lr) == recipe_for(name, "cifar")
    assert recipe_for("plain", "cifar", lr=0.4).later.lr == 0.4


def test_digits_take_30_epochs_in_every_phase() -> None:
    for name in RECIPES:
        recipe = recipe_for(name, "digits")
        assert recipe.first.epochs == 30
        assert recipe.later.epochs + (recipe.fine_tune.epochs if recipe.fine_tune else 0) == 30
        assert recipe.batch_size == 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("icral", "cifar"), "Did you mean 'icarl'"),
        (("fgp", "cifr"), "no preset 'cifr': `preset` is one of digits, cifar, imagenet"),
        (("fgp", "cifar", "fair"), "no profile 'fair': `profile` is one of official, matched, fast"),
        (("fgp", "cifar", "official", 0), "give `epochs` of 1 or more"),
    ],
)
def test_a_wrong_word_is_told(arguments: Any, message: str) -> None:
    with pytest.raises(ClassgrowError, match=message):
        recipe_for(*arguments)


def test_lucir_and_mnemonics_distil_harder_on_imagenet() -> None:
    assert method_options("lucir", "cifar") == {"base": 5.0}
    assert method_options("mnemonics", "imagenet") == {"base": 10.0}
    assert method_options("fgp", "imagenet") == {}


def test_recipes_are_values() -> None:
    with pytest.raises(FrozenInstanceError):
        recipe_for("fgp", "cifar").momentum = 0.5  # type: ignore[misc]


def test_recipes_need_neither_torch_nor_pydantic() -> None:
    modules = "classgrow.recipes, classgrow.inputs, classgrow.presets"
    program = f"import sys, {modules}; print({{'torch', 'pydantic', 'numpy'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
