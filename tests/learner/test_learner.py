"""The learner as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from classgrow.data.labelled import LabelledImages
from classgrow.engine import inference
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.methods import build_method
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.state import State
from classgrow.steps.phase import Phase

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


def learner(method: str = "fgp", **settings: object) -> Learner:
    settings = {"memory": 24, "epochs": 8, "execution": Execution(threads=1), **settings}
    return Learner(method, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shared() -> dict[str, Learner]:
    return {}


@pytest.fixture
def taught(patches: Patches, shared: dict[str, Learner]) -> Learner:
    """Two phases of two classes, for tests that only look."""
    if "taught" not in shared:
        shared["taught"] = learner().learn(*patches([5, 2])).learn(*patches([8, 0]))
    return shared["taught"]


def bits(one: Learner) -> dict[str, torch.Tensor]:
    return one.state.pack()[0]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_learn_predict_evaluate(taught: Learner, patches: Patches) -> None:
    images, labels = patches([5, 2, 8, 0], per_class=8, seed=9)
    assert taught.classes == [5, 2, 8, 0]
    predicted = taught.predict(images)
    assert all(type(name) is int for name in predicted)
    result = taught.evaluate(images, labels)
    assert result.accuracy == np.mean(np.array(predicted) == labels) >= 0.8
    assert set(result.by_rule) == {"nearest", "head"}
    assert result.by_rule["nearest"] == result.accuracy
    assert list(result.per_class) == [5, 2, 8, 0]
    assert np.mean(list(result.per_class.values())) == pytest.approx(result.accuracy)


def test_names_can_be_text(patches: Patches) -> None:
    images, labels = patches([0, 4])
    names = [{0: "cat", 4: "dog"}[label] for label in labels.tolist()]
    one = learner("finetune", epochs=30).learn(images, names)
    assert one.classes == ["cat", "dog"]
    assert set(one.predict(images)) <= {"cat", "dog"}
    result = one.evaluate(images, names)
    assert set(result.by_rule) == {"head"} and result.accuracy > 0.8


def test_images_in_any_form_give_the_same_answer(taught: Learner, patches: Patches, tmp_path: Path) -> None:
    images, _ = patches([5, 0], per_class=4, seed=3)
    expected = taught.predict(images)
    pictures = [Image.fromarray(image) for image in images]
    paths = [tmp_path / f"{number}.png" for number in range(len(images))]
    for picture, path in zip(pictures, paths, strict=True):
        picture.save(path)
    for form in (images[..., None], torch.from_numpy(images), pictures, paths, [str(path) for path in paths]):
        assert taught.predict(form) == expected


def test_labels_in_any_form(patches: Patches) -> None:
    images, labels = patches([1, 6], per_class=3)
    for form in (labels, labels.tolist(), list(labels), torch.from_numpy(labels)):
        assert learner(epochs=1).learn(images, form).classes == [1, 6]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((2, 8, 8), np.uint8), [7], "2 images came with 1 labels"),
        (np.zeros((2, 9, 9), np.uint8), [7, 7], "8 x 8 pixels with 1 channels"),
        (np.zeros((2, 8, 8), np.uint8), ["a", "a"], "all text or all whole numbers"),
        (np.zeros((2, 8, 8), np.uint8), ["a", 3], "all text or all whole numbers"),
        (np.zeros((2, 8, 8), np.uint8), [1.5, 2.5], "must be text or a whole number, not 1.5"),
        (np.zeros((2, 8, 8), np.float32), [7, 7], "must be uint8"),
    ],
)
def test_what_cannot_be_learned(taught: Learner, images: np.ndarray, labels: list[int], message: str) -> None:
    before = bits(taught)
    with pytest.raises(ClassgrowError, match=message):
        taught.learn(images, labels)
    assert same(before, bits(taught)) and taught.classes == [5, 2, 8, 0]


def test_what_cannot_be_evaluated(taught: Learner) -> None:
    images = np.zeros((2, 8, 8), np.uint8)
    with pytest.raises(ClassgrowError, match="The class 3 has not been learned yet"):
        taught.evaluate(images, [5, 3])
    with pytest.raises(ClassgrowError, match="2 images came with 3 labels"):
        taught.evaluate(images, [5, 5, 5])


def test_nothing_learned_yet() -> None:
    one = learner()
    assert one.classes == []
    for ask in (one.predict, lambda images: one.evaluate(images, [1])):
        with pytest.raises(ClassgrowError, match="Nothing has been learned yet"):
            ask(np.zeros((1, 8, 8), np.uint8))


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ClassgrowError, match="Did you mean 'fgp'"):
        learner("fpg")
    with pytest.raises(ClassgrowError, match="`selection` = 'best' does not fit: choose one of herding"):
        learner(selection="best")


def test_a_memory_too_small_is_refused_and_the_rest_stays(patches: Patches) -> None:
    one = learner(memory=3, epochs=1).learn(*patches([0, 1], per_class=4))
    before = bits(one)
    with pytest.raises(ClassgrowError, match="3 exemplars cannot cover 4 classes"):
        one.learn(*patches([2, 3], per_class=4))
    assert same(before, bits(one)) and one.classes == [0, 1]
    assert one.learn(*patches([2], per_class=4)).classes == [0, 1, 2]


@dataclass(frozen=True)
class Fail:
    """A last step that fails in one phase."""

    phase: int

    def run(self, state: State, phase: Phase) -> None:
        if phase.number == self.phase:
            raise RuntimeError("the light went out")


def failing(phase: int) -> Learner:
    fgp = build_method("fgp")
    return learner(replace(fgp, steps=(*fgp.steps, Fail(phase))), epochs=1)  # type: ignore[arg-type]


def test_a_failing_phase_leaves_what_was_known(patches: Patches) -> None:
    one = failing(phase=2).learn(*patches([0, 1], per_class=6))
    images, _ = patches([0, 1], per_class=5, seed=4)
    before, answers = bits(one), one.predict(images)
    with pytest.raises(RuntimeError, match="the light went out"):
        one.learn(*patches([2], per_class=6))
    assert same(before, bits(one)) and one.classes == [0, 1] and one.predict(images) == answers
    one.method = build_method("fgp")
    again = learner(epochs=1).learn(*patches([0, 1], per_class=6))
    for either in (one, again):
        either.learn(*patches([2], per_class=6))
    assert same(bits(one), bits(again))


def test_after_a_failing_first_phase_anything_can_be_learned(patches: Patches) -> None:
    one = failing(phase=1)
    with pytest.raises(RuntimeError):
        one.learn(*patches([0, 1], per_class=3))
    one.method = one._given["method"] = build_method("fgp")
    colours = np.zeros((4, 10, 10, 3), np.uint8)
    assert one.learn(colours, ["a", "a", "b", "b"]).classes == ["a", "b"]


def test_the_same_seed_gives_the_same_bits_and_another_does_not(patches: Patches) -> None:
    first, again, other = (
        bits(learner(seed=seed, epochs=1).learn(*patches([0, 1], 6)).learn(*patches([2], 6))) for seed in (1, 1, 2)
    )
    assert same(first, again) and not same(first, other)


def test_the_global_generator_is_neither_used_nor_moved(patches: Patches) -> None:
    results = []
    for start in (1, 2):
        torch.manual_seed(start)
        expected = torch.rand(1, generator=torch.Generator().manual_seed(start))
        results.append(bits(learner(epochs=1).learn(*patches([0, 1], 6))))
        assert torch.equal(torch.rand(1), expected)
    assert same(*results)


def test_the_memory_stays_within_its_budget(taught: Learner) -> None:
    memory = taught.state.memory
    assert torch.bincount(memory.labels).tolist() == [6, 6, 6, 6]
    per_class = learner(memory=None, memory_per_class=2, epochs=1)
    per_class.learn(np.zeros((9, 8, 8), np.uint8), [0] * 3 + [1] * 3 + [2] * 3)
    assert torch.bincount(per_class.state.memory.labels).tolist() == [2, 2, 2]


def test_a_network_of_ones_own(patches: Patches) -> None:
    network = SmallNet(1)
    one = learner(network=network, epochs=1).learn(*patches([0, 1], 4))
    assert isinstance(one.state.network.backbone, SmallNet) and one.state.network.backbone is not network
    assert len(one.predict(patches([0, 1], 2)[0])) == 4


def test_large_photos_of_any_shape_are_kept_square_and_learned_in_two_phases(tmp_path: Path) -> None:
    """A first photo of 300 x 260 means 224-pixel inputs, kept with a margin as 256 x 256."""
    random = np.random.default_rng(0)
    paths = {}
    for name, colour in (("red", 0), ("green", 1), ("blue", 2)):
        for number in range(3):
            pixels = random.integers(0, 60, (260 + 10 * number, 300, 3), dtype=np.uint8)
            pixels[:, :, colour] += 180
            path = tmp_path / f"{name}{number}.png"
            Image.fromarray(pixels).save(path)
            paths.setdefault(name, []).append(path)
    learner = Learner("fgp", memory=6, epochs=1, network=MeanColour())
    learner.learn(paths["red"] + paths["green"], ["red"] * 3 + ["green"] * 3)
    learner.learn(paths["blue"], ["blue"] * 3)
    assert learner.inputs.size == 224
    assert learner.state.memory.images is not None and learner.state.memory.images.shape == (6, 256, 256, 3)
    assert learner.predict([paths["red"][0], paths["blue"][1]]) == ["red", "blue"]


class MeanColour(nn.Module):
    """Features that tell colours apart without learning anything."""

    features = 3

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.mean((2, 3)) * self.factor


@pytest.mark.parametrize("phases", [1, 2])
def test_features_computed_for_herding_serve_for_the_means(phases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Herding reads the 16 images of a phase; the means then only the old exemplars, and all of them mirrored."""
    one, read = learner(memory=12, epochs=1), list[int]()
    whole = inference.features

    def counted(network: Network, data: LabelledImages, *rest: Any, **more: Any) -> Tensor:
        read.append(len(data))
        return whole(network, data, *rest, **more)

    for name in ("classgrow.learner.fitting.features", "classgrow.steps.remember.features"):
        monkeypatch.setattr(name, counted)
    generator = np.random.default_rng(0)
    for phase in range(phases):
        read.clear()
        images = generator.integers(0, 255, (16, 32, 32, 3), dtype=np.uint8)
        one.learn(images, [2 * phase] * 8 + [2 * phase + 1] * 8)
    assert read == ([16, 12] if phases == 1 else [16, 6, 12])
    means = one.state.fitted["nearest"]["means"]
    one.refit_rules()
    assert torch.allclose(means, one.state.fitted["nearest"]["means"], atol=1e-6)


