"""Bundles with valid checksums that no learner has saved: each is refused in one sentence, before it is used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from classgrow import checkpoint
from classgrow.bundle import CONFIG_FILE, WEIGHTS_FILE, checksum
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
Parts = dict[str, Any]
"""`config`, `tensors` and `state` of a bundle; a forgery changes them."""
NAN = float("nan")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "good"
    random = np.random.default_rng(1)
    images = random.integers(0, 255, (12, 8, 8), dtype=np.uint8)
    learner = Learner("fgp", memory=6, epochs=1, execution=Execution(threads=1))
    learner.learn(images, ["a", "b", "c"] * 4).save(folder)
    return folder


def forged(bundle: Path, folder: Path, change: Callable[[Parts], object]) -> Path:
    """The bundle with a change, and checksums that fit."""
    shutil.copytree(bundle, folder)
    tensors, plain = checkpoint.read(folder / WEIGHTS_FILE)
    parts: Parts = {
        "config": json.loads((folder / CONFIG_FILE).read_text()),
        "tensors": tensors,
        "state": plain["state"],
    }
    change(parts)
    text = json.dumps(parts["config"])
    (folder / CONFIG_FILE).write_text(text)
    checkpoint.write(folder / WEIGHTS_FILE, tensors, {"state": parts["state"], "config": checksum(text.encode())})
    return folder


def tensor(name: str, value: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Parts], object]:
    return lambda parts: parts["tensors"].update({name: value(parts["tensors"][name]).contiguous()})


def with_first(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def changed(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.clone()
        tensor.view(-1)[0] = value
        return tensor

    return changed


def config(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts["config"].update(values)


def inputs(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts["config"]["inputs"].update(values)


def state(**values: Any) -> Callable[[Parts], object]:
    return lambda parts: parts["state"].update(values)


def both_names(names: list[str]) -> Callable[[Parts], object]:
    def change(parts: Parts) -> None:
        parts["config"]["classes"] = names
        parts["state"]["classes"] = [[number, name] for number, name in enumerate(names)]

    return change


MEANS, MEMORY, HEAD = "fitted.nearest.means", "memory.images", "network.head.weight"
FORGERIES: dict[str, Callable[[Parts], object]] = {
    "a weight that is no number": lambda parts: tensor(a_weight(parts), with_first(NAN))(parts),
    "an infinite weight": lambda parts: tensor(a_weight(parts), with_first(float("inf")))(parts),
    "a weight of another shape": lambda parts: tensor(a_weight(parts), lambda old: old[None])(parts),
    "weights in double precision": lambda parts: tensor(a_weight(parts), torch.Tensor.double)(parts),
    "a weight missing": lambda parts: parts["tensors"].pop(a_weight(parts)),
    "a weight too many": lambda parts: parts["tensors"].update({"network.backbone.more": torch.ones(1)}),
    "something nobody reads": lambda parts: parts["tensors"].update(more=torch.ones(1)),
    "means that are no numbers": tensor(MEANS, lambda old: old * NAN),
    "a single mean": tensor(MEANS, lambda old: old[:1]),
    "means of other features": tensor(MEANS, lambda old: old[:, 1:]),
    "means missing": lambda parts: parts["tensors"].pop(MEANS),
    "a row too few": tensor(HEAD, lambda old: old[1:]),
    "a row too many": tensor(HEAD, lambda old: torch.cat((old, old[:1]))),
    "rows without end": tensor(HEAD, lambda old: torch.empty(10**12, 0)),
    "a bias too many": tensor("network.head.bias", lambda old: torch.cat((old, old[:1]))),
    "a scale of rows": tensor("network.head.scale", lambda old: old[None]),
    "labels out of range": tensor("memory.labels", with_first(7)),
    "negative labels": tensor("memory.labels", with_first(-1)),
    "labels that are fractions": tensor("memory.labels", torch.Tensor.double),
    "roles out of range": tensor("memory.roles", with_first(2)),
    "fewer ranks": tensor("memory.ranks", lambda old: old[1:]),
    "more images than the memory": config(memory=5),
    "features of other images": tensor("memory.features", lambda old: old[1:]),
    "features that are no numbers": tensor("memory.features", lambda old: old * NAN),
    "images of another size": tensor(MEMORY, lambda old: old[:, 1:]),
    "images that are fractions": tensor(MEMORY, torch.Tensor.float),
    "one name twice": both_names(["a", "a", "c"]),
    "one number twice": state(classes=[[0, "a"], [0, "b"], [2, "c"]]),
    "other names in the other file": config(classes=["a", "b", "x"]),
    "names that are numbers": state(classes=[[0, 1], [1, "b"], [2, "c"]]),
    "a class more": both_names(["a", "b", "c", "d"]),
    "no class": both_names([]),
    "classes that are no list": state(classes={"0": "a"}),
    "phases of other classes": state(sizes=[4]),
    "phases of text": state(sizes=["3"]),
    "a negative phase": state(sizes=[4, -1]),
    "a head of other classes": state(network={"classes": 10**12, "newest": 3}),
    "more new classes than classes": state(network={"classes": 3, "newest": 4}),
    "a head that is a list": state(network=[]),
    "more classes than can be": lambda parts: (state(total_classes=10**12)(parts), config(total_classes=10**12)(parts)),
    "fewer in total than known": lambda parts: (state(total_classes=2)(parts), config(total_classes=2)(parts)),
    "totals that differ": config(total_classes=5),
    "rules that are numbers": state(rules=[1]),
    "no rule": state(rules=[]),
    "integer names that are text": config(integer_names=True),
    "std 0": inputs(std=[0.0]),
    "std that is negative": inputs(std=[-1.0]),
    "two means": inputs(mean=[0.1, 0.2]),
    "images without end": inputs(size=10**9),
    "no channel": inputs(channels=0, mean=[], std=[]),
    "padding without end": inputs(padding=10**9),
    "no epochs": lambda parts: parts["config"]["recipe"]["first"].update(epochs=0),
    "a rate of 0": lambda parts: parts["config"]["recipe"]["later"].update(lr=0.0),
    "batches of nothing": lambda parts: parts["config"]["recipe"].update(batch_size=0),
    "an unknown method": config(method="nobody's"),
    "an option of another method": config(options={"beta": 1.0}),
    "an unknown network": config(network="nobody's"),
    "an unknown rule": config(rule="nobody's"),
    "an unknown preset": config(preset="nobody's"),
    "an unknown selection": config(selection="nobody's"),
    "a negative seed": config(seed=-1),
    "a negative memory": config(memory=-6),
    "both memories": config(memory_per_class=1),
}


def a_weight(parts: Parts) -> str:
    return min(name for name in parts["tensors"] if name.startswith("network.backbone.") and name.endswith("weight"))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_bundle_is_refused(bundle: Path, tmp_path: Path, name: str) -> None:
    folder = forged(bundle, tmp_path / "forged", FORGERIES[name])
    with pytest.raises(ClassgrowError) as caught:
        Learner.load(folder)
    assert str(caught.value).count("\n") == 0 and len(str(caught.value)) < 600


def test_without_a_change_it_is_loaded(bundle: Path, tmp_path: Path) -> None:
    assert Learner.load(forged(bundle, tmp_path / "same", lambda parts: None)).classes == ["a", "b", "c"]


def test_values_that_are_no_numbers_in_the_configuration(bundle: Path, tmp_path: Path) -> None:
    folder = forged(bundle, tmp_path / "forged", inputs(std=[NAN]))
    with pytest.raises(ClassgrowError):
        Learner.load(folder)


def test_lists_within_lists_are_no_traceback(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "deep")
    tensors, plain = checkpoint.read(bundle / WEIGHTS_FILE)
    text = b'{"kind": ' + b"[" * 10**5
    (tmp_path / "deep" / CONFIG_FILE).write_bytes(text)
    checkpoint.write(tmp_path / "deep" / WEIGHTS_FILE, tensors, plain | {"config": checksum(text)})
    with pytest.raises(ClassgrowError, match="is damaged or of another version"):
        Learner.load(tmp_path / "deep")
