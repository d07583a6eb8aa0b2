"""How long and how fast each method trains: plain data, one table, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, get_args

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.presets import PresetName, checked_preset
from classgrow.schedules import WHERE_NEEDED
from classgrow.schedules import Schedule as Schedule

Profile = Literal["official", "matched", "fast"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

MATCHED_EPOCHS = 70
"""Epochs a phase gets in the profile "matched": those of FGP and iCaRL on CIFAR-100."""


@dataclass(frozen=True)
class Recipe:
    """How a method trains in its first phase, in later ones, and in a second, balanced stage if it has one.

    The second stage goes on, at its rates in proportion, until it has made `fine_tune_updates` updates at least: a
    balanced set may be so small that its epochs alone would change nothing.
    """

    first: Schedule
    later: Schedule
    fine_tune: Schedule | None
    momentum: float
    weight_decay: float
    decay: Literal["all", "weights"]  # "weights": neither biases nor the shifts of batch norm
    batch_size: int
    drop_last: bool
    later_batch_norm_momentum: float = 0.1  # 0.19 is FGP's code to the letter: two updates of 0.1 per step
    fine_tune_updates: int = field(default=0, metadata=WHERE_NEEDED)

    def starting_at(self, lr: float) -> Recipe:
        """The same with a first rate of `lr`; all other rates in proportion."""

        def moved(schedule: Schedule) -> Schedule:
            return replace(schedule, lr=lr if schedule.lr == self.first.lr else schedule.lr * (lr / self.first.lr))

        fine_tune = moved(self.fine_tune) if self.fine_tune else None
        return replace(self, first=moved(self.first), later=moved(self.later), fine_tune=fine_tune)


@dataclass(frozen=True)
class Shortening:
    """How the profile "fast" is made of a method's own recipe: shares of its epochs and rates, small batches.

    Few images, many updates: batches are small, and the rate rises over `warm_up`, then falls in a straight line to
    zero. The first phase, small beside all later ones together, keeps most of its epochs. Every method starts from the
    same epochs, those of the profile "matched", so that all of them see the same number of images.
    """

    first_epochs: Fraction
    later_epochs: Fraction
    first_rate: float
    later_rate: float
    batch_size: int
    warm_up: float

    def of(self, recipe: Recipe) -> Recipe:
        """The recipe shortened; momentum, weight decay and all else stay the method's own."""
        equal = _matched(recipe, MATCHED_EPOCHS)
        fine_tune = equal.fine_tune
        return replace(
            equal,
            first=self._stage(equal.first, self.first_epochs, self.first_rate),
            later=self._stage(equal.later, self.later_epochs, self.later_rate),
            fine_tune=self._stage(fine_tune, self.later_epochs, self.later_rate) if fine_tune else None,
            batch_size=min(recipe.batch_size, self.batch_size),
        )

    def _stage(self, schedule: Schedule, epochs: Fraction, rate: float) -> Schedule:
        return Schedule(max(1, round(schedule.epochs * epochs)), schedule.lr * rate, (), 1.0, "linear", self.warm_up)


FAST = Shortening(Fraction(5, 7), Fraction(11, 70), 0.25, 0.5, 16, 0.1)
"""Chosen on held-out training images of class order 1 of CIFAR-100 (docs/performance.md), one rule for all methods."""


# A row of numbers is (epochs, learning rate, drops, factor).


def _recipe(
    first: tuple[int, float, tuple[int, ...], float],
    later: tuple[int, float, tuple[int, ...], float] | None = None,
    fine_tune: tuple[int, float, tuple[int, ...], float] | None = None,
    *,
    weight_decay: float,
    batch_size: int = 128,
    decay: Literal["all", "weights"] = "all",
    drop_last: bool = False,
    fine_tune_updates: int = 0,
) -> Recipe:
    return Recipe(
        first=Schedule(*first),
        later=Schedule(*(later or first)),
        fine_tune=Schedule(*fine_tune) if fine_tune else None,
        momentum=0.9,
        weight_decay=weight_decay,
        decay=decay,
        batch_size=batch_size,
        drop_last=drop_last,
        fine_tune_updates=fine_tune_updates,
    )


_EEIL_STAGES = ((90, 0.1, (50, 60), 0.1), (60, 0.1, (40, 50), 0.1), (40, 0.01, (10, 20), 0.1))
_EEIL_UPDATES = 500  # theirs (12 variants of each image, 30 epochs, batches of 128) make 562 with 200 images

