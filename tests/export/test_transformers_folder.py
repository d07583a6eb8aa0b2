"""The folder that transformers.js reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.export import graph, write_transformers
from classgrow.learner import Learner
from tests.export.conftest import STILL

Ask = Callable[..., dict[str, np.ndarray]]
Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
FILES = ["config.json", "onnx/model.onnx", "preprocessor_config.json"]


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values.astype(np.float64) - values.max(1, keepdims=True))
    found: np.ndarray = powers / powers.sum(1, keepdims=True)
    return found


@pytest.fixture
def colours(photos: Callable[..., np.ndarray]) -> Learner:
    """Three classes of colour images of 32 pixels, of which the network sees everything."""
    learner = Learner(STILL, memory=6, execution=Execution(threads=1), network="small")
    return learner.learn(photos(9, 32), ["cat", "dog", "naïve 猫"] * 3)


def test_what_lies_in_the_folder(colours: Learner, tmp_path: Path) -> None:
    done = write_transformers(colours, tmp_path / "deep" / "model")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["model"]
    files = sorted(path.relative_to(done.path).as_posix() for path in done.path.rglob("*") if path.is_file())
    assert files == FILES
    assert done.size == sum((done.path / name).stat().st_size for name in FILES)
    config = json.loads((done.path / "config.json").read_text(encoding="utf-8"))
    assert config["id2label"] == {"0": "cat", "1": "dog", "2": "naïve 猫"}
    assert config["label2id"] == {"cat": 0, "dog": 1, "naïve 猫": 2}
    assert config["transformers.js_config"] == {"dtype": "fp32"}
    assert config["classgrow"] == done.metadata
    preparation = json.loads((done.path / "preprocessor_config.json").read_text(encoding="utf-8"))
    assert preparation["size"] == {"shortest_edge": 32}
    assert preparation["crop_size"] == {"height": 32, "width": 32}
    assert preparation["rescale_factor"] == 1 / 255
    assert (preparation["image_mean"], preparation["image_std"]) == (
        list(colours.inputs.mean),
        list(colours.inputs.std),
    )


def test_normalised_pixels_become_calibrated_logits(
    colours: Learner, photos: Callable[..., np.ndarray], ask: Ask, tmp_path: Path
) -> None:
    """Prepared by hand as preprocessor_config.json says: divided by 255, minus the mean, divided by the deviation."""
    done = write_transformers(colours, tmp_path / "model")
    images = photos(5, 32, seed=1)
    mean, std = np.float32(colours.inputs.mean), np.float32(colours.inputs.std)
    values = ((images / np.float32(255) - mean) / std).transpose(0, 3, 1, 2)
    answer = ask(done.path / "onnx" / "model.onnx", np.ascontiguousarray(values))
    assert softmax(answer["logits"]) == pytest.approx(colours.predict_proba(images), abs=1e-3)
    assert [colours.classes[best] for best in answer["logits"].argmax(1)] == colours.predict(images)


def test_models_of_grey_images_take_colours(
    taught: Callable[..., Learner], patches: Patches, ask: Ask, tmp_path: Path
) -> None:
    """transformers.js always hands over three channels. 0.299 r + 0.587 g + 0.114 b of (200, 100, 50) is 124.2."""
    learner = taught(STILL)
    done = write_transformers(learner, tmp_path / "model")
    images, _ = patches([5, 2, 8], per_class=2, seed=3)
    three = ((images[:, None].repeat(3, 1) / 255 - 0.5) / 0.25).astype(np.float32)
    answer = ask(done.path / "onnx" / "model.onnx", three)
    assert softmax(answer["logits"]) == pytest.approx(learner.predict_proba(images), abs=1e-3)
    coloured = np.full((1, 3, 8, 8), 0, np.float32) + np.float32([200, 100, 50])[:, None, None]
    grey = np.full((1, 3, 8, 8), 124.2, np.float32)
    both = ask(done.path / "onnx" / "model.onnx", np.concatenate((coloured, grey)) / 255)
    assert both["logits"][0] == pytest.approx(both["logits"][1], abs=1e-3)


def test_only_an_earlier_export_is_replaced(
    colours: Learner, taught: Callable[..., Learner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_transformers(colours, tmp_path / "model")
    before = {name: (tmp_path / "model" / name).read_bytes() for name in FILES}
    with monkeypatch.context() as patched:
        patched.setattr(graph, "LUMA", (0.0, 0.0, 0.0))
        with pytest.raises(ClassgrowError, match=r"does not answer as the model does .* was not kept"):
            write_transformers(taught(STILL), tmp_path / "model")
    assert {name: (tmp_path / "model" / name).read_bytes() for name in FILES} == before
    write_transformers(taught(STILL), tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["num_labels"] == 3
    assert all((tmp_path / "model" / name).read_bytes() != content for name, content in before.items())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "model" / "thesis.txt").write_text("precious")
    with pytest.raises(ClassgrowError, match=r"holds something else \(thesis.txt\)"):
        write_transformers(colours, tmp_path / "model")
    with pytest.raises(ClassgrowError, match="is not a folder"):
        write_transformers(colours, tmp_path / "model" / "thesis.txt")
    colours.save(tmp_path / "bundle")
    with pytest.raises(ClassgrowError, match="holds something else"):
        write_transformers(colours, tmp_path / "bundle")


CLASSIFY = """
import { readFileSync } from "fs";
import { createRequire } from "module";
import { pathToFileURL } from "url";
const [modules, root, name, pixels, side] = process.argv.slice(2);
const require = createRequire(pathToFileURL(modules + "/"));
const { pipeline, env, RawImage } = await import(pathToFileURL(require.resolve("@huggingface/transformers")));
env.allowRemoteModels = false;
env.localModelPath = root;
const classify = await pipeline("image-classification", name);
const size = Number(side), bytes = new Uint8Array(readFileSync(pixels)), found = [];
for (let start = 0; start < bytes.length; start += size * size * 3)
  found.push(await classify(new RawImage(bytes.slice(start, start + size * size * 3), size, size, 3), { top_k: null }));
