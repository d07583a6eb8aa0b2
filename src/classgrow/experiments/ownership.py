"""What lies in a run's folder must be the run's own, and a checkpoint older than the record is caught up with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classgrow.checkpoint import Checkpoint
from classgrow.data.labelled import Dataset
from classgrow.data.scenario import Scenario
from classgrow.errors import ClassgrowError
from classgrow.json_values import JsonDict
from classgrow.learner import Learner
from classgrow.learner.phases import Saved, saved_phase
from classgrow.records.record import Record
from classgrow.specs.spec import identity

if TYPE_CHECKING:
    from classgrow.experiments.run import Run


def refuse_other_run(run: Run, record: Record) -> None:
    """A record with another identity, by its word or by its settings, is never taken for this run's."""
    if record.identity != run.folder.name or identity(record.resolved) != identity(run.resolved):
        raise ClassgrowError(
            f"The record in {run.folder} belongs to another run ({record.identity}): put back this run's own, or "
            "choose another `output`."
        )


def refuse_other_classes(run: Run, values: JsonDict) -> None:
    """For checkpoints of versions that did not say which run they are of: their classes must be this run's."""
    plain = saved_phase(values)
    found = [number for number, _ in plain["state"]["classes"]]
    wanted = [run.dataset.classes[number].id for number in run.resolved.order[: len(found)]]
    if found != wanted or plain["state"]["sizes"] != list(run.resolved.sizes[: plain["phase"]]):
        raise ClassgrowError(
            f"The checkpoint in {run.folder} belongs to another run: put back this run's own, or start afresh with "
            "`again`."
        )


def learn_again(
    learner: Learner,
    scenario: Scenario,
    dataset: Dataset,
    checkpoint: Checkpoint | None,
    saved: Saved,
    done: int,
) -> bool:
    """Where the checkpoint is older than the end of phase `done`, learn up to there once more; whether it was.

    The results are in the record already, and come out the same: nothing is recorded twice.
    """
    begun = saved_phase(saved[1])["phase"]
    if begun > done or (begun == done and saved_phase(saved[1])["step"] >= len(learner.method.steps)):
        return False
    learner.resume_phase(scenario.train(dataset, begun), checkpoint, saved)
    for phase in range(begun + 1, done + 1):
        learner.learn_phase(scenario.train(dataset, phase), checkpoint)
    return True
