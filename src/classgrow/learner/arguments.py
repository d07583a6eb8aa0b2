"""What a learner is given, checked at once: a wrong value must not wait for the end of a training."""

from __future__ import annotations

import copy
import inspect
import operator
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypedDict, get_args

import torch
from torch import nn

from classgrow.data.catalogue import DATASETS
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError, nearest_name, one_line
from classgrow.inputs import Inputs
from classgrow.method import Method, check_rule
from classgrow.networks.catalogue import NETWORKS, PRETRAINED
from classgrow.networks.pretrained import no_pretrained
from classgrow.parts.rule_catalogue import build_rule
from classgrow.parts.rules import Rule
from classgrow.parts.selection import SELECTIONS
from classgrow.presets import checked_preset
from classgrow.progress import Progress
from classgrow.recipes import Profile, Recipe

if TYPE_CHECKING:
    from classgrow.learner.learner import Learner

Count = Literal["memory", "memory_per_class", "total_classes", "epochs"]
COUNTS: tuple[Count, ...] = get_args(Count)


Typed = Literal[
    "method", "network", "preset", "dataset", "recipe", "inputs", "selection", "execution", "pretrained", "weights",
    "keep_photos",
]  # fmt: skip
KINDS: dict[Typed, tuple[type | UnionType, str]] = {
    "method": (str | Method, "a name or a Method"),
    "network": (str | nn.Module | None, "a name or a torch module"),
    "preset": (str | None, "a name"),
    "dataset": (str | None, "the name of a data set"),
    "recipe": (Recipe | None, "a Recipe"),
    "inputs": (Inputs | None, "an Inputs value"),
    "selection": (str | None, "a name"),
    "execution": (Execution | None, "an Execution"),
    "pretrained": (bool, "True or False"),
    "weights": (str | Path | None, "the path of a file"),
    "keep_photos": (bool, "True or False"),
}
PROGRESS_VERBS = ("begin", "begin_training", "advance", "end", "say")


class Arguments(TypedDict):
    """What `Learner` is given, by name."""

    method: str | Method
    memory: int | None
    memory_per_class: int | None
    keep_photos: bool
    network: str | nn.Module | None
    preset: str | None
    dataset: str | None
    rule: str | Rule | None
    recipe: Recipe | None
    inputs: Inputs | None
    total_classes: int | None
    seed: int
    epochs: int | None
    profile: Profile
    selection: str | None
    execution: Execution | None
    progress: Progress | None
    pretrained: bool
    weights: Path | str | None


def check_arguments(given: Arguments) -> None:
    """Refuses the first argument of a learner that cannot be, or that contradicts another."""
    for name, (kind, words) in KINDS.items():
        _check_type(name, given[name], kind, words)
    if given["progress"] is not None and not all(hasattr(given["progress"], verb) for verb in PROGRESS_VERBS):
        raise ClassgrowError(
            f"`progress` has no {', '.join(PROGRESS_VERBS)}: derive it from classgrow.progress.Silent."
        )
    for count in COUNTS:
        given[count] = _count(count, given[count])
    given["seed"] = _seed(given["seed"])
    _check_choice("profile", given["profile"], get_args(Profile))
    if given["selection"] is not None:
        _check_choice("selection", given["selection"], tuple(SELECTIONS))
    if isinstance(given["network"], str):
        NETWORKS[given["network"]]  # says what is known
    if given["preset"] is not None:
        checked_preset(given["preset"])
    if given["dataset"] is not None:
        DATASETS[given["dataset"]]
    if given["memory"] is not None and given["memory_per_class"] is not None:
        raise ClassgrowError("`memory` and `memory_per_class` contradict each other: give one of them.")
    if given["recipe"] is not None and (given["epochs"] is not None or given["profile"] != "official"):
        raise ClassgrowError("A `recipe` says how long to train: leave out `epochs` and `profile`, or the recipe.")
    rule_of(given["rule"])
    check_start(given)


def check_start(given: Arguments) -> None:
    """Refuses weights to start from that there cannot be."""
    network = given["network"]
    if given["pretrained"] and given["weights"] is not None:
        raise ClassgrowError("`pretrained` and `weights` contradict each other: give one of them.")
    if not given["pretrained"]:
        return
    if isinstance(network, nn.Module):
        raise ClassgrowError("A `network` of your own has no `pretrained` weights here: load them into it yourself.")
    facts = NETWORKS[network or PRETRAINED]
    if facts.pretrained is None:
        raise no_pretrained(facts)


def rule_of(given: str | Rule | None) -> Rule | None:
    """A rule by name or as a value; None: the method's own."""
    if given is None:
        return None
    if isinstance(given, str):
        return build_rule(given)
    check_rule(given)
    return given


def own_backbone(given: nn.Module, inputs: Inputs) -> nn.Module:
    """A copy of a user's network, tried on one image: it must give as many features as it says."""
    features = getattr(given, "features", None)
    if type(features) is not int or features < 1:
        raise ClassgrowError("A `network` of your own needs an attribute `features`: how many it returns.")
    backbone = copy.deepcopy(given)
    was_training = backbone.training
    image = torch.zeros(1, inputs.channels, inputs.size, inputs.size)
    image = image.to(next(backbone.parameters(), image).device)
    try:
        with torch.no_grad():
            shape = tuple(backbone.eval()(image).shape)
    except Exception as error:
        raise ClassgrowError(
            f"The `network` cannot take an image of {inputs.size} x {inputs.size} pixels with {inputs.channels} "
            f"channels ({one_line(error)}): give one that fits these images."
        ) from error
    if shape != (1, features):
        raise ClassgrowError(
            f"The `network` says features = {features} and returns {shape} for one image: it must return (1, features)."
        )
    return backbone.train(was_training)


def checked_path(folder: object) -> Path:
    """A folder as text or Path."""
    if not isinstance(folder, str | Path):
        raise ClassgrowError(f"`folder` cannot be of type {type(folder).__name__}: give a path as text or a Path.")
    if "\0" in str(folder):
        raise ClassgrowError("`folder` has a zero byte in it: give a path that the system can have.")
    return Path(folder)


def parameters_of(learner: type[Learner]) -> tuple[str, ...]:
    """The names that `get_params` gives and `set_params` takes."""
    return tuple(name for name in inspect.signature(learner.__init__).parameters if name != "self")


def checked_top(top: int) -> int:
    """How many classes are asked for."""
    if type(top) is not int or top < 1:
        raise ClassgrowError(f"`top` = {top!r} does not fit: give a whole number of at least 1.")
    return top


def _count(name: str, value: object) -> int | None:
    """A whole number of at least 1, also one of numpy's; None stays None."""
    if value is None:
        return None
    found = _whole(value)
    if found is None or found < 1:
        raise ClassgrowError(f"`{name}` = {value!r} does not fit: give a whole number of at least 1.")
    return found


def _seed(value: object) -> int:
    found = _whole(value)
    if found is None or not 0 <= found < 2**63:
        raise ClassgrowError(f"`seed` = {value!r} does not fit: give a whole number of at least 0.")
    return found


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    return operator.index(value)


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        hint = nearest_name(value, known) if isinstance(value, str) else ""
        raise ClassgrowError(f"`{name}` = {value!r} does not fit: choose one of {', '.join(known)}.{hint}")


def _check_type(name: str, value: object, wanted: type | UnionType, words: str) -> None:
    if not isinstance(value, wanted):
        raise ClassgrowError(f"`{name}` cannot be of type {type(value).__name__}: give {words}.")
