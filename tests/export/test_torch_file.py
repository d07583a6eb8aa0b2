"""One .pt2 file that answers wherever torch is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from classgrow.errors import ClassgrowError
from classgrow.export import graph, write_torch
from classgrow.learner import Learner
from tests.export.conftest import STILL

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
WITHOUT_CLASSGROW = """
import json, sys
import numpy as np, torch
files = {"classgrow.json": ""}
program = torch.export.load(sys.argv[1], extra_files=files)
with torch.no_grad():
    scores, probabilities, *_ = program.module()(torch.from_numpy(np.load(sys.argv[2])))
np.savez(sys.argv[3], scores=scores, probabilities=probabilities)
print("classgrow" in sys.modules, json.loads(json.loads(files["classgrow.json"])["classes"]))
"""


def test_a_process_without_classgrow_answers_the_same(
    taught: Callable[..., Learner], patches: Patches, tmp_path: Path
) -> None:
    learner = taught(STILL, rule="discriminant")
    done = write_torch(learner, tmp_path / "model.pt2")
    assert (done.checked.photos, done.checked.generated, done.size) == (12, 16, done.path.stat().st_size)
    images, _ = patches([5, 2, 8], per_class=3, seed=3)
    np.save(tmp_path / "images.npy", images[..., None])
    files = [str(tmp_path / name) for name in ("model.pt2", "images.npy", "answer.npz")]
    ran = subprocess.run([sys.executable, "-c", WITHOUT_CLASSGROW, *files], capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout.strip()) == (0, "False ['5', '2', '8']"), ran.stderr
    with np.load(files[2]) as answer:
        assert answer["scores"] == pytest.approx(learner.scores(images), rel=1e-4, abs=1e-4)
        assert answer["probabilities"] == pytest.approx(learner.predict_proba(images), abs=1e-3)


def test_no_folder_of_this_machine_is_in_it(taught: Callable[..., Learner], tmp_path: Path) -> None:
    done = write_torch(taught(STILL), tmp_path / "model.pt2")
    with zipfile.ZipFile(done.path) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"conv1" in everything  # names of weights can be found
    assert str(Path(graph.__file__).parents[2]).encode() not in everything
    assert str(Path(torch.__file__).parents[1]).encode() not in everything


def test_a_file_that_answers_otherwise_is_not_kept(
    taught: Callable[..., Learner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(b"an earlier export")
    monkeypatch.setattr(graph, "logits", lambda scores, temperature: scores)
    with pytest.raises(ClassgrowError, match=r"does not answer as the model does \(probabilities off by"):
        write_torch(taught(STILL), path)
    assert path.read_bytes() == b"an earlier export"
    assert [one.name for one in tmp_path.iterdir()] == ["model.pt2"]
    with pytest.raises(ClassgrowError, match=r"does not end in \.pt2"):
        write_torch(taught(STILL), tmp_path / "model.onnx")
