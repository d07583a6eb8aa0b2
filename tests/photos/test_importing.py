"""The result of an experiment is a model too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import classgrow
from classgrow.data.digits import load_digits
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.experiments.run import run_spec
from classgrow.learner import Learner
from classgrow.photos.importing import import_run
from classgrow.progress import Silent
from classgrow.records.record import Record
from classgrow.specs.spec import Spec

pytest.importorskip("sklearn")
SPEC = Spec(dataset="digits", method="fgp", classes=4, step=2, first=2, epochs=2, memory=20)


def test_a_run_becomes_a_model_that_answers_as_its_learner(tmp_path: Path) -> None:
    """Also when the run was finished before: then its last checkpoint is read."""
    learners: list[Learner] = []

    def keep(learner: Learner, record: Record) -> None:
        learners.append(learner)
        import_run(tmp_path / f"model {len(learners)}", learner, record)

    for _ in range(2):
        run_spec(SPEC, tmp_path / "runs", execution=Execution(threads=1), after_run=keep)
    test = load_digits().test
    pixels = test.read(torch.arange(60)).numpy()
    expected = learners[0].predict(pixels)
    for number in (1, 2):
        model = classgrow.load(tmp_path / f"model {number}", progress=Silent())
        found = [one.ranking[0][0] for one in model.predict(pixels[..., 0])]  # type: ignore[union-attr]
        assert found == expected
        version = model.history[0]
        assert (version.action, version.measured, len(version.after)) == ("import", "tested", 4)
        assert len(model.exemplars) == 20
    learned = model.learn(np.repeat(pixels[:1], 3, 0)[..., 0], ["new"] * 3, epochs=1)
    assert learned.new == {"new": 3} and model.classes[-1] == "new"
    with pytest.raises(ClassgrowError, match=r"There is a model in .* already"):
        import_run(tmp_path / "model 1", learners[0], None)  # type: ignore[arg-type] # refused before it is looked at
