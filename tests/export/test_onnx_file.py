"""One ONNX file that answers as the model does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

import classgrow
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.export import Exported, graph, onnx_file, write_onnx
from classgrow.inputs import Inputs
from classgrow.learner import Learner
from classgrow.networks.catalogue import NETWORKS
from classgrow.parts.rule_catalogue import RULES
from tests.export.conftest import STILL

Ask = Callable[..., dict[str, np.ndarray]]
Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
SIDES = {"small": (8, 1), "resnet32": (32, 3)}
"""Pixels along a side and channels; 64 and 3 for the others. Lite1 and 2 are Lite0 with other widths and depths."""


def assert_same(learner: Learner, answer: dict[str, np.ndarray], images: np.ndarray) -> None:
    """The model's own labels, scores and probabilities."""
    scores = learner.scores(images)
    assert answer["scores"].shape == scores.shape
    assert np.abs(answer["scores"] - scores).max() < 1e-4 * max(1, np.abs(scores).max())
    assert answer["probabilities"] == pytest.approx(learner.predict_proba(images), abs=1e-3)
    if "distance" in answer:
        assert answer["distance"] == pytest.approx([one.distance for one in learner.answer(images)], rel=1e-3)
    assert [learner.classes[best] for best in answer["scores"].argmax(1)] == learner.predict(images)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_answers_the_same(
    rule: str, taught: Callable[..., Learner], patches: Patches, ask: Ask, tmp_path: Path
) -> None:
    learner = taught(epochs=2, rule=rule)
    done = write_onnx(learner, tmp_path / "model.onnx")
    for count in (1, 3):
        images, _ = patches([5, 2, 8], per_class=count, seed=3)
        assert_same(learner, ask(done.path, images[..., None]), images)
    assert (done.checked.photos, done.checked.generated) == (12, 16)
    assert done.checked.differences.keys() == {"scores", "probabilities", "distance"}
    assert 0 <= max(done.checked.differences.values()) < 1e-4


@pytest.mark.parametrize("method", ["lucir", "bic"])
def test_heads_with_a_scale_and_with_a_correction(
    method: str, taught: Callable[..., Learner], patches: Patches, ask: Ask, tmp_path: Path
) -> None:
    learner = taught(method, epochs=2)
    images, _ = patches([5, 2, 8], per_class=3, seed=3)
    done = write_onnx(learner, tmp_path / "model.onnx")
    assert_same(learner, ask(done.path, images[..., None]), images)


@pytest.mark.parametrize("network", [n for n in NETWORKS.names if n[-5:] not in ("lite1", "lite2")])
def test_every_network_answers_the_same(
    network: str, photos: Callable[..., np.ndarray], ask: Ask, tmp_path: Path
) -> None:
    side, channels = SIDES.get(network, (64, 3))
    learner = Learner(STILL, memory=4, network=network, execution=Execution(threads=1))
    learner.learn(photos(6, side, channels), ["a", "b", "a", "b", "a", "b"])
    done = write_onnx(learner, tmp_path / "model.onnx")
    images = photos(5, side, channels, seed=1)
    assert_same(learner, ask(done.path, images), images)


def test_large_photos_are_cropped_in_the_graph(photos: Callable[..., np.ndarray], ask: Ask, tmp_path: Path) -> None:
    """Kept at 256 pixels, seen at 224: the margin changes nothing, the middle does."""
    learner = Learner(STILL, memory=2, network="small", execution=Execution(threads=1), preset="imagenet")
    learner.learn(photos(4, 256), ["a", "b", "a", "b"])
    done = write_onnx(learner, tmp_path / "model.onnx")
    assert (done.metadata["image_size"], done.metadata["network_size"]) == ("256", "224")
    images = photos(2, 256, seed=1)
    assert_same(learner, ask(done.path, images), images)
    framed = images.copy()
    framed[:, :16] = framed[:, -16:] = framed[:, :, :16] = framed[:, :, -16:] = 0
    assert (framed != images).any()
    assert np.array_equal(ask(done.path, framed)["scores"], ask(done.path, images)["scores"])


class Halves(nn.Module):
    """Two features: the mean of the left half and that of the right."""

    features = 2

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack((images[..., :2].mean((1, 2, 3)), images[..., 2:].mean((1, 2, 3))), 1)