# Sources: fgp, icarl and lucir from the authors' code; eeil with images varied online instead of 12 fixed copies of
# each (epochs of the port by Douillard); bic on ImageNet from the authors' code, on CIFAR from that port; plain and
# every row for digits are ours.
RECIPES: dict[str, dict[PresetName, Recipe]] = {
    "fgp": {
        "cifar": _recipe((70, 2.0, (50, 64), 0.2), weight_decay=1e-5),
        "imagenet": _recipe((60, 2.0, (20, 30, 40, 50), 0.2), weight_decay=1e-5),
        "digits": _recipe((30, 0.5, (20, 26), 0.2), weight_decay=1e-5, batch_size=32),
    },
    "icarl": {
        # The code drops the incomplete last batch on CIFAR only.
        "cifar": _recipe((70, 2.0, (49, 63), 0.2), weight_decay=1e-5, decay="weights", drop_last=True),
        "imagenet": _recipe((60, 2.0, (21, 31, 41, 51), 0.2), weight_decay=1e-5, decay="weights"),
        "digits": _recipe((30, 0.5, (20, 26), 0.2), weight_decay=1e-5, decay="weights", batch_size=32),
    },
    "eeil": {
        "cifar": _recipe(*_EEIL_STAGES, weight_decay=1e-4, fine_tune_updates=_EEIL_UPDATES),
        "imagenet": _recipe(*_EEIL_STAGES, weight_decay=1e-4, fine_tune_updates=_EEIL_UPDATES),
        "digits": _recipe(
            (30, 0.1, (20, 26), 0.1),
            (17, 0.1, (11, 15), 0.1),
            (13, 0.01, (3, 7), 0.1),
            weight_decay=1e-4,
            batch_size=32,
        ),
    },
    "bic": {
        "cifar": _recipe((250, 0.1, (100, 150, 200), 0.1), weight_decay=2e-4),
        "imagenet": _recipe((100, 0.1, (30, 60, 80, 90), 0.1), weight_decay=1e-4, batch_size=256),
        "digits": _recipe((30, 0.1, (20, 26), 0.1), weight_decay=2e-4, batch_size=32),
    },
    "lucir": {
        "cifar": _recipe((160, 0.1, (80, 120), 0.1), weight_decay=5e-4),
        "imagenet": _recipe((90, 0.1, (30, 60), 0.1), weight_decay=1e-4),
        "digits": _recipe((30, 0.1, (20, 26), 0.1), weight_decay=5e-4, batch_size=32),
    },
    "plain": {
        "cifar": _recipe((70, 0.1, (49, 63), 0.1), weight_decay=5e-4),
        "imagenet": _recipe((60, 0.1, (30, 45), 0.1), weight_decay=1e-4),
        "digits": _recipe((30, 0.1, (20, 26), 0.1), weight_decay=5e-4, batch_size=32),
    },
}


def recipe_for(
    recipe_name: str,
    preset: PresetName,
    profile: Profile = "official",
    epochs: int | None = None,
    lr: float | None = None,
) -> Recipe:
    """The recipe of a method with a preset, with its own learning rates unless `lr` names another first one.

    "official": the method's own epochs; with `epochs`, its first phase takes that many and all else shrinks or grows
    in proportion. "matched": every phase takes `epochs` (70 unless given) in total, a second stage included. "fast":
    for every method a fifth of the image-steps of FGP's own recipe over ten phases (`FAST`); `epochs` and `lr` set its
    first phase, all else in proportion.
    """
    if recipe_name not in RECIPES:
        hint = nearest_name(recipe_name, tuple(RECIPES))
        raise ClassgrowError(f"There is no recipe {recipe_name!r}; known are {', '.join(RECIPES)}.{hint}")
    if epochs is not None and epochs < 1:
        raise ClassgrowError(f"{epochs} epochs train nothing: give `epochs` of 1 or more.")
    return adapted(RECIPES[recipe_name][checked_preset(preset)], profile, epochs, lr)


def adapted(recipe: Recipe, profile: str = "official", epochs: int | None = None, lr: float | None = None) -> Recipe:
    """A method's own recipe with another length or first learning rate; see `recipe_for`."""
    if profile == "fast":
        recipe = FAST.of(recipe)
    if lr is not None:
        recipe = recipe.starting_at(lr)
    if profile == "matched":
        return _matched(recipe, epochs or MATCHED_EPOCHS)
    if profile in PROFILES:
        return recipe if epochs is None else _in_proportion(recipe, epochs)
    raise ClassgrowError(f"There is no profile {profile!r}: `profile` is one of {', '.join(PROFILES)}.")


def _in_proportion(recipe: Recipe, epochs: int) -> Recipe:
    def shrunk(schedule: Schedule) -> Schedule:
        return schedule.scaled(max(1, round(schedule.epochs * epochs / recipe.first.epochs)))

    fine_tune = shrunk(recipe.fine_tune) if recipe.fine_tune else None
    updates = round(recipe.fine_tune_updates * epochs / recipe.first.epochs)
    first, later = recipe.first.scaled(epochs), shrunk(recipe.later)
    return replace(recipe, first=first, later=later, fine_tune=fine_tune, fine_tune_updates=updates)


def _matched(recipe: Recipe, epochs: int) -> Recipe:
    first = recipe.first.scaled(epochs)
    if recipe.fine_tune is None:
        return replace(recipe, first=first, later=recipe.later.scaled(epochs))
    later = max(1, round(epochs * 4 / 7))
    rest = max(1, epochs - later)  # with epochs = 1 both stages keep one epoch, two in all
    return replace(recipe, first=first, later=recipe.later.scaled(later), fine_tune=recipe.fine_tune.scaled(rest))


_HOU19: dict[PresetName, dict[str, float]] = {
    "digits": {"base": 5.0},
    "cifar": {"base": 5.0},
    "imagenet": {"base": 10.0},
}
_ICARL: dict[PresetName, dict[str, float]] = {"cifar": {"outputs": 100}, "imagenet": {"outputs": 100}}
METHOD_OPTIONS: dict[str, dict[PresetName, dict[str, float]]] = {
    "lucir": _HOU19,
    "mnemonics": _HOU19,
    "icarl": _ICARL,
    "norm-icarl": _ICARL,
}
"""Arguments of a method's factory that change with the data set: lambda_base of Hou19; the least number of outputs that
iCaRL's mean is over, to which its learning rate belongs."""


def method_options(method: str, preset: PresetName) -> dict[str, float]:
    """The row of METHOD_OPTIONS; most methods have none."""
    return dict(METHOD_OPTIONS.get(method, {}).get(preset, {}))
