"""What a run does where its loss stops being a number: it stops and says so, or goes back and halves the rate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar, get_args

from classgrow.engine.group import Group
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError, DivergedError
from classgrow.progress import Progress
from classgrow.records.record import Record, Retry, read_record, write_record

Result = TypeVar("Result")
OnDivergence = Literal["stop", "retry"]
MOST_RETRIES = 5
"""A thirty-second of the rate: what does not learn then has another fault."""


def check_wishes(resume: bool, again: bool, wish: str, execution: Execution | None) -> None:
    """Refuses wishes that contradict each other; several processes would have to go back together."""
    if resume and again:
        raise ClassgrowError("`resume` goes on with a run and `again` starts it afresh: give one of them.")
    if wish not in get_args(OnDivergence):
        raise ClassgrowError(f"`on_divergence` = {wish!r} does not fit: choose stop or retry.")
    if wish == "retry" and execution is not None and execution.processes > 1:
        raise ClassgrowError("`on_divergence` = retry needs a run in one process: leave out `processes`.")


def retrying(
    attempt: Callable[[Record], Result],
    file: Path,
    record: Record,
    wish: OnDivergence,
    group: Group,
    progress: Progress,
) -> Result:
    """What `attempt` gives, again where a training went wrong and that is asked for; else the record says it failed."""
    while True:
        try:
            return attempt(record)
        except DivergedError as error:
            if not group.is_first:
                raise
            record = after_divergence(read_record(file), error, wish)
            write_record(record, file)
            if record.status == "failed":
                raise
            progress.say(
                f"A learning rate of {error.rate:.6g} was too high: every rate is halved, from the checkpoint on."
            )


def after_divergence(record: Record, error: DivergedError, wish: OnDivergence) -> Record:
    """The record as failed, or with one retry more."""
    if wish == "stop" or len(record.retries) >= MOST_RETRIES:
        return record.model_copy(update={"status": "failed", "error": str(error)})
    retry = Retry(phase=len(record.phases) + 1, epoch=error.epoch, update=error.update, rate=error.rate)
    return record.model_copy(update={"retries": [*record.retries, retry]})
