"""A learner as a folder."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
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
from classgrow.method import Method
from classgrow.methods import build_method, catalogue
from classgrow.methods.bic import bic
from classgrow.methods.icarl import icarl
from classgrow.networks.small import SmallNet
from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy
from classgrow.parts.distillation import FeatureGraph
from classgrow.parts.objective import Term
from classgrow.parts.scales import sqrt_old_share
from classgrow.parts.selection import random_choice
from classgrow.steps import Grow, Train

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
OWN = replace(build_method("finetune"), name="own", steps=(Grow(), Train(0.5 * CrossEntropy())))


def taught(patches: Patches, method: str | Method = "fgp", **settings: object) -> Learner:
    settings = {"memory": 12, "epochs": 2, "execution": Execution(threads=1), **settings}
    one = Learner(method, **settings)  # type: ignore[arg-type]
    return one.learn(*patches([5, 2], per_class=6)).learn(*patches([8], per_class=6))


def same_bits(one: Learner, other: Learner) -> bool:
    (mine, plain), (theirs, their_plain) = one.state.pack(), other.state.pack()
    same = mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
    return same and plain == their_plain


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("fgp", {}),
        ("finetune", {}),
        ("fgp", {"memory": None, "memory_per_class": 3, "selection": "random", "seed": 7, "total_classes": 9}),
        (build_method("fgp"), {"selection": "closest"}),
    ],
    ids=["fgp", "finetune", "every setting", "a method by value"],
)
def test_saved_and_loaded_it_predicts_and_learns_the_same(
    patches: Patches, tmp_path: Path, method: str, settings: dict[str, object]
) -> None:
    one = taught(patches, method, **settings)
    one.save(tmp_path / "bundle")
    other = Learner.load(tmp_path / "bundle")
    images, labels = patches([5, 2, 8], per_class=5, seed=3)
    assert other.classes == [5, 2, 8]
    assert other.predict(images) == one.predict(images)
    assert other.evaluate(images, labels) == one.evaluate(images, labels)
    for either in (one, other):
        either.learn(*patches([1, 0], per_class=6))
    assert same_bits(one, other)
    assert other.config() | {"method": None} == one.config() | {"method": None}


def test_what_lies_in_the_folder(patches: Patches, tmp_path: Path) -> None:
    taught(patches).save(str(tmp_path / "deep" / "bundle"))
    folder = tmp_path / "deep" / "bundle"
    assert [path.name for path in folder.parent.iterdir()] == ["bundle"]
    assert sorted(path.name for path in folder.iterdir()) == [CONFIG_FILE, WEIGHTS_FILE]
    config = json.loads((folder / CONFIG_FILE).read_text())
    assert (config["method"], config["network"], config["memory"]) == ("fgp", "small", 12)
    assert (config["classes"], config["integer_names"]) == (["5", "2", "8"], True)
    assert config["recipe"]["first"] == {"epochs": 2, "lr": 0.5, "drops": [1, 2], "factor": 0.2}
    assert config["formula"] == build_method("fgp").formula


def test_a_method_of_ones_own_has_to_be_given_again(patches: Patches, tmp_path: Path) -> None:
    one = taught(patches, OWN)
    one.save(tmp_path)
    with pytest.raises(ClassgrowError, match="give it as method="):
        Learner.load(tmp_path)
    with pytest.raises(ClassgrowError, match=r"was saved with the method 0\.5·CE"):
        Learner.load(tmp_path, method=build_method("fgp"))
    images, _ = patches([5, 2, 8], per_class=5, seed=3)
    assert Learner.load(tmp_path, method=OWN).predict(images) == one.predict(images)


def test_a_changed_method_does_not_pass_for_the_catalogues(patches: Patches, tmp_path: Path) -> None:
    fgp = build_method("fgp")
    augmented = BinaryCrossEntropy() + 0.1 * sqrt_old_share * FeatureGraph(augmented=True)
    others = [build_method("fgp", strength=0.2), replace(fgp, steps=(fgp.steps[0], Train(augmented), fgp.steps[2]))]
    for number, method in enumerate((fgp, *others)):
        taught(patches, method, epochs=1).save(tmp_path / str(number))
    found = [json.loads((tmp_path / str(number) / CONFIG_FILE).read_text())["method"] for number in range(3)]
    assert found == ["fgp", None, None]


def test_another_method_than_the_saved_one_is_refused(patches: Patches, tmp_path: Path) -> None:
    """The same objective in print, and yet another method: BiC with other shares held out, iCaRL with other outputs."""
    for saved, other in ((bic(), bic(held_out=0.3)), (icarl(outputs=4), icarl(outputs=100))):
        folder = tmp_path / saved.name
        one = taught(patches, saved, epochs=1)
        one.save(folder)
        with pytest.raises(ClassgrowError, match=r"was saved with the method .*: give that one\."):
            Learner.load(folder, method=other)
        images, _ = patches([5, 2, 8], per_class=5, seed=3)
        assert Learner.load(folder, method=saved).predict(images) == one.predict(images)
    with pytest.raises(ClassgrowError, match="not one with other settings or steps: give that one"):
        Learner.load(tmp_path / "bic", method=bic(held_out=0.3))
    with pytest.raises(ClassgrowError, match=r"not BCE_≥100\(σ\(a\)"):
        Learner.load(tmp_path / "icarl", method=icarl(outputs=100))


def test_how_exemplars_are_chosen_belongs_to_the_method(patches: Patches, tmp_path: Path) -> None:
    own = build_method("fgp").with_selection(random_choice)
    taught(patches, own, epochs=1).save(tmp_path / "by value")
    with pytest.raises(ClassgrowError, match="give it as method="):
        Learner.load(tmp_path / "by value")
    with pytest.raises(ClassgrowError, match="other settings or steps"):
        Learner.load(tmp_path / "by value", method=build_method("fgp"))
    assert Learner.load(tmp_path / "by value", method=own).method == own
    taught(patches, "fgp", epochs=1, selection="random").save(tmp_path / "by name")
    for given in (None, build_method("fgp"), own):
        assert Learner.load(tmp_path / "by name", method=given).method.steps == own.steps


def without_value(folder: Path, formula: str) -> None:
    """Make the bundle one of before: no value, and this formula."""
    config = json.loads((folder / CONFIG_FILE).read_text())
    del config["value"]
    text = json.dumps(config | {"formula": formula})
    tensors, plain = checkpoint.read(folder / WEIGHTS_FILE)
    (folder / CONFIG_FILE).write_text(text)
    checkpoint.write(folder / WEIGHTS_FILE, tensors, plain | {"config": checksum(text.encode())})


def test_a_bundle_of_before_is_compared_by_its_formula(patches: Patches, tmp_path: Path) -> None:
    own = replace(icarl(outputs=100), last_relu=True)
    taught(patches, own, epochs=1).save(tmp_path)
    without_value(tmp_path, "BCE(σ(a), [σ(a*)_old, y_new])")
    assert Learner.load(tmp_path, method=own).classes == [5, 2, 8]
    with pytest.raises(ClassgrowError, match=r"was saved with the method BCE\(σ\(a\), \[.*, not CE\(softmax"):
        Learner.load(tmp_path, method=build_method("finetune"))


def test_edited_code_is_told_and_no_reason_to_lose_a_model(patches: Patches, tmp_path: Path) -> None:
    def method(number: float) -> Method:
        names: dict[str, Any] = {"Term": Term}
        body = f"def measure(self, view): return {number} * view.student.logits.sum(), 1.0"
        exec(f"class Own(Term):\n formula = 'own'\n {body}", names)
        return replace(OWN, steps=(Grow(), Train(names["Own"]())))

    taught(patches, method(0.1), epochs=1).save(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Learner.load(tmp_path, method=method(0.1)).classes == [5, 2, 8]
    with pytest.warns(UserWarning, match="code of the method has changed since"):
        assert Learner.load(tmp_path, method=method(0.2)).classes == [5, 2, 8]


def test_a_registered_method_that_changed_is_refused(
    patches: Patches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "registered", lambda: {"mine": lambda: replace(OWN, name="mine")})
    taught(patches, "mine", epochs=1).save(tmp_path)
    assert Learner.load(tmp_path).method.name == "mine"
    monkeypatch.setattr(catalogue, "registered", lambda: {"mine": lambda: build_method("fgp")})
    with pytest.raises(ClassgrowError, match=r"was saved with the method 0\.5·CE\(softmax\(a\), y\), not BCE"):
        Learner.load(tmp_path)


def test_a_network_of_ones_own_has_to_be_given_again(patches: Patches, tmp_path: Path) -> None:
    one = taught(patches, network=SmallNet(1))
    one.save(tmp_path)
    with pytest.raises(ClassgrowError, match="give one of its kind as network="):
        Learner.load(tmp_path)
    images, _ = patches([5, 2, 8], per_class=5, seed=3)
    assert Learner.load(tmp_path, network=SmallNet(1)).predict(images) == one.predict(images)
    with pytest.raises(ClassgrowError, match="cannot take an image of 8 x 8 pixels with 1 channels"):
        Learner.load(tmp_path, network=SmallNet(3))


def test_a_newer_bundle_takes_the_place_of_an_older_one(patches: Patches, tmp_path: Path) -> None:
    one = taught(patches)
    one.save(tmp_path / "bundle")
    one.learn(*patches([1], per_class=6))
    one.save(tmp_path / "bundle")
    assert Learner.load(tmp_path / "bundle").classes == [5, 2, 8, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_nothing_else_is_overwritten(patches: Patches, tmp_path: Path) -> None:
    one = taught(patches)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("precious")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / CONFIG_FILE).write_text("{}")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ClassgrowError, match=r"holds something else \(thesis.txt\)"):
        one.save(tmp_path / "folder")
    with pytest.raises(ClassgrowError, match=r"holds something else \(config.json\)"):
        one.save(tmp_path / "other")
    with pytest.raises(ClassgrowError, match="is not a folder"):
        one.save(tmp_path / "file")
    with pytest.raises(ClassgrowError, match="Could not write"):
        one.save(tmp_path / "file" / "below")
    assert (tmp_path / "folder" / "thesis.txt").read_text() == (tmp_path / "file").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "other"]


def test_a_failing_save_leaves_the_earlier_bundle(
    patches: Patches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = taught(patches)
    one.save(tmp_path / "bundle")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("classgrow.disk.os.fsync", full)
    with pytest.raises(ClassgrowError, match="No space left on device"):
        one.save(tmp_path / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]
    assert Learner.load(tmp_path / "bundle").classes == [5, 2, 8]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("step", range(8))
def test_killed_while_it_saves_over_an_earlier_bundle_one_of_them_is_there(
    patches: Patches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, at_once: bool
) -> None:
    """Between any two of its changes of names; a folder set aside is found again."""
    one = taught(patches, "finetune", epochs=1, memory=None)
    one.save(tmp_path / "bundle")
    one.learn(*patches([1], per_class=6))
    left = step
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):

        def counted(do: Callable[..., Any], *paths: Any, **more: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            do(*paths, **more)

        for verb in ("rename", "replace", "rmdir"):
            patch.setattr(os, verb, partial(counted, getattr(os, verb)))
        if not at_once:
            patch.setattr("classgrow.exchange.exchange_at_once", lambda one, other: False)
        one.save(tmp_path / "bundle")
    monkeypatch.setattr("classgrow.exchange.is_abandoned", lambda path: True)
    assert Learner.load(tmp_path / "bundle").classes in ([5, 2, 8], [5, 2, 8, 1])
    one.save(tmp_path / "bundle")
    assert Learner.load(tmp_path / "bundle").classes == [5, 2, 8, 1]


def test_nothing_learned_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match="Nothing has been learned yet"):
        Learner().save(tmp_path / "bundle")
    assert not list(tmp_path.iterdir())


def test_missing_and_damaged_files(patches: Patches, tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match=r"is not a saved model \(config.json is missing\)"):
        Learner.load(tmp_path / "nowhere")
    taught(patches).save(tmp_path / "bundle")
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        path = tmp_path / "bundle" / name
        content = path.read_bytes()
        middle = len(content) // 2
        for damaged in (b"", content[:middle], content[:middle] + b"#" + content[middle + 1 :], content + b"\n"):
            path.write_bytes(damaged)
            with pytest.raises(ClassgrowError, match="is damaged or of another version"):
                Learner.load(tmp_path / "bundle")
        path.unlink()
        with pytest.raises(ClassgrowError, match=f"{name} is missing"):
            Learner.load(tmp_path / "bundle")
        path.write_bytes(content)
    assert Learner.load(tmp_path / "bundle").classes == [5, 2, 8]
