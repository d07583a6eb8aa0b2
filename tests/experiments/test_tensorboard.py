"""TensorBoard gets what the record holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.experiments.grid import run_grid
from classgrow.experiments.run import run_spec
from classgrow.experiments.tensorboard import TensorboardLog, tensorboard_log
from classgrow.specs.spec import Spec

SPEC = Spec(dataset="digits", classes=4, memory=20, epochs=1)


def test_scalars_and_confusion_after_every_phase(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra 'tensorboard'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with tensorboard_log(tmp_path) as log:
        record = run_spec(SPEC, tmp_path, after_phase=log).record
    (folder,) = (tmp_path / "tensorboard").iterdir()
    assert folder.name == f"fgp-{record.identity}"
    events = EventAccumulator(str(folder))
    events.Reload()
    for rule in ("nearest", "head"):
        read = [(event.step, event.value) for event in events.Scalars(f"accuracy/{rule}")]
        expected = [(phase.classes_seen, pytest.approx(phase.rules[rule].accuracy)) for phase in record.phases]  # type: ignore[union-attr, index]
        assert read == expected
    assert [event.step for event in events.Scalars("loss")] == [2, 4]
    assert {"average", "speed/images_per_second", "seconds/train"} <= set(events.Tags()["scalars"])
    assert len(events.Scalars("forgetting")) >= 1
    assert [image.step for image in events.Images("confusion")] == [2, 4]


def test_nothing_is_written_unless_asked(tmp_path: Path) -> None:
    with tensorboard_log(None) as log:
        run_spec(SPEC, tmp_path, after_phase=log)
    assert not (tmp_path / "tensorboard").exists()


def test_without_tensorboard_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ClassgrowError, match=r"pip install 'classgrow\[tensorboard\]'"):
        TensorboardLog(tmp_path)


def test_runs_of_a_grid_write_too(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra 'tensorboard'")
    outcome = run_grid([SPEC], tmp_path, threads=1, tensorboard=True)
    assert len(outcome.done) == 1 and not outcome.failed
    (folder,) = (tmp_path / "tensorboard").iterdir()
    assert folder.name == f"fgp-{outcome.done[0]}" and any(folder.iterdir())


def test_a_grid_says_before_it_starts_that_tensorboard_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ClassgrowError, match=r"pip install 'classgrow\[tensorboard\]'"):
        run_grid([SPEC], tmp_path, threads=1, tensorboard=True)
    assert not any(tmp_path.iterdir())
