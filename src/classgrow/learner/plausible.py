"""Is a saved state one that this learner could have saved? Asked of files, which anyone may have written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.inputs import Inputs, kept_side
from classgrow.json_values import JsonDict
from classgrow.learner.answers import Answers
from classgrow.learner.phases import saved_phase
from classgrow.memory import Budget
from classgrow.networks.network import feature_count
from classgrow.recipes import Recipe
from classgrow.state import State, Tensors, within

if TYPE_CHECKING:
    from classgrow.learner.phased import PhaseLearner

Plain = Mapping[str, object]
MOST_CLASSES = 10**6


class ImplausibleError(ValueError):
    """What does not fit, in a few words."""


class Described(Protocol):
    """What a bundle's settings say of the learner in it."""

    @property
    def classes(self) -> list[str]: ...

    @property
    def integer_names(self) -> bool: ...

    @property
    def total_classes(self) -> int | None: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def inputs(self) -> Inputs: ...


def take_over(learner: PhaseLearner, described: Described, tensors: Tensors, plain: JsonDict) -> None:
    """The learner takes the saved state over, if it is one that a learner with these settings can have."""
    side = kept_side(described.inputs)
    shape = (side, side, described.inputs.channels)
    check_recipe(described.recipe)
    state = learner.prepare(shape, from_weights=False)
    saved = saved_phase(plain)["state"]
    if [str(name) for _, name in saved["classes"]] != described.classes:
        raise ImplausibleError("its two files name other classes")
    if saved["total_classes"] != described.total_classes:
        raise ImplausibleError("its two files say otherwise how many classes there will be")
    if described.integer_names and not all(name == str(int(name)) for name in described.classes):
        raise ImplausibleError("not all names of its classes are whole numbers")
    check_saved(state, tensors, saved, described.inputs)
    learner.restore(shape, tensors, plain)
    learner.check_answers()


def check_saved(state: State, tensors: Tensors, plain: Plain, inputs: Inputs) -> None:
    """Types, shapes, counts and finiteness against a fresh state of the same configuration; nothing is changed."""
    names = _class_names(plain)
    _check_counts(plain, len(names))
    for name, value in tensors.items():
        if name.startswith("estimated."):
            continue  # a threshold may be infinite: nothing is unknown then
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise ImplausibleError(f"{name} holds what is no number")
    _check_backbone(state, within(tensors, "network.backbone."))
    _check_head(state, within(tensors, "network.head."), plain, len(names))
    width = feature_count(state.network.backbone)
    _check_memory(state.memory.budget, within(tensors, "memory."), inputs, len(names), width)
    _check_positions("withheld", tensors["withheld"], 2**40)
    _check_names_of(tensors, plain)


def check_recipe(recipe: Recipe) -> None:
    """Numbers that a training can have."""
    for schedule in (recipe.first, recipe.later, recipe.fine_tune):
        if schedule is None:
            continue
        numbers = (schedule.lr, schedule.factor, schedule.warm_up)
        if not all(map(math.isfinite, numbers)) or schedule.lr <= 0 or not 0 <= schedule.warm_up < 1:
            raise ImplausibleError("a schedule's rate cannot be")
        if not 1 <= schedule.epochs <= 10**9:
            raise ImplausibleError(f"a schedule of {schedule.epochs} epochs cannot be")
    decay, norm = recipe.weight_decay, recipe.later_batch_norm_momentum
    if not (1 <= recipe.batch_size <= 10**7 and 0 <= recipe.momentum < 1 and 0 <= decay < 1 and 0 <= norm <= 1):
        raise ImplausibleError("a recipe's batch size, momentum or weight decay cannot be")


def check_answers(answers: Answers) -> None:
    """Every rule must answer a black image with a number for each class. The state is that of the file by now."""
    side = kept_side(answers.inputs)
    black = torch.zeros((1, side, side, answers.inputs.channels), dtype=torch.uint8)
    nothing = torch.zeros(1, dtype=torch.long)
    one = LabelledImages(ArrayStore(black), nothing, nothing, answers.state.classes)
    for scores in answers.scores(one):
        for rule, values in scores.items():
            if not bool(values.isfinite().all()):
                raise ImplausibleError(f"{rule} answers with what is no number")


def _class_names(plain: Plain) -> list[str]:
    """Names and numbers of the classes, each only once."""
    pairs = plain.get("classes")
    if not isinstance(pairs, list) or not 0 < len(pairs) <= MOST_CLASSES:
        raise ImplausibleError("it knows no class, or too many")
    numbers: list[int] = []
    names: list[str] = []
    for pair in pairs:
        match pair:
            case [int(number), str(name)] if type(number) is int and 0 <= number < 2**53:
                numbers.append(number)
                names.append(name)
            case _:
                raise ImplausibleError("a class is not a number and a name")
    if len(set(names)) < len(names) or len(set(numbers)) < len(numbers):
        raise ImplausibleError("a class stands there twice")
    return names


