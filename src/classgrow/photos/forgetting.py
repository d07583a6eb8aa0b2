"""Forget a class, and look whether anything of it is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from classgrow.errors import ClassgrowError
from classgrow.photos import history as histories
from classgrow.photos.exemplars import Exemplar, read_index
from classgrow.photos.folder import EXEMPLARS, HISTORY, INDEX, STATISTICS, WEIGHTS, earlier_versions
from classgrow.photos.history import Version
from classgrow.photos.saved import Content, read_config


@dataclass(frozen=True)
class Traces:
    """What a model holds of a class before it is forgotten: photos that no other class has, and features."""

    name: str
    files: frozenset[str]
    features: Tensor

    @classmethod
    def of(cls, content: Content, name: str) -> Traces:
        memory = content.learner.state.memory
        position = content.classes.index(name)
        others = {one.file for one in content.exemplars if one.label != name}
        mine = {one.file for one in content.exemplars if one.label == name}
        features = torch.empty(0, 0)
        if memory.features is not None:
            shared = memory.features[memory.labels != position]
            features = memory.features[memory.labels == position]
            features = torch.stack([row for row in features if not _has(shared, row)] or [features[:0].sum(0)])
        return cls(name, frozenset(mine - others), features)


def knows(folder: Path, name: str) -> bool:
    """Whether a version knows a class, or its history tells of it; one that cannot be read is taken to."""
    try:
        told = any(tells_of(version, name) for version in histories.read((folder / HISTORY).read_bytes()))
        return told or name in read_config(folder).id2label.values()
    except (ClassgrowError, OSError):
        return True


def holds(folder: Path, traces: Traces) -> bool:
    """Whether a version knows a class, or has anything of it under an earlier name."""
    return knows(folder, traces.name) or any(True for _ in left_in(folder, traces))


def former_names(history: Sequence[Version], name: str) -> tuple[str, ...]:
    """What a class of the last version was called before, without names that other classes have now."""
    found: list[str] = []
    present = name
    for earlier, version in reversed(tuple(pairwise(history))):
        if version.action == "rename" and present in version.classes:
            present = dict(zip(version.classes, earlier.classes, strict=False))[present]
            found.append(present)
    return tuple(one for one in found if one not in history[-1].classes)


def tells_of(version: Version, name: str) -> bool:
    """Whether an entry of the history holds the name of a class."""
    names = {*version.classes, *version.new, *version.photos, *version.before, *version.after}
    return name in names or version.without(name) != version


def prove_forgotten(new: Path, traces: Traces) -> tuple[str, ...]:
    """Look through every file of a model's new folder for what is left of a class; returns what was looked through."""
    places = {"this version": new, **{f"version {n}": path for n, path in earlier_versions(new).items()}}
    for title, place in places.items():
        for problem in left_in(place, traces):
            raise ClassgrowError(f"Of the class {traces.name!r} {problem} is left in {title}: nothing was changed.")
    files = sum(1 for path in new.rglob("*") if path.is_file())
    return (
        f"the names of the classes in {len(places)} version(s), their histories and indexes of photos",
        f"the files of kept photos: the {len(traces.files)} of this class are gone",
        "the rows of the network's head and of every rule's statistics: one for each class that is left",
        f"the kept features: none of the {len(traces.features)} of this class is among them",
        f"{files} files in all; an interrupted learn, if there was one, is removed",
    )


def left_in(place: Path, traces: Traces) -> Iterator[str]:
    """What a version still holds of a class."""
    config = read_config(place)
    if traces.name in config.id2label.values() or traces.name in config.learner.classes:
        yield "the name"
    for version in histories.read((place / HISTORY).read_bytes()):
        if tells_of(version, traces.name):
            yield "the name in the history"
    if (place / INDEX).is_file() and any(one.label == traces.name for one in index_of(place)):
        yield "an entry in the index of photos"
    if any((place / EXEMPLARS / file).exists() for file in traces.files):
        yield "a photo"
    classes = config.num_labels
    tensors = {**load_file(place / WEIGHTS), **load_file(place / STATISTICS)}
    if len(tensors["network.head.weight"]) != classes:
        yield "a row of the network"
    for name, value in tensors.items():
        owners = name.endswith((".owner", "memory.labels")) and len(value) and int(value.max()) >= classes
        counts = name.endswith((".count", ".total", ".means", ".bias")) and name.startswith("fitted.")
        if owners or (counts and len(value) != classes):
            yield f"a row of {name}"
        if value.ndim == 2 and value.shape[1] == traces.features.shape[1] and name != "network.head.weight":
            found = (row for row in traces.features if _has(value, row))
            if next(found, None) is not None:
                yield f"a feature in {name}"


def index_of(place: Path) -> list[Exemplar]:
    return read_index((place / INDEX).read_bytes())


def _has(rows: Tensor, row: Tensor) -> bool:
    """Whether a row is among others, as it is or at unit length."""
    if not len(rows) or not rows.is_floating_point():
        return False
    unit = torch.nn.functional.normalize(row.double(), dim=0)
    rows = rows.double()
    return bool((rows == row.double()).all(1).any()) or bool(((rows - unit).abs().amax(1) < 1e-6).any())