def test_an_answer_worked_by_hand(ask: Ask, tmp_path: Path) -> None:
    """Left white is (1, 0), right white is (0, 1). An image (1, 0) is at squared distance 0 and 2; (0.6, 0.8), already
    of unit length, at 0.4² + 0.8² = 0.8 and 0.6² + 0.2² = 0.4."""
    inputs = Inputs(4, 1, (0.0,), (1.0,), padding=0, mirror=False, brightness=0.0, crop="none")
    learner = Learner(STILL, memory=2, network=Halves(), inputs=inputs, execution=Execution(threads=1))
    left, right, between = (np.zeros((4, 4, 1), np.uint8) for _ in range(3))
    left[:, :2], right[:, 2:] = 255, 255
    between[:, :2], between[:, 2:] = 153, 204
    learner.learn(np.stack((left, right)), ["left", "right"])
    done = write_onnx(learner, tmp_path / "model.onnx")
    answer = ask(done.path, np.stack((left, between)))
    assert answer["scores"] == pytest.approx(np.array([[0, -2], [-0.8, -0.4]]), abs=1e-5)
    temperature = float(done.metadata["temperature"])
    sure = 1 / (1 + np.exp(-2 / temperature))
    doubtful = 1 / (1 + np.exp(0.4 / temperature))
    expected = np.array([[sure, 1 - sure], [doubtful, 1 - doubtful]])
    assert answer["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert done.metadata["network"] == "one of the user's own"
    # one photo of a class says nothing of how photos differ: there is no distance to decide by
    assert answer.keys() == {"scores", "probabilities"} and "unknown_threshold" not in done.metadata


def test_what_the_file_says_of_itself(taught: Callable[..., Learner], tmp_path: Path) -> None:
    done = write_onnx(taught(STILL), tmp_path / "deep" / "model.onnx")
    model = onnx.load(done.path)
    said = {one.key: one.value for one in model.metadata_props}
    assert said == done.metadata
    assert json.loads(said["classes"]) == done.classes == ["5", "2", "8"]
    assert said["classgrow"] == classgrow.__version__ == model.producer_version
    names = ("method", "network", "rule", "formula", "image_size", "network_size", "channels", "mean", "std")
    assert [said[name] for name in names] == [
        *("still", "small", "nearest", "argmin_c ‖μ_c − f̄(x)‖", "8", "8", "1", "[0.5]", "[0.25]")
    ]
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 18)]
    assert not any(one.external_data for one in model.graph.initializer)
    shape = model.graph.input[0].type.tensor_type
    assert shape.elem_type == onnx.TensorProto.UINT8
    assert [one.dim_param or one.dim_value for one in shape.shape.dim] == ["batch", 8, 8, 1]
    assert [one.name for one in model.graph.output] == ["scores", "probabilities", "distance"]
    assert "BatchNormalization" not in {node.op_type for node in model.graph.node}
    assert done.size == done.path.stat().st_size


def test_names_of_any_kind(taught: Callable[..., Learner], patches: Patches, tmp_path: Path) -> None:
    images, labels = patches([0, 1], per_class=4)
    names = ["naïve “cat”, 猫 🐈", "a/b\n"]
    learner = Learner(STILL, memory=4, execution=Execution(threads=1)).learn(images, [names[n] for n in labels])
    done = write_onnx(learner, tmp_path / "model.onnx")
    assert done.classes == names
    assert json.loads({one.key: one.value for one in onnx.load(done.path).metadata_props}["classes"]) == names


def test_one_class_alone(patches: Patches, ask: Ask, tmp_path: Path) -> None:
    images, labels = patches([0], per_class=2)
    learner = Learner(STILL, memory=4, execution=Execution(threads=1)).learn(images, labels)
    done = write_onnx(learner, tmp_path / "model.onnx")
    assert ask(done.path, images[..., None])["probabilities"].tolist() == [[1.0], [1.0]]


def test_the_distance_tells_unknown_images(
    taught: Callable[..., Learner], patches: Patches, ask: Ask, tmp_path: Path
) -> None:
    learner = taught("frozen", memory=60)
    done = write_onnx(learner, tmp_path / "model.onnx")
    images = np.concatenate((patches([5, 2, 8], seed=3)[0], patches([0, 7], seed=3)[0]))
    far = ask(done.path, images[..., None])["distance"] > float(done.metadata["unknown_threshold"])
    assert far.tolist() == [one.unknown for one in learner.answer(images)]
    assert far[-24:].any() and not far[:36].all()


