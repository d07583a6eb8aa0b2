"""What a run does where its loss stops being a number: it stops and says so, or goes back and halves the rate."""

from __future__ import annotations

from typing import Literal, get_args

from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError, DivergedError
from classgrow.records.record import Record, Retry

OnDivergence = Literal["stop", "retry"]
MOST_RETRIES = 5
"""A thirty-second of the rate: what does not learn then has another fault."""


def check_on_divergence(wish: str, execution: Execution | None) -> None:
    """Refuses what cannot be: several processes would have to go back together."""
    if wish not in get_args(OnDivergence):
        raise ClassgrowError(f"`on_divergence` = {wish!r} does not fit: choose stop or retry.")
    if wish == "retry" and execution is not None and execution.processes > 1:
        raise ClassgrowError("`on_divergence` = retry needs a run in one process: leave out `processes`.")


def after_divergence(record: Record, error: DivergedError, wish: OnDivergence) -> Record:
    """The record as failed, or with one retry more."""
    if wish == "stop" or len(record.retries) >= MOST_RETRIES:
        return record.model_copy(update={"status": "failed", "error": str(error)})
    retry = Retry(phase=len(record.phases) + 1, epoch=error.epoch, update=error.update, rate=error.rate)
    return record.model_copy(update={"retries": [*record.retries, retry]})
