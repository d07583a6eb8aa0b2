"""A learner as a folder others can load: config.json and weights.safetensors, never pickle.

The folder holds all it takes to predict and to go on learning: network, memory, class means, classes, recipe, method.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import warnings
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, PlainSerializer, ValidationError
from torch import nn

from classgrow import __version__, checkpoint, disk
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError, one_line
from classgrow.exchange import exchange_folders, restore_set_aside
from classgrow.inputs import Inputs
from classgrow.json_values import JsonDict
from classgrow.learner import Learner
from classgrow.learner.arguments import rule_of
from classgrow.learner.plausible import take_over
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.methods.catalogue import METHODS, known_methods
from classgrow.methods.fingerprint import fingerprint, settings_of
from classgrow.parts.rule_catalogue import build_rule
from classgrow.parts.rules import Rule
from classgrow.parts.selection import SELECTIONS
from classgrow.progress import Progress
from classgrow.recipes import Recipe, method_options
from classgrow.specs.typed import as_json
from classgrow.state import Tensors

CONFIG_FILE, WEIGHTS_FILE = "config.json", "weights.safetensors"
LARGEST_CONFIG = 64 * 2**20
"""Bytes: a million classes with long names."""


class Config(BaseModel):
    """What config.json says. `method` or `network` None: a value of the user's own, to be given again at loading.

    `value` is the fingerprint of the method as it was given, `rule_value` that of the rule that answers; older bundles
    have none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["classgrow bundle"] = "classgrow bundle"
    format: Literal[1] = 1
    classgrow: str = __version__
    method: str | None
    options: dict[str, float]
    formula: str
    value: str = ""
    network: str | None
    preset: str | None = None
    memory: int | None
    memory_per_class: int | None
    keep_photos: bool = True
    selection: str | None
    total_classes: int | None
    seed: int
    integer_names: bool
    classes: list[str]
    recipe: Annotated[Recipe, PlainSerializer(as_json, return_type=dict)]
    inputs: Inputs
    rule: str | None = None
    rule_value: str = ""
    started_from: str = ""


def save(learner: Learner, folder: Path | str) -> None:
    """Write the bundle beside `folder`, then put it there in one move; a folder that holds something else stays."""
    folder = Path(folder).absolute()
    state = learner.state
    bring_back(folder)
    refuse_other_content(folder)
    text = describe(learner).model_dump_json(indent=1) + "\n"
    tensors, plain = state.pack()
    plain.pop("teacher", None)  # the next phase makes its own
    tensors = {name: value for name, value in tensors.items() if not name.startswith("teacher.")}
    unfinished = disk.unfinished_name(folder)
    try:
        disk.remove_unfinished(folder.parent)
        disk.make_folder(unfinished)
        checkpoint.write_atomically(unfinished / CONFIG_FILE, text.encode())
        checkpoint.write(unfinished / WEIGHTS_FILE, tensors, {"state": plain, "config": checksum(text.encode())})
        exchange_folders(unfinished, folder)
    except OSError as error:
        raise ClassgrowError(f"Could not write {folder} ({error.strerror}): choose another folder.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def load(
    folder: Path | str,
    method: str | Method | None = None,
    network: nn.Module | None = None,
    rule: str | Rule | None = None,
    execution: Execution | None = None,
    progress: Progress | None = None,
) -> Learner:
    """The learner in a bundle; `method`, `network` and `rule` are needed where it was made with the user's own."""
    folder = Path(folder)
    bring_back(folder)
    config, tensors, plain = read(folder)
    return restored(config, tensors, plain, folder, method, network, rule, execution, progress)


