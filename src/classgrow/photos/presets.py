"""From what a person asks for to a learner: method, network, image size, a recipe by the number of photos.

- fast: frozen pretrained features and the exact discriminant rule: nothing is trained
- balanced: the same features, a random projection and ridge regression
- best: FGP fine-tunes the last stages of the pretrained network, with photos held out; without pretrained weights it
  trains a network from scratch
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict, get_args

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.inputs import Inputs, inputs_for
from classgrow.learner import Learner
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.methods.fgp import fgp
from classgrow.networks.catalogue import NETWORKS, PRETRAINED
from classgrow.networks.pretrained import is_installed
from classgrow.parts.selection import herding
from classgrow.presets import PresetName
from classgrow.progress import Progress
from classgrow.recipes import RECIPES, Recipe
from classgrow.schedules import Schedule
from classgrow.specs.training import Asked, pretrained_inputs
from classgrow.steps import FineTune, HoldOut, Remember

PhotoPreset = Literal["fast", "balanced", "best"]
PHOTO_PRESETS: tuple[PhotoPreset, ...] = get_args(PhotoPreset)
EXTRA = "pip install 'classgrow[photos]'"

HELD_OUT = 0.2
"""The share of the photos of a class that `best` keeps out of training, to measure itself by."""
FEW, MANY = 50, 1000
"""Photos of a class that a network from scratch should have at least; photos in all from which it is a larger one."""
SIDES: dict[str, tuple[PresetName, int]] = {
    "small": ("cifar", 32),
    "resnet32": ("cifar", 32),
    "resnet18": ("imagenet", 256),
}
"""Networks without published weights: the preset whose recipe they train by, and pixels of a side of the photos."""


@dataclass(frozen=True)
class PhotoSettings:
    """What a model remembers of how it was made, besides its learner: how many earlier versions to `keep`, and the
    name of its method where that is one of this file (`own`)."""

    preset: PhotoPreset
    keep: int = 5
    own: str = ""


@dataclass(frozen=True)
class Wish:
    """What a person may ask for when a model is made; None: as the preset has it."""

    preset: str | None = None
    method: str | None = None
    network: str | None = None
    weights: Path | str | None = None
    memory: int | None = None
    seed: int = 1
    keep_photos: bool = True
    keep: int | None = None


@dataclass(frozen=True)
class Plan:
    """A wish with its gaps filled, before any photo is read. `starts` is whether the network has learned before."""

    settings: PhotoSettings
    method: str | Method
    rule: str | None
    network: str
    starts: bool
    inputs: Inputs
    kind: PresetName
    wish: Wish
    notes: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        """Whether the method changes the network."""
        method = self.method if isinstance(self.method, Method) else build_method(self.method)
        return bool(method.objectives)

    def learner(self, photos: int, epochs: int | None = None, progress: Progress | None = None) -> Learner:
        """A learner that has learned nothing yet, for so many photos."""
        wish = self.wish
        return Learner(
            self.method,
            memory=wish.memory,
            network=self.network_for(photos),
            rule=self.rule,
            preset=self.kind,
            inputs=self.inputs,
            recipe=self.recipe(photos, epochs),
            seed=wish.seed,
            keep_photos=wish.keep_photos,
            pretrained=self.starts and wish.weights is None,
            weights=wish.weights,
            progress=progress,
        )

    def network_for(self, photos: int) -> str:
        """Unless one was asked for, a network from scratch is a larger one where there are many photos."""
        larger = not self.starts and self.wish.network is None and photos >= MANY
        return "resnet32" if larger else self.network

    def recipe(self, photos: int, epochs: int | None = None) -> Recipe:
        method = self.method if isinstance(self.method, Method) else build_method(self.method)
        return recipe_for_photos(RECIPES[method.recipe][self.kind], photos, self.starts, epochs)


def plan_for(wish: Wish) -> Plan:
    """Fill the gaps of a wish; what cannot be is said before any photo is read."""
    preset = preset_of(wish)
    starts, network = start_of(wish, preset)
    notes = []
    if preset == "best" and not starts:
        notes.append(f"Without pretrained weights a network is trained from scratch: {EXTRA} does better.")
    if preset != "best" and not starts and wish.method is None:
        notes.append(f"The network {network} is not pretrained: its features are those of chance.")
    own, method, rule = method_of(wish, preset, starts)
    kind, inputs = inputs_of(network, starts)
    return Plan(
        kept_by(PhotoSettings(preset, own=own), wish), method, rule, network, starts, inputs, kind, wish, tuple(notes)
    )


def kept_by(settings: PhotoSettings, wish: Wish) -> PhotoSettings:
    """The settings with as many earlier versions as are asked for."""
    if wish.keep is None:
        return settings
    if type(wish.keep) is not int or wish.keep < 0:
        raise ClassgrowError(f"`keep` = {wish.keep!r} does not fit: give a whole number of at least 0.")
    return replace(settings, keep=wish.keep)


def preset_of(wish: Wish) -> PhotoPreset:
    """The preset asked for; else fast where there is a pretrained network, and best where there is none."""
    for preset in PHOTO_PRESETS:
        if wish.preset == preset:
            return preset
    if wish.preset is not None:
        hint = nearest_name(wish.preset, PHOTO_PRESETS)
        raise ClassgrowError(f"There is no preset {wish.preset!r}: `preset` is fast, balanced or best.{hint}")
    if wish.method is not None and build_method(wish.method).objectives:
        return "best"
    return "fast" if wish.weights is not None or has_weights(wish.network or PRETRAINED) else "best"


def has_weights(network: str) -> bool:
    """Whether published weights of a network are installed here."""
    published = NETWORKS[network].pretrained
    return published is not None and is_installed(published)


def start_of(wish: Wish, preset: PhotoPreset) -> tuple[bool, str]:
    """Whether the network has learned before, and which it is."""
    if wish.weights is not None:
        return True, wish.network or PRETRAINED
    network = wish.network or PRETRAINED
    if has_weights(network):
        return True, network
    if wish.network is not None and NETWORKS[network].pretrained is None:
        return False, network
    if preset == "best" and wish.network is None:
        return False, "small"
    raise ClassgrowError(
        f"The preset {preset} needs the pretrained weights of {network}: {EXTRA}, or choose `preset` = best, which "
        "trains from scratch."
    )


def method_of(wish: Wish, preset: PhotoPreset, starts: bool) -> tuple[str, str | Method, str | None]:
    """The name of a method of this file ("" for one of the catalogue), the method, and the rule besides its own."""
    if wish.method is not None:
        build_method(wish.method)  # says what is known
        return "", wish.method, None
    if preset == "best":
        own = "fgp-fine-tuned" if starts else "fgp-held-out"
        return own, OWN_METHODS[own](), None
    return "", "frozen", "ridge" if preset == "balanced" else None


def inputs_of(network: str, starts: bool) -> tuple[PresetName, Inputs]:
    """How photos enter a network: as its weights were made, else by a size that suits it, never by a photo's."""
    published = pretrained_inputs(Asked(network=network, pretrained=True)) if NETWORKS[network].pretrained else None
    if published is not None:
        return "imagenet", published
    kind, side = SIDES.get(network, ("imagenet", 256))
    return kind, inputs_for(kind, (side, side, 3))


