"""How long, how fast and on what pixels each method trains: plain data, one table, no torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from classgrow.errors import ClassgrowError, nearest_name

Kind = Literal["digits", "cifar", "imagenet"]
Profile = Literal["official", "matched"]

MATCHED_EPOCHS = 70
"""Epochs a phase gets in the profile "matched": those of FGP and iCaRL on CIFAR-100."""


@dataclass(frozen=True)
class Schedule:
    """A learning rate that falls in steps: after each number of completed epochs in `drops`, it is multiplied by
    `factor`."""

    epochs: int
    lr: float
    drops: tuple[int, ...]
    factor: float

    def scaled(self, epochs: int) -> Schedule:
        """The same shape over `epochs` epochs. A drop never comes before the first epoch is complete nor after the
        last one, so the first epoch always uses the starting rate."""
        drops = tuple(min(epochs, max(1, round(drop * epochs / self.epochs))) for drop in self.drops)
        return replace(self, epochs=epochs, drops=drops)

    def lr_at(self, epoch: int) -> float:
        """The learning rate during `epoch`, counted from 0."""
        return self.lr * self.factor ** sum(drop <= epoch for drop in self.drops)


@dataclass(frozen=True)
class Recipe:
    """How a method trains in its first phase, in later ones, and in a second, balanced stage if it has one."""

    first: Schedule
    later: Schedule
    fine_tune: Schedule | None
    momentum: float
    weight_decay: float
    decay: Literal["all", "weights"]  # "weights": neither biases nor the shifts of batch norm
    batch_size: int
    drop_last: bool
    later_batch_norm_momentum: float = 0.1  # 0.19 is FGP's code to the letter: two updates of 0.1 per step

    def starting_at(self, lr: float) -> Recipe:
        """The same with a first rate of `lr`; all other rates in proportion."""

        def moved(schedule: Schedule) -> Schedule:
            return replace(schedule, lr=lr if schedule.lr == self.first.lr else schedule.lr * (lr / self.first.lr))

        fine_tune = moved(self.fine_tune) if self.fine_tune else None
        return replace(self, first=moved(self.first), later=moved(self.later), fine_tune=fine_tune)


@dataclass(frozen=True)
class Inputs:
    """What the network sees: square images of `size` pixels, normalised, and how training varies them.

    `brightness` b draws a factor from U[1 - b, 1 + b]. `crop` is "pad" (`padding` black pixels around, then a random
    crop), "resized" (a random part at a random scale; a centred crop in tests) or "none".
    """

    size: int
    channels: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int
    mirror: bool
    brightness: float
    crop: Literal["pad", "resized", "none"] = "pad"


@dataclass(frozen=True)
class PaperProtocol:
    """What a benchmark uses unless told otherwise: exemplars in all, classes per phase, class order."""

    memory: int
    first: int
    step: int
    order: str


PROTOCOLS: dict[str, PaperProtocol] = {
    "cifar100": PaperProtocol(memory=2000, first=10, step=10, order="0"),
    "imagenet100": PaperProtocol(memory=2000, first=10, step=10, order="0"),
    "mini-imagenet": PaperProtocol(memory=2000, first=10, step=10, order="0"),
    "digits": PaperProtocol(memory=50, first=2, step=2, order="natural"),
    "mnist": PaperProtocol(memory=200, first=2, step=2, order="natural"),
}


def protocol_for(dataset: str, class_count: int) -> PaperProtocol:
    """The data set's protocol; for any other data the paper's proportions: 20 exemplars a class, ten phases."""
    step = -(-class_count // 10)
    return PROTOCOLS.get(dataset, PaperProtocol(memory=20 * class_count, first=step, step=step, order="natural"))


# ---------------------------------------------------------------------------------------------------------------------
# Optimisation. A row of numbers is (epochs, learning rate, drops, factor).


def _recipe(
    first: tuple[int, float, tuple[int, ...], float],
    later: tuple[int, float, tuple[int, ...], float] | None = None,
    fine_tune: tuple[int, float, tuple[int, ...], float] | None = None,
    *,
    weight_decay: float,
    batch_size: int = 128,
    decay: Literal["all", "weights"] = "all",
    drop_last: bool = False,
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
    )


_EEIL_STAGES = ((90, 0.1, (60, 75), 0.1), (60, 0.1, (40, 50), 0.1), (40, 0.01, (10, 20), 0.1))

# Sources: fgp, icarl and lucir from the authors' code; eeil with images varied online instead of 12 fixed copies of
# each (epochs of the port by Douillard); bic on ImageNet from the authors' code, on CIFAR from that port; plain and
# every row for digits are ours.
RECIPES: dict[str, dict[Kind, Recipe]] = {
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
        "cifar": _recipe(*_EEIL_STAGES, weight_decay=1e-4),
        "imagenet": _recipe(*_EEIL_STAGES, weight_decay=1e-4),
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


def kind_for(size: int) -> Kind:
    """Which column of the table fits images of `size` pixels."""
    if size <= 16:
        return "digits"
    return "cifar" if size <= 64 else "imagenet"


def recipe_for(
    recipe_name: str, kind: Kind, profile: Profile = "official", epochs: int | None = None, lr: float | None = None
) -> Recipe:
    """The recipe of a method on a kind of images, with its own learning rates unless `lr` names another first one.

    "official": the method's own epochs; with `epochs`, its first phase takes that many and all else shrinks or grows
    in proportion. "matched": every phase takes `epochs` (70 unless given) in total, a second stage included.
    """
    if recipe_name not in RECIPES:
        hint = nearest_name(recipe_name, tuple(RECIPES))
        raise ClassgrowError(f"There is no recipe {recipe_name!r}; known are {', '.join(RECIPES)}.{hint}")
    if kind not in RECIPES[recipe_name]:
        raise ClassgrowError(f"There is no kind of images {kind!r}; known are digits, cifar, imagenet.")
    if epochs is not None and epochs < 1:
        raise ClassgrowError(f"{epochs} epochs train nothing: give --epochs 1 or more.")
    return adapted(RECIPES[recipe_name][kind], profile, epochs, lr)


def adapted(recipe: Recipe, profile: str = "official", epochs: int | None = None, lr: float | None = None) -> Recipe:
    """A method's own recipe with another length or first learning rate; see `recipe_for`."""
    if lr is not None:
        recipe = recipe.starting_at(lr)
    if profile == "matched":
        return _matched(recipe, epochs or MATCHED_EPOCHS)
    if profile == "official":
        return recipe if epochs is None else _in_proportion(recipe, epochs)
    raise ClassgrowError(f"There is no profile {profile!r}; known are official and matched.")