def _check_counts(plain: Plain, classes: int) -> None:
    sizes, total, head = plain.get("sizes"), plain.get("total_classes"), plain.get("network")
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 0 for size in sizes):
        raise ImplausibleError("its phases are not counts of classes")
    if sum(sizes) != classes:
        raise ImplausibleError(f"its phases have {sum(sizes)} classes and it knows {classes}")
    if total is not None and (type(total) is not int or not classes <= total <= MOST_CLASSES):
        raise ImplausibleError(f"{classes} classes cannot be out of {total}")
    if not isinstance(head, dict) or head.get("classes") != classes:
        raise ImplausibleError(f"its head is not one of {classes} classes")
    newest = head.get("newest")
    if type(newest) is not int or not 0 <= newest <= classes:
        raise ImplausibleError(f"{newest} of {classes} classes cannot be the newest")
    rules = plain.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise ImplausibleError("its rules are not names")
    if not isinstance(plain.get("fitted_to", ""), str):
        raise ImplausibleError("what its rules are fitted to is not a name")


def _check_backbone(state: State, found: Tensors) -> None:
    wanted = state.network.backbone.state_dict()
    if found.keys() != wanted.keys():
        raise ImplausibleError("its network has other weights")
    for name, value in wanted.items():
        if found[name].shape != value.shape or found[name].dtype != value.dtype:
            raise ImplausibleError(f"{name} of its network has another shape or type")
        if name.endswith("running_var") and bool((found[name] < 0).any()):
            raise ImplausibleError(f"{name} of its network is negative")


def _check_head(state: State, found: Tensors, plain: Plain, classes: int) -> None:
    module = state.network.head
    assert isinstance(module, torch.nn.Module)
    wanted = module.state_dict()
    if found.keys() != wanted.keys():
        raise ImplausibleError("its head has other weights")
    for name, value in wanted.items():
        rest = found[name].shape[1:] if value.ndim else found[name].shape
        if found[name].ndim != value.ndim or rest != value.shape[1:] or found[name].dtype != value.dtype:
            raise ImplausibleError(f"{name} of its head has another shape or type")
    if {"frozen", "weight"} <= found.keys():
        rows, total = len(found["frozen"]) + len(found["weight"]), plain.get("total_classes")
        reserved = total if module.reserves and isinstance(total, int) else 0
        if rows not in (classes, max(classes, reserved)):
            raise ImplausibleError(f"its head has {rows} rows for {classes} classes")
        if "bias" in found and len(found["bias"]) != rows:
            raise ImplausibleError(f"its head has {len(found['bias'])} biases for {rows} rows")


def _check_memory(budget: Budget, found: Tensors, inputs: Inputs, classes: int, width: int) -> None:
    labels, ranks, roles = (found[name] for name in ("labels", "ranks", "roles"))
    for name, values, end in (("labels", labels, classes), ("ranks", ranks, 2**40), ("roles", roles, 2)):
        _check_positions(f"memory.{name}", values, end)
        if len(values) != len(labels):
            raise ImplausibleError("the entries of its memory are not of one length")
    images, features, side = found.get("images"), found.get("features"), kept_side(inputs)
    if features is not None and (features.dtype != torch.float32 or features.shape != (len(labels), width)):
        raise ImplausibleError("the features in its memory are of another shape or type")
    if images is not None and (
        images.dtype != torch.uint8 or tuple(images.shape) != (len(labels), side, side, inputs.channels)
    ):
        raise ImplausibleError("the images in its memory are of another shape or type")
    if budget.total is not None and len(labels) > budget.total:
        raise ImplausibleError(f"its memory holds {len(labels)} of {budget.total} images")
    most = int(torch.bincount(labels, minlength=1).max()) if len(labels) else 0
    if budget.per_class is not None and most > budget.per_class:
        raise ImplausibleError(f"its memory holds {most} images of a class, out of {budget.per_class}")


def _check_positions(name: str, values: Tensor, end: int) -> None:
    if values.dtype != torch.long or values.ndim != 1:
        raise ImplausibleError(f"{name} is not a list of whole numbers")
    if len(values) and not (int(values.min()) >= 0 and int(values.max()) < end):
        raise ImplausibleError(f"{name} has a number out of range")


def _check_names_of(tensors: Tensors, plain: Plain) -> None:
    """Nothing stands there that nobody would read."""
    for name in tensors:
        if not name.startswith(tuple(_known_names(plain))):
            raise ImplausibleError(f"{name[:60]!r} is nothing that a learner saves")


def _known_names(plain: Plain) -> Iterator[str]:
    yield from ("withheld", "network.backbone.", "network.head.")
    yield from (f"memory.{name}" for name in ("labels", "ranks", "roles", "images", "features"))
    yield "estimated."
    rules = plain.get("rules")
    if isinstance(rules, list):
        yield from (f"fitted.{rule}." for rule in rules)
    else:
        yield "means."  # version 0.1