def test_a_model_without_photos_is_checked_on_generated_images(patches: Patches, tmp_path: Path) -> None:
    learner = Learner("frozen", memory=9, execution=Execution(threads=1), keep_photos=False)
    done = write_onnx(learner.learn(*patches([0, 1])), tmp_path / "model.onnx")
    assert (done.checked.photos, done.checked.generated) == (0, 16)


WITHOUT_TORCH = """
import sys
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
images = np.load(sys.argv[2])
names = ["scores", "probabilities", "distance"]
np.savez(sys.argv[3], **dict(zip(names, session.run(names, {"images": images}))))
print(sorted({"torch", "classgrow"} & set(sys.modules)))
"""


def test_a_process_without_torch_answers_the_same(
    taught: Callable[..., Learner], patches: Patches, tmp_path: Path
) -> None:
    learner = taught(STILL, rule="discriminant")
    done = write_onnx(learner, tmp_path / "model.onnx")
    images, _ = patches([5, 2, 8], per_class=4, seed=3)
    np.save(tmp_path / "images.npy", images[..., None])
    files = [str(tmp_path / name) for name in ("model.onnx", "images.npy", "answer.npz")]
    ran = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *files], capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stderr
    with np.load(files[2]) as answer:
        assert_same(learner, dict(answer), images)
    assert done.path.exists()


def wrong_scale(values: Tensor, inputs: Inputs) -> Tensor:
    return values / 255


def test_a_file_that_answers_otherwise_is_not_kept(
    taught: Callable[..., Learner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"an earlier export")
    monkeypatch.setattr(graph, "scale", wrong_scale)
    with pytest.raises(ClassgrowError, match=r"does not answer as the model does \(distance off by .* was not kept"):
        write_onnx(taught(STILL), path)
    assert path.read_bytes() == b"an earlier export"
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]
    monkeypatch.undo()
    assert isinstance(write_onnx(taught(STILL), path), Exported)
    assert path.stat().st_size > 50_000
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]


def test_what_cannot_be_written(
    taught: Callable[..., Learner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = taught(STILL)
    with pytest.raises(ClassgrowError, match=r"does not end in \.onnx: call it model\.bin\.onnx"):
        write_onnx(learner, tmp_path / "model.bin")
    (tmp_path / "folder.onnx").mkdir()
    with pytest.raises(ClassgrowError, match="is a folder: give the name of a file"):
        write_onnx(learner, tmp_path / "folder.onnx")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ClassgrowError, match=r"Could not write .*: choose another place"):
        write_onnx(learner, tmp_path / "file" / "model.onnx")
    with pytest.raises(ClassgrowError, match="Nothing has been learned yet"):
        write_onnx(Learner(), tmp_path / "model.onnx")
    monkeypatch.setattr(onnx_file, "LARGEST", 50_000)
    with pytest.raises(ClassgrowError, match=r"larger than the 2 GB .* export it with `torch`"):
        write_onnx(learner, tmp_path / "model.onnx")
    monkeypatch.setattr(onnx_file, "find_spec", lambda name: None if name == "onnxruntime" else name)
    with pytest.raises(
        ClassgrowError, match=r"needs onnxruntime, which is not installed: pip install 'classgrow\[onnx"
    ):
        write_onnx(learner, tmp_path / "model.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.onnx"]


class Decides(Halves):
    """A network that looks at values to decide what to do."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images) * (2 if float(images.sum()) > 0 else 1)


class Special(Halves):
    """A network with an operation that ONNX does not have."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.special.bessel_j0(super().forward(images))


@pytest.mark.parametrize(
    ("network", "words"),
    [(Decides(), "must be traceable by torch.export"), (Special(), "an operation that ONNX lacks .*bessel_j0")],
)
def test_networks_that_cannot_be_exported(network: nn.Module, words: str, patches: Patches, tmp_path: Path) -> None:
    learner = Learner(STILL, memory=4, network=network, execution=Execution(threads=1)).learn(*patches([0, 1]))
    with pytest.raises(ClassgrowError, match=words):
        write_onnx(learner, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_the_learner_stays_as_it_was(taught: Callable[..., Learner], tmp_path: Path) -> None:
    learner = taught(STILL)
    learner.answer(np.zeros((1, 8, 8, 1), np.uint8))  # what it estimates of itself is kept from then on
    before, _ = learner.state.pack()
    before = {name: value.clone() for name, value in before.items()}
    write_onnx(learner, tmp_path / "model.onnx")
    after, _ = learner.state.pack()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.requires_grad for parameter in learner.state.network.parameters())