console.log(JSON.stringify(found));
"""
WASM = """
import { readFileSync } from "fs";
import { createRequire } from "module";
import { pathToFileURL } from "url";
const [modules, model, pixels, side] = process.argv.slice(2);
const require = createRequire(pathToFileURL(modules + "/"));
const ort = require("onnxruntime-web");
ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create(readFileSync(model), { executionProviders: ["wasm"] });
const size = Number(side), bytes = new Uint8Array(readFileSync(pixels));
const count = bytes.length / (size * size * 3);
const answer = await session.run({ images: new ort.Tensor("uint8", bytes, [count, size, size, 3]) });
console.log(JSON.stringify([...answer.probabilities.data]));
"""


def node(script: str, folder: Path, *arguments: str) -> object:
    """What a program prints as JSON; skipped where its libraries are not installed."""
    modules = os.environ.get("CLASSGROW_NODE_MODULES", "")
    if shutil.which("node") is None or not Path(modules, "onnxruntime-web").is_dir():
        pytest.skip(
            "needs node and CLASSGROW_NODE_MODULES: a node_modules folder with @huggingface/transformers and "
            "onnxruntime-web"
        )
    (folder / "program.mjs").write_text(script)
    ran = subprocess.run(
        ["node", str(folder / "program.mjs"), modules, *arguments], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_transformers_js_gives_the_same_probabilities(
    colours: Learner, photos: Callable[..., np.ndarray], tmp_path: Path
) -> None:
    write_transformers(colours, tmp_path / "hub" / "model")
    images = photos(3, 32, seed=1)
    (tmp_path / "pixels").write_bytes(images.tobytes())
    found = node(CLASSIFY, tmp_path, f"{tmp_path / 'hub'}/", "model", str(tmp_path / "pixels"), "32")
    assert isinstance(found, list)
    expected = [dict(ranking) for ranking in colours.predict(images, top=3)]
    answered = [{one["label"]: one["score"] for one in answer} for answer in found]
    assert len(answered) == 3
    assert all(one == pytest.approx(other, abs=1e-3) for one, other in zip(answered, expected, strict=True))


def test_onnxruntime_web_gives_the_same_probabilities(
    colours: Learner, photos: Callable[..., np.ndarray], tmp_path: Path
) -> None:
    from classgrow.export import write_onnx

    write_onnx(colours, tmp_path / "model.onnx")
    images = photos(3, 32, seed=1)
    (tmp_path / "pixels").write_bytes(images.tobytes())
    found = node(WASM, tmp_path, str(tmp_path / "model.onnx"), str(tmp_path / "pixels"), "32")
    assert np.array(found).reshape(3, 3) == pytest.approx(colours.predict_proba(images), abs=1e-3)
