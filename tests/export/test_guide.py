"""docs/guide/export.md: the example on the page runs as printed, without torch."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from classgrow.engine.runtime import Execution
from classgrow.export import write_onnx
from classgrow.learner import Learner

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "export.md").read_text(encoding="utf-8")
AFTERWARDS = '\nimport sys\nprint("torch" in sys.modules)\n'


def test_the_example_for_python(photos: Callable[..., np.ndarray], tmp_path: Path) -> None:
    """A dark and a bright class: a bright photo of another size, saved as JPEG, gets the name that `predict` gives."""
    images = photos(12, 32)
    images[:6] //= 8
    images[6:] = 255 - images[6:] // 8
    learner = Learner("frozen", memory=12, network="small", execution=Execution(threads=1))
    learner.learn(images, ["dark"] * 6 + ["bright"] * 6)
    write_onnx(learner, tmp_path / "flowers.onnx")
    Image.fromarray(images[9]).resize((48, 48)).save(tmp_path / "photo.jpg")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code + AFTERWARDS], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    answer, torch_is_there = ran.stdout.splitlines()
    name, _, probability = answer.rpartition(" ")
    found = learner.answer([tmp_path / "photo.jpg"])[0]
    assert name == ("none of the known classes" if found.unknown else found.ranking[0][0])
    assert abs(float(probability) - found.ranking[0][1]) < 1e-3
    assert torch_is_there == "False"