# --- methods -------------------------------------------------------------------------------------------------------


def held_out_fgp() -> Method:
    """FGP that keeps some photos of every class out of training, so that it can be measured."""
    grow, train, _ = fgp().steps
    steps = (grow, HoldOut(HELD_OUT), train, Remember(herding, HELD_OUT))
    return replace(fgp(), name="fgp-held-out", steps=steps)


def fine_tuned_fgp() -> Method:
    """The same from pretrained weights: the last stages alone are trained."""
    method = held_out_fgp()
    grow, hold_out, train, remember = method.steps
    steps = (grow, hold_out, FineTune(train), remember)
    return replace(method, name="fgp-fine-tuned", steps=steps, last_relu=True)


OWN_METHODS: Mapping[str, Callable[[], Method]] = {"fgp-held-out": held_out_fgp, "fgp-fine-tuned": fine_tuned_fgp}


def method_for(settings: PhotoSettings) -> Method | None:
    """The method of a saved model, where it is one of this file."""
    return OWN_METHODS[settings.own]() if settings.own in OWN_METHODS else None


# --- recipes -------------------------------------------------------------------------------------------------------


class Sizes(TypedDict):
    """How a training follows the number of photos: updates it should have, bounds of epochs and of the batch."""

    updates: int
    epochs: tuple[int, int]
    batch: tuple[int, int]
    rate: float


FROM_SCRATCH = Sizes(updates=1200, epochs=(20, 200), batch=(8, 128), rate=1.0)
FINE_TUNING = Sizes(updates=300, epochs=(5, 30), batch=(8, 32), rate=0.1)


def recipe_for_photos(recipe: Recipe, photos: int, starts: bool, epochs: int | None = None) -> Recipe:
    """The method's recipe for so many photos: about eight batches an epoch, enough updates, and a rate in proportion
    to the batch. A warm-up, then down to zero in half a cosine wave."""
    sizes = FINE_TUNING if starts else FROM_SCRATCH
    wanted = 2 ** max(0, round(max(1, photos) / 8).bit_length() - 1)
    batch = min(sizes["batch"][1], recipe.batch_size, max(sizes["batch"][0], wanted))
    updates = max(1, photos // batch)
    least, most = sizes["epochs"]
    count = epochs or min(most, max(least, -(-sizes["updates"] // updates)))
    rate = sizes["rate"] * batch / recipe.batch_size

    def adapted(schedule: Schedule) -> Schedule:
        return Schedule(count, schedule.lr * rate, (), 1.0, "cosine", 0.1)

    fine_tune = adapted(recipe.fine_tune) if recipe.fine_tune else None
    return replace(
        recipe, first=adapted(recipe.first), later=adapted(recipe.later), fine_tune=fine_tune, batch_size=batch
    )


def too_few(from_chance: bool, counts: Mapping[str, int]) -> list[str]:
    """What a person should know of the number of photos before anything is learned, with what would be enough.

    `from_chance`: a network is trained that has learned nothing before.
    """
    said = []
    single = [name for name, count in counts.items() if count == 1]
    if single:
        named = ", ".join(single[:5]) + (f" and {len(single) - 5} more" if len(single) > 5 else "")
        said.append(f"One photo only of {named}: accuracy cannot be measured there. 5 would do, 20 are better.")
    few = [name for name, count in counts.items() if count < FEW]
    if from_chance and few:
        said.append(
            f"{len(few)} of {len(counts)} classes have fewer than {FEW} photos, too few to train a network from "
            f"scratch: {FEW} of each would be enough to begin with, or {EXTRA} for a pretrained network."
        )
    return said
