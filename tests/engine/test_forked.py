"""A process forked after work in several threads says so instead of waiting for ever."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from classgrow.engine import runtime
from classgrow.engine.runtime import Execution, refuse_forked
from classgrow.errors import ClassgrowError

PROGRAM = """
import os, sys
import numpy as np
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
images = np.random.default_rng(1).integers(0, 255, (24, 8, 8), dtype=np.uint8)
one = Learner("finetune", epochs=1, execution=Execution(threads=2)).learn(images, ["a", "b"] * 12)
child = os.fork()
if child == 0:
    try:
        one.predict(images)
    except ClassgrowError as error:
        os.write(1, str(error).encode())
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True)
    assert "would hang: start it by multiprocessing's method spawn" in done.stdout


def test_one_thread_may_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_threaded_in", {os.getpid() + 1})
    refuse_forked(Execution(threads=1))
    with pytest.raises(ClassgrowError, match="forked"):
        refuse_forked(Execution(threads=2))
