"""One version of a model on disk: written whole, and checked before any of it is used. Nothing is pickled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from classgrow import __version__, bundle
from classgrow.checkpoint import write_atomically
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, kept_side
from classgrow.json_values import JsonDict
from classgrow.learner import Learner
from classgrow.method import Method
from classgrow.photos import history as histories
from classgrow.photos.exemplars import Exemplar, exemplars_of, read_exemplars, read_index, write_exemplars
from classgrow.photos.folder import CONFIG, HISTORY, INDEX, PREPROCESSOR, STATISTICS, WEIGHTS, existing, link
from classgrow.photos.history import Version
from classgrow.photos.presets import PhotoSettings, method_for
from classgrow.progress import Progress
from classgrow.state import SavedState, Tensors

KIND: Literal["classgrow model"] = "classgrow model"
FORMAT: Literal[1] = 1
TRIES = 5
NETWORK, IMAGES = "network.", "memory.images"


class ModelConfig(BaseModel):
    """config.json: what model hubs look for, then ours. `files` has the SHA-256 of every other file that is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["classgrow model"] = KIND
    format: Literal[1] = FORMAT
    classgrow: str = __version__
    model_type: Literal["classgrow"] = "classgrow"
    architectures: list[str]
    num_labels: int
    id2label: dict[str, str]
    label2id: dict[str, int]
    version: int
    photos: PhotoSettings
    learner: bundle.Config
    state: dict[str, object]
    files: dict[str, str]


@dataclass
class Content:
    """All that a version holds. `exemplars` are its kept photos, whose pixels may not have been read."""

    learner: Learner
    settings: PhotoSettings
    history: tuple[Version, ...]
    exemplars: list[Exemplar] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        return [str(name) for name in self.learner.classes]

    @property
    def sources(self) -> dict[str, str]:
        """What kept photos were called, by the digests of their pixels."""
        return {one.file.removesuffix(".png"): one.source for one in self.exemplars if one.source}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# --- writing -------------------------------------------------------------------------------------------------------


def write_version(new: Path, old: Path | None, content: Content, sources: Mapping[str, str]) -> None:
    """Write a version into the folder `new`; what is the same as in the version at `old` is linked."""
    new.mkdir(parents=True, exist_ok=True)
    learner = content.learner
    tensors, plain = learner.state.pack()
    plain.pop("teacher", None)  # the next phase makes its own
    tensors = {name: value for name, value in tensors.items() if not name.startswith("teacher.")}
    tensors.pop(IMAGES, None)
    network = {name: value for name, value in tensors.items() if name.startswith(NETWORK)}
    statistics = {name: value for name, value in tensors.items() if not name.startswith(NETWORK)}
    if learner.state.memory.images is not None:
        content.exemplars = exemplars_of(learner.state.memory, content.classes, sources)
        write_exemplars(new, old, learner.state.memory, content.exemplars)
    files = {
        WEIGHTS: save_tensors(network, {"format": "pt"}),
        STATISTICS: save_tensors(statistics, {"format": "pt"}),
        PREPROCESSOR: as_text(preprocessor(learner.inputs)),
        HISTORY: histories.written(content.history),
    }
    sums = {name: put(new, old, name, text) for name, text in files.items()}
    if (new / INDEX).is_file():
        sums[INDEX] = sha256((new / INDEX).read_bytes())
    config = describe(content, json.loads(json.dumps(plain)), sums)
    write_atomically(new / CONFIG, config.model_dump_json(indent=1).encode() + b"\n")


def put(new: Path, old: Path | None, name: str, content: bytes) -> str:
    """Write one file, or link the one of the version before where that is the same; returns its checksum."""
    if old is not None and (old / name).is_file() and (old / name).read_bytes() == content:
        link(old / name, new / name)
    else:
        write_atomically(new / name, content)
    return sha256(content)


def describe(content: Content, state: dict[str, object], files: dict[str, str]) -> ModelConfig:
    """config.json of a version."""
    settings = bundle.describe(content.learner)
    names = content.classes
    return ModelConfig(
        architectures=[settings.network or "own"],
        num_labels=len(names),
        id2label={str(number): name for number, name in enumerate(names)},
        label2id={name: number for number, name in enumerate(names)},
        version=content.history[-1].number,
        photos=content.settings,
        learner=settings,
        state=state,
        files=files,
    )


def preprocessor(inputs: Inputs) -> JsonDict:
    """How a photo becomes the network's input, in the words of model hubs."""
    size: JsonDict = {"height": inputs.size, "width": inputs.size}
    return {
        "image_processor_type": "ClassgrowImageProcessor",
        "do_resize": True,
        "do_center_crop": True,
        "size": {"shortest_edge": kept_side(inputs)},
        "crop_size": size,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "do_convert_rgb": inputs.channels == 3,
        "image_mean": list(inputs.mean),
        "image_std": list(inputs.std),
        "resample": 2,
    }