def test_files_that_cannot_be_read_are_left_out_and_named(tmp_path: Path, patches: Patches) -> None:
    """In learning and evaluating, where labels go with them; a prediction for a file that is no image is refused."""
    images, labels = patches([1, 6], per_class=3)
    files = [tmp_path / f"{place}.png" for place in range(6)]
    for file, image in zip(files, images, strict=True):
        Image.fromarray(image).save(file)
    (tmp_path / "torn.png").write_bytes(files[0].read_bytes()[:30])
    given, names = [tmp_path / "torn.png", *files], [6, *labels.tolist()]
    with pytest.warns(UserWarning, match=r"1 of 7 images are left out: .*torn\.png"):
        one = learner(epochs=1).learn(given, names)
    assert len(one.state.memory) == 6
    with pytest.warns(UserWarning, match=r"torn\.png"):
        assert one.evaluate(given, names) == one.evaluate(files, labels.tolist())
    with pytest.raises(ClassgrowError, match=r"torn\.png cannot be read"):
        one.predict(given)
    with pytest.raises(ClassgrowError, match=r"torn\.png cannot be read"):
        learner(epochs=1).learn(given[:1], [6])


def test_grey_and_colour_are_made_what_the_network_sees(patches: Patches) -> None:
    """Equal colours are their own luma, so both kinds of learner answer about both kinds of images alike."""
    images, labels = patches([1, 6], per_class=3)
    colours = np.repeat(images[..., None], 3, axis=3)
    for taught, other in ((images, colours), (colours, images)):
        one = learner(epochs=1).learn(taught, labels)
        assert one.predict(other) == one.predict(taught)
    red = np.zeros((1, 8, 8, 3), np.uint8)
    red[..., 0] = 255
    grey = learner(epochs=1).learn(images, labels)
    assert grey._unlabelled(red).read(torch.arange(1)).unique().tolist() == [76]  # 0.299 · 255


def test_one_size_for_the_whole_set(patches: Patches) -> None:
    """The median short side, whichever photo comes first; pandas columns and generators are taken."""
    pandas = pytest.importorskip("pandas")
    sizes = ((40, 9), (12, 30), (12, 12), (12, 14), (100, 20))
    pictures = [Image.new("L", size, 20 * place) for place, size in enumerate(sizes)]
    names = pandas.Series(["a", "b", "a", "b", "a"])
    for given in (pictures, pictures[::-1], (picture for picture in pictures), pandas.Series(pictures)):
        assert learner(epochs=1).learn(given, names).inputs.size == 12
