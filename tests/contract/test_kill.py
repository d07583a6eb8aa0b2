"""kill -9 in the middle of a phase, in a process of its own; what another process then finishes is the same run.

The third method of which this is shown is fgp, through the command line (tests/cli/test_stop_and_resume.py).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from classgrow import checkpoint
from classgrow.data.labelled import Dataset
from classgrow.engine.runtime import Execution
from classgrow.experiments import run
from classgrow.experiments.run import CHECKPOINT_FILE, run_spec
from classgrow.records.record import RECORD_FILE, read_record, without_times
from classgrow.specs.spec import Spec

CONFTEST = Path(__file__).with_name("conftest.py")
PROGRAM = """
import runpy, sys
from pathlib import Path
from classgrow.engine.runtime import Execution
from classgrow.experiments import run
from classgrow.progress import Silent
from classgrow.specs.spec import Spec

class Telling(Silent):
    def begin(self, text, total, done=0):
        print(text, flush=True)
    def advance(self, images):
        print(images, flush=True)

few = runpy.run_path(sys.argv[3])["few"]
run.load = lambda *_: few()
spec = Spec.model_validate_json(sys.argv[1])
run.run_spec(spec, Path(sys.argv[2]), execution=Execution(threads=1), progress=Telling())
"""


@pytest.mark.parametrize(
    ("name", "bar", "batches"),
    [
        ("eeil", 3, 4),  # the third training is the balanced stage of phase 2
        ("bic", 2, 17),  # 3 batches an epoch: in the sixth of seven, after the checkpoint of the fifth
    ],
)
def test_a_killed_run_goes_on(
    name: str, bar: int, batches: int, few_digits: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = Spec(dataset="digits", method=name, classes=4, first=2, step=2, epochs=7)
    command = [sys.executable, "-c", PROGRAM, spec.model_dump_json(), str(tmp_path / "killed"), str(CONFTEST)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        bars = seen = 0
        for line in process.stdout:
            bars, seen = (bars + 1, 0) if not line.strip().isdigit() else (bars, seen + 1)
            if (bars, seen) == (bar, batches):
                os.kill(process.pid, signal.SIGKILL)
                break
        process.wait()
    assert process.returncode == -signal.SIGKILL

    (folder,) = (path.parent for path in (tmp_path / "killed").rglob(RECORD_FILE))
    assert len(read_record(folder / RECORD_FILE).phases) == 1
    _, saved = checkpoint.read(folder / CHECKPOINT_FILE)
    place = saved["step"], saved["point"] and saved["point"]["epoch"]
    assert (saved["phase"], place) == (2, {"eeil": (3, None), "bic": (2, 5)}[name])

    monkeypatch.setattr(run, "load", lambda *_: few_digits)
    execution = Execution(threads=1)
    resumed = run_spec(spec, tmp_path / "killed", resume=True, execution=execution)
    whole = run_spec(spec, tmp_path / "whole", execution=execution)
    assert without_times(resumed.record) == without_times(whole.record)
    one, other = (checkpoint.read(outcome.folder / CHECKPOINT_FILE)[0] for outcome in (resumed, whole))
    assert one.keys() == other.keys() and all(one[part].equal(other[part]) for part in one)