def as_text(value: JsonDict) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


# --- reading -------------------------------------------------------------------------------------------------------


def read_config(folder: Path) -> ModelConfig:
    """config.json, if this is a model that this version can read."""
    try:
        text = (folder / CONFIG).read_bytes()
    except OSError as error:
        raise ClassgrowError(f"{folder} is not a model ({CONFIG} is missing): give the folder of one.") from error
    try:
        found = json.loads(text)
    except ValueError as error:
        raise damaged(folder, CONFIG) from error
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ClassgrowError(f"{folder} is not a model of photos: give the folder that `learn` made.")
    if found.get("format") != FORMAT:
        raise ClassgrowError(f"{folder} was written by another version of classgrow: use that version.")
    try:
        return ModelConfig.model_validate(found)
    except ValidationError as error:
        raise damaged(folder, CONFIG) from error


def read_current(folder: Path, *, with_photos: bool = False, progress: Progress | None = None) -> Content:
    """The model in a folder as it is now: read again where a writer has put another version in place meanwhile."""
    if not existing(folder):
        raise ClassgrowError(f"There is no model {folder}: check the path, or make one with `classgrow learn`.")
    for _ in range(TRIES):
        before = _stamp(folder)
        try:
            return read_version(folder, with_photos=with_photos, progress=progress)
        except ClassgrowError:
            if _stamp(folder) == before:
                raise
    return read_version(folder, with_photos=with_photos, progress=progress)


def _stamp(folder: Path) -> tuple[int, int] | None:
    try:
        facts = (folder / CONFIG).stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns


def read_version(folder: Path, *, with_photos: bool = False, progress: Progress | None = None) -> Content:
    """A version, checked. Without `with_photos` the kept photos stay on disk, which is all that answering takes."""
    config = read_config(folder)
    files = {name: checked(folder, name, config.files) for name in (WEIGHTS, STATISTICS, HISTORY)}
    history = histories.read(files[HISTORY])
    exemplars: list[Exemplar] = []
    try:
        if INDEX in config.files:
            exemplars = read_index(checked(folder, INDEX, config.files))
        tensors = {**load_tensors(files[WEIGHTS]), **load_tensors(files[STATISTICS])}
        check_values(config, tensors, exemplars)
        side, channels = kept_side(config.learner.inputs), config.learner.inputs.channels
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise damaged(folder, str(error)) from error
    if with_photos and exemplars:
        tensors[IMAGES] = read_exemplars(folder, exemplars, (side, side, channels))
    learner = restored(config, tensors, folder, progress)
    return Content(learner, config.photos, history, exemplars)


def read_history(folder: Path) -> tuple[Version, ...]:
    """Only what was done to a model."""
    return histories.read(checked(folder, HISTORY, read_config(folder).files))


def restored(
    config: ModelConfig,
    tensors: Tensors,
    folder: Path,
    progress: Progress | None,
) -> Learner:
    """The learner of a version."""
    method: Method | None = method_for(config.photos) if config.learner.method is None else None
    try:
        learner = bundle.restored(
            config.learner, tensors, cast(JsonDict, {"state": config.state}), folder, method, progress=progress
        )
    except (TypeError, ValueError, IndexError) as error:
        raise damaged(folder, WEIGHTS) from error
    if len(learner.classes) != config.num_labels or learner.state.network.head.classes != config.num_labels:
        raise damaged(folder, "the number of classes")
    return learner


def checked(folder: Path, name: str, files: Mapping[str, str]) -> bytes:
    """The content of a file, if it is the one that was written."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise damaged(folder, f"{name} is missing") from error
    if sha256(content) != files.get(name):
        raise damaged(folder, name)
    return content


def check_values(config: ModelConfig, tensors: Tensors, exemplars: list[Exemplar]) -> None:
    """Counts, shapes and numbers fit each other; ValueError or KeyError where not."""
    names = [str(name) for _, name in cast(SavedState, config.state)["classes"]]
    if list(config.id2label.values()) != names or len(set(names)) != config.num_labels or not names:
        raise ValueError("the names of the classes")
    labels, roles = tensors["memory.labels"], tensors["memory.roles"]
    if labels.shape != roles.shape or labels.shape != tensors["memory.ranks"].shape:
        raise ValueError("the exemplars")
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(names):
        raise ValueError("the exemplars")
    features = tensors.get("memory.features")
    if features is not None and len(features) != len(labels):
        raise ValueError("the exemplars")
    if exemplars and [one.label for one in exemplars] != [names[label] for label in labels.tolist()]:
        raise ValueError(INDEX)
    for name, value in tensors.items():
        if value.is_floating_point() and not name.startswith("estimated.") and not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name} is not finite")


def damaged(folder: Path, what: str) -> ClassgrowError:
    return ClassgrowError(
        f"The model {folder} is damaged ({what[:120]}): put back a good copy, or go back to an earlier version "
        "with `classgrow rollback`."
    )