def restored(
    config: Config,
    tensors: Tensors,
    plain: JsonDict,
    folder: Path,
    method: str | Method | None = None,
    network: nn.Module | None = None,
    rule: str | Rule | None = None,
    execution: Execution | None = None,
    progress: Progress | None = None,
) -> Learner:
    """A learner from its settings, tensors and plain state; `folder` is for messages."""
    saved_method = method_of(config, method, folder)
    learner = Learner(
        saved_method,
        memory=config.memory if config.memory_per_class is None else None,
        memory_per_class=config.memory_per_class,
        keep_photos=config.keep_photos,
        network=network_of(config, network, folder),
        preset=config.preset,
        recipe=config.recipe,
        inputs=config.inputs,
        total_classes=config.total_classes,
        seed=config.seed,
        selection=config.selection,
        rule=rule_for(config, saved_method, rule, folder),
        execution=execution,
        progress=progress,
    )
    learner.integer_names, learner.started_from = config.integer_names, config.started_from
    try:
        take_over(learner, config, tensors, plain)
    except (ClassgrowError, RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise ClassgrowError(
            f"The weights in {folder} do not fit ({one_line(error)}): give the method and network they were saved "
            "with, or put back a good copy."
        ) from error
    return learner


def bring_back(folder: Path) -> None:
    """Where a crash left an earlier bundle set aside, put it back."""
    try:
        restore_set_aside(folder.absolute())
    except OSError as error:
        raise ClassgrowError(
            f"{folder} was set aside by a process that is gone and cannot be put back ({error.strerror}): make the "
            "folder above it writable."
        ) from error


def describe(learner: Learner) -> Config:
    """The learner's settings, the method by name where the catalogue has it."""
    settings = learner.config()
    name = learner.method.name if settings["method"] is None else settings["method"]
    options = method_options(name, learner.setup.preset)
    method = learner.method_as_given
    named = settings["method"] is not None or is_from_catalogue(method, options, settings["selection"])
    settings["method"] = name if named else None
    return Config(
        **settings,
        options=options if named else {},
        formula=learner.method.formula,
        value=fingerprint(method),
        rule_value=fingerprint(learner.method.rule),
        classes=[label.name for label in learner.state.classes],
    )


def is_from_catalogue(method: Method, options: dict[str, float], selection: str | None) -> bool:
    """Whether the method of that name, with this selection of exemplars if any, is the same value."""
    if method.name not in known_methods():
        return False
    return fingerprint(method) == fingerprint(selecting(build_method(method.name, **options), selection))


def selecting(method: Method, selection: str | None) -> Method:
    """The method as a learner with this selection runs it."""
    return method if selection is None else method.with_selection(SELECTIONS[selection])


def read(folder: Path) -> tuple[Config, Tensors, JsonDict]:
    """Both files, checked against each other."""
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        if not (folder / name).is_file():
            raise ClassgrowError(f"{folder} is not a saved model ({name} is missing): give the folder that was saved.")
    try:
        text = disk.read_regular(folder / CONFIG_FILE, LARGEST_CONFIG)
        tensors, plain = checkpoint.read(folder / WEIGHTS_FILE)
        if plain.pop("config") != checksum(text):
            raise ValueError("checksum")
        return Config.model_validate_json(text), tensors, plain
    except OSError as error:
        raise ClassgrowError(
            f"The saved model in {folder} cannot be read ({error.strerror}); it is kept as it is: make it readable."
        ) from error
    except (checkpoint.DamagedError, KeyError, ValueError, ValidationError) as error:
        raise ClassgrowError(
            f"The saved model in {folder} is damaged or of another version: put back a good copy, or save it again."
        ) from error


def method_of(config: Config, given: str | Method | None, folder: Path) -> Method:
    """The method it was saved with: by name, or the one given if it is that one."""
    if isinstance(given, str):
        given = None if given == config.method else build_method(given)
    if given is not None and not isinstance(given, Method):
        raise ClassgrowError(f"`method` cannot be of type {type(given).__name__}: give a name or a Method.")
    if given is None and config.method is None:
        raise ClassgrowError(f"{folder} was saved with a method of your own ({config.formula}): give it as method=.")
    if given is None and config.method in METHODS:
        return build_method(config.method, **config.options)
    found = given or build_method(config.method or "", **config.options)
    if not config.value:
        check_formula(config, found, folder)
        return found
    value = fingerprint(selecting(found, config.selection))
    if settings_of(value) != settings_of(config.value):
        same = found.formula == config.formula
        other = "one with other settings or steps" if same else found.formula
        raise ClassgrowError(f"{folder} was saved with the method {config.formula}, not {other}: give that one.")
    if value != config.value:
        warnings.warn(f"The code of the method has changed since {folder} was saved with it.", stacklevel=4)
    return found


def check_formula(config: Config, method: Method, folder: Path) -> None:
    """For bundles without a method's value: formulas are compared, without the settings they did not show then."""
    if config.formula not in (method.formula, re.sub(r"_≥[\w.]+|_aug|Σ_c (?=BCE)", "", method.formula)):
        raise ClassgrowError(
            f"{folder} was saved with the method {config.formula}, not {method.formula}: give that one."
        )


def rule_for(config: Config, method: Method, given: str | Rule | None, folder: Path) -> Rule | None:
    """The rule that answered, where it is not the method's own; another one is refused."""
    own = method.rule if config.rule in (None, method.rule.name) else None
    try:
        found = rule_of(given) or own or build_rule(config.rule or "")
    except ClassgrowError as error:
        if given is not None:
            raise
        raise ClassgrowError(
            f"{folder} was saved with a rule of your own ({config.rule}): give it as `rule`."
        ) from error
    if config.rule is not None and found.name != config.rule:
        raise ClassgrowError(f"{folder} answers by the rule {config.rule!r}, not {found.name!r}: give that one.")
    if config.rule_value and settings_of(fingerprint(found)) != settings_of(config.rule_value):
        raise ClassgrowError(
            f"{folder} answers by another rule called {config.rule!r}: give the one it was saved with."
        )
    return None if found == method.rule else found


def network_of(config: Config, given: nn.Module | None, folder: Path) -> nn.Module | str:
    if given is not None:
        return given
    if config.network is None:
        raise ClassgrowError(f"{folder} was saved with a network of your own: give one of its kind as network=.")
    return config.network


def checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def refuse_other_content(folder: Path) -> None:
    """Only a new or empty folder, or an earlier bundle, may be written to."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise ClassgrowError(f"{folder} is not a folder: choose another place to save to.")
    others = {path.name for path in folder.iterdir()} - {CONFIG_FILE, WEIGHTS_FILE}
    config = folder / CONFIG_FILE
    if config.is_file() and '"classgrow bundle"' not in start_of(config):
        others.add(CONFIG_FILE)
    if others:
        raise ClassgrowError(f"{folder} holds something else ({min(others)}): choose an empty or a new folder.")


def start_of(path: Path) -> str:
    """The first few thousand characters."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(4096)