def _in_proportion(recipe: Recipe, epochs: int) -> Recipe:
    def shrunk(schedule: Schedule) -> Schedule:
        return schedule.scaled(max(1, round(schedule.epochs * epochs / recipe.first.epochs)))

    fine_tune = shrunk(recipe.fine_tune) if recipe.fine_tune else None
    return replace(recipe, first=recipe.first.scaled(epochs), later=shrunk(recipe.later), fine_tune=fine_tune)


def _matched(recipe: Recipe, epochs: int) -> Recipe:
    first = recipe.first.scaled(epochs)
    if recipe.fine_tune is None:
        return replace(recipe, first=first, later=recipe.later.scaled(epochs))
    later = max(1, round(epochs * 4 / 7))
    rest = max(1, epochs - later)  # with epochs = 1 both stages keep one epoch, two in all
    return replace(recipe, first=first, later=recipe.later.scaled(later), fine_tune=recipe.fine_tune.scaled(rest))


_HOU19: dict[Kind, dict[str, float]] = {"digits": {"base": 5.0}, "cifar": {"base": 5.0}, "imagenet": {"base": 10.0}}
_ICARL: dict[Kind, dict[str, float]] = {"cifar": {"outputs": 100}, "imagenet": {"outputs": 100}}
METHOD_OPTIONS: dict[str, dict[Kind, dict[str, float]]] = {
    "lucir": _HOU19,
    "mnemonics": _HOU19,
    "icarl": _ICARL,
    "norm-icarl": _ICARL,
}
"""Arguments of a method's factory that change with the data set: lambda_base of Hou19; the least number of outputs that
iCaRL's mean is over, to which its learning rate belongs."""


def method_options(method: str, kind: Kind) -> dict[str, float]:
    """The row of METHOD_OPTIONS; most methods have none."""
    return dict(METHOD_OPTIONS.get(method, {}).get(kind, {}))


# ---------------------------------------------------------------------------------------------------------------------
# Inputs.

_COLOUR = {  # mean and standard deviation of the training images, scaled to 0..1
    "cifar": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}
_GREY = {"digits": (0.305, 0.376), "mnist": (0.1307, 0.3081)}
_IMAGENET_SIZE = 224
_KEPT_SIZE = 256


def inputs_for(dataset_or_kind: str, shape: tuple[int, int, int]) -> Inputs:
    """How images of `shape` (height, width, channels) enter the network.

    The named data sets use their own statistics; other data go by size and channels. One-channel images are never
    mirrored: a mirrored digit is another shape, and most grey images have a left and a right that matter.
    """
    height, width, channels = shape
    kind = kind_for(min(height, width))
    mean, std = _statistics(dataset_or_kind, kind, channels)
    if kind == "imagenet":
        size = min(height, width, _IMAGENET_SIZE)
        return Inputs(size, channels, mean, std, 0, channels > 1, 0.0, "resized")
    if height != width:
        side = min(height, width)
        raise ClassgrowError(f"Images of {height} x {width} pixels are not square: resize them to {side} x {side}.")
    brightness = 63 / 255 if channels > 1 and kind == "cifar" else 0.0
    padding = max(1, height // 8) if channels > 1 else max(1, height // 14)
    return Inputs(height, channels, mean, std, padding, channels > 1, brightness)


def kept_side(inputs: Inputs) -> int:
    """Pixels along a side of the square images that are kept: a margin around what the network sees of large ones."""
    return _KEPT_SIZE if inputs.crop == "resized" and inputs.size == _IMAGENET_SIZE else inputs.size


def _statistics(name: str, kind: Kind, channels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if channels == 3:
        return _COLOUR["imagenet" if kind == "imagenet" or name.startswith("imagenet") else "cifar"]
    mean, std = _GREY.get(name, (0.5, 0.25))
    return (mean,) * channels, (std,) * channels
