"""A training that goes wrong keeps the last good checkpoint, and its record says where it was."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch

from classgrow import checkpoint
from classgrow.data.digits import load_digits
from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.engine.loop import Training
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError, DivergedError
from classgrow.experiments import run as running
from classgrow.experiments.divergence import MOST_RETRIES, after_divergence, check_wishes
from classgrow.experiments.run import CHECKPOINT_FILE, run_spec
from classgrow.progress import Progress
from classgrow.records.record import RECORD_FILE, Retry, read_record, without_times
from classgrow.specs.spec import Spec

SPEC = Spec(dataset="digits", method="finetune", classes=4, first=2, step=2, epochs=6, lr=0.1)
ONE = Execution(threads=1)


def few(data: LabelledImages) -> LabelledImages:
    return data.select(torch.cat([(data.labels == label).nonzero()[:20, 0] for label in range(10)]))


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = load_digits()
    small = Dataset("digits", few(digits.train), few(digits.test))
    monkeypatch.setattr(running, "load", lambda *_: small)


def breaks_above(monkeypatch: pytest.MonkeyPatch, limit: float, phase: int = 2, epoch: int = 5) -> None:
    """In that phase and epoch a rate above `limit` makes a weight that is no number, after its last update."""
    real = Training.epoch

    def broken(self: Training, optimiser: torch.optim.Optimizer, number: int, progress: Progress) -> float:
        if self.place[1] == phase and number == epoch and self.rate(number, 0) > limit:
            next(iter(self.network.parameters())).data.view(-1)[0] = float("nan")
        return real(self, optimiser, number, progress)

    monkeypatch.setattr(Training, "epoch", broken)


def test_the_record_says_step_and_rate_and_the_last_good_checkpoint_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = without_times(run_spec(SPEC, tmp_path / "whole", execution=ONE).record)
    with monkeypatch.context() as patch:
        breaks_above(patch, 0.0)
        with pytest.raises(ClassgrowError, match=r"phase 2 step 1, epoch 6, update 2, at a learning rate of 0\.00"):
            run_spec(SPEC, tmp_path / "runs", execution=ONE)
    (folder,) = (tmp_path / "runs").iterdir()
    record = read_record(folder / RECORD_FILE)
    assert (record.status, len(record.phases)) == ("failed", 1)
    assert "epoch 6, update 2, at a learning rate of" in (record.error or "")
    tensors, plain = checkpoint.read(folder / CHECKPOINT_FILE)
    assert (plain["phase"], plain["point"]["epoch"]) == (2, 5)  # type: ignore[index, call-overload]
    assert all(bool(value.isfinite().all()) for value in tensors.values() if value.is_floating_point())
    assert without_times(run_spec(SPEC, tmp_path / "runs", resume=True, execution=ONE).record) == whole


def test_a_real_rate_that_is_far_too_high(tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match="stopped being a number in phase 1"):
        run_spec(SPEC.model_copy(update={"lr": 1e30}), tmp_path, execution=ONE)
    assert read_record(next(tmp_path.iterdir()) / RECORD_FILE).status == "failed"


def test_retry_goes_back_and_halves_the_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_above(monkeypatch, 0.0003)  # the rate of epoch 6 is 0.1 times 0.1 twice: 0.001, then 0.0005, then 0.00025
    record = run_spec(SPEC, tmp_path, execution=ONE, on_divergence="retry").record
    assert (record.status, record.error, len(record.phases)) == ("finished", None, 2)
    rates = [retry.rate for retry in record.retries]
    assert [(retry.phase, retry.epoch) for retry in record.retries] == [(2, 6)] * len(rates)
    assert len(rates) >= 1 and all(one == pytest.approx(2 * other) for one, other in itertools.pairwise(rates))
    assert read_record(next(tmp_path.iterdir()) / RECORD_FILE).retries == record.retries


def test_it_does_not_retry_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_above(monkeypatch, 0.0, phase=1, epoch=0)
    with pytest.raises(DivergedError):
        run_spec(SPEC, tmp_path, execution=ONE, on_divergence="retry")
    record = read_record(next(tmp_path.iterdir()) / RECORD_FILE)
    assert (record.status, len(record.retries)) == ("failed", MOST_RETRIES)
    stopped = after_divergence(record.model_copy(update={"retries": []}), DivergedError("here", 1, 2, 0.5), "retry")
    assert stopped.retries == [Retry(phase=1, epoch=1, update=2, rate=0.5)]


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(ClassgrowError, match="choose stop or retry"):
        check_wishes(False, False, "pray", None)
    with pytest.raises(ClassgrowError, match="needs a run in one process"):
        check_wishes(False, False, "retry", Execution(threads=1, processes=2))
