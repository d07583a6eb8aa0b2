"""From what was asked, what is known of the data and the method to everything training needs: the one resolution.

`classgrow run`, the outline of a grid and `Learner` all come through here, so equal settings train equally.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from classgrow.data.facts import DatasetFacts
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, Shape, checked_shape, inputs_for
from classgrow.networks.catalogue import NETWORKS, PRETRAINED
from classgrow.presets import PRESETS, PresetName, checked_preset, preset_for
from classgrow.recipes import Profile, Recipe, method_options, recipe_for

if TYPE_CHECKING:
    from classgrow.specs.spec import Spec


@dataclass(frozen=True)
class Asked:
    """What a user may say about training; None: as the preset, the data set and the method have it.

    A whole `recipe` or whole `inputs` replace what would be chosen. `pretrained`: the network starts from the weights
    that are published for it, and sees images as they were trained on. `weights`: it starts from a file.
    """

    preset: str | None = None
    network: str | None = None
    profile: Profile = "official"
    epochs: int | None = None
    lr: float | None = None
    options: Mapping[str, float] = field(default_factory=dict)
    recipe: Recipe | None = None
    inputs: Inputs | None = None
    pretrained: bool = False
    weights: bool = False

    @classmethod
    def by(cls, spec: Spec) -> Asked:
        """What a spec says."""
        return cls(spec.preset, spec.network, spec.profile, spec.epochs, spec.lr, spec.options)


@dataclass(frozen=True)
class TrainingSetup:
    """How images become a trained network: no gap left. `options` are the method's numbers for this preset."""

    preset: PresetName
    network: str
    recipe: Recipe
    inputs: Inputs
    options: dict[str, float]

    @property
    def own_network(self) -> str:
        """The network where it is not the preset's; else ""."""
        return "" if self.network == PRESETS[self.preset].network else self.network


def resolve_training(
    asked: Asked,
    data: DatasetFacts | None,
    shape: Shape,
    method: str,
    recipe_name: str,
    own_options: Mapping[str, float] | None = None,
) -> TrainingSetup:
    """Fills every gap for images of `shape` (height, width, channels); whatever was asked wrongly is said here.

    `data` is None for images of which nothing else is known. `own_options`: the method's numbers unless given.
    """
    shape = checked_shape(shape)
    if asked.network is not None and asked.network not in NETWORKS:
        NETWORKS[asked.network]  # says what is known
    preset = preset_of(asked, data, shape)
    own = pretrained_inputs(asked)
    return TrainingSetup(
        preset=preset,
        network=asked.network or (PRETRAINED if asked.pretrained else PRESETS[preset].network),
        recipe=_recipe(asked, recipe_name, preset),
        inputs=asked.inputs or own or inputs_of(data, shape, preset),
        options=_options(asked.options, method, preset, own_options or {}),
    )


def preset_of(asked: Asked, data: DatasetFacts | None, shape: Shape) -> PresetName:
    """The preset that was asked for, else the data set's, else that of the images' size.

    For a network that does not start from chance it is the one it was trained under: "imagenet", or the one it is the
    network of.
    """
    if asked.preset is not None:
        return checked_preset(asked.preset)
    if pretrained_inputs(asked) is not None:
        return "imagenet"
    if asked.weights:
        for name, preset in PRESETS.items():
            if preset.network == asked.network:
                return name
    return (data and data.preset) or preset_for(min(shape[:2]))


def pretrained_inputs(asked: Asked) -> Inputs | None:
    """How images entered the network when its published weights were made; None: it starts from chance, or from a
    file for a network without such weights.

    The images are kept at that size: training sees random parts of them, resized, and tests the whole.
    """
    if not asked.pretrained and not (asked.weights and asked.network):
        return None
    facts = NETWORKS[asked.network or PRETRAINED].pretrained
    if facts is None:
        return None
    return Inputs(facts.size, 3, (facts.mean,) * 3, (facts.std,) * 3, 0, True, 0.0, "resized")


def inputs_of(data: DatasetFacts | None, shape: Shape, preset: PresetName | None = None) -> Inputs:
    """How images of a data set (None: of nothing known) enter the network: with its statistics, if it has any."""
    preset = preset or preset_of(Asked(), data, shape)
    if data is None or data.statistics is None:
        return inputs_for(preset, shape, mirror=data.mirror if data else None)
    channels = len(data.statistics[0])
    if channels != shape[2]:
        raise ClassgrowError(
            f"Images of {data.name} have {channels} channels, these have {shape[2]}: give another `dataset` or none."
        )
    return inputs_for(preset, shape, data.statistics, data.mirror)


def _recipe(asked: Asked, recipe_name: str, preset: PresetName) -> Recipe:
    if asked.recipe is None:
        return recipe_for(recipe_name, preset, asked.profile, asked.epochs, asked.lr)
    if asked.epochs is not None or asked.lr is not None:
        given = "epochs" if asked.epochs is not None else "lr"
        raise ClassgrowError(f"A `recipe` says how long and how fast to train: leave out `{given}` or the recipe.")
    return asked.recipe


def _options(asked: Mapping[str, float], method: str, preset: PresetName, own: Mapping[str, float]) -> dict[str, float]:
    """The preset's numbers with those given; one that is given as it is anyway changes nothing."""
    of_preset = method_options(method, preset)
    usual = {**own, **of_preset}
    return of_preset | {name: value for name, value in asked.items() if usual.get(name) != value}
