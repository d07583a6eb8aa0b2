"""What a run starts with: its learner, and a record without phases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from classgrow.engine.runtime import Execution
from classgrow.experiments.describe import own_numbers, rule_records
from classgrow.experiments.plan import method_of
from classgrow.learner import Learner
from classgrow.progress import Progress
from classgrow.recipes import Recipe
from classgrow.records import record as records
from classgrow.records.environment import code, hardware, versions
from classgrow.records.record import Record

if TYPE_CHECKING:
    from classgrow.experiments.run import Run


def make_learner(run: Run, record: Record, progress: Progress) -> Learner:
    """The learner a resolved spec describes, executed as the record says."""
    resolved = run.resolved
    return Learner(
        method_of(resolved),
        memory=resolved.memory,
        memory_per_class=resolved.memory_per_class,
        recipe=slowed(resolved.recipe, len(record.retries)),
        inputs=resolved.inputs,
        preset=resolved.kind,
        network=resolved.network or None,
        total_classes=resolved.total_classes,
        seed=resolved.seed,
        selection=resolved.selection if resolved.selection != "herding" else None,
        execution=Execution(**record.execution.model_dump()),
        progress=progress,
    )


def slowed(recipe: Recipe, halvings: int) -> Recipe:
    """The recipe after so many trainings that went wrong: every rate is halved each time."""
    return recipe.starting_at(recipe.first.lr / 2**halvings) if halvings else recipe


def new_record(run: Run, execution: Execution) -> Record:
    """A record with no phase yet."""
    method, resolved = method_of(run.resolved), run.resolved
    classes = [run.dataset.classes[number] for number in resolved.order]
    return Record(
        identity=run.folder.name,
        spec=run.spec,
        resolved=resolved,
        own=own_numbers(resolved, run.dataset.train.shape),
        method=records.MethodRecord(
            name=method.name,
            formula=method.formula,
            steps=[str(step) for step in method.steps],
            rules=rule_records(method),
        ),
        code=code(),
        numerics=resolved.numerics,
        seed=resolved.seed,
        class_ids=[label.id for label in classes],
        class_names=[label.name for label in classes],
        phase_sizes=list(resolved.sizes),
        headline=method.rule.name,
        phases_planned=run.phases,
        execution=records.Execution(**execution.as_json()),
        versions=versions(),
        hardware=hardware(),
        started=now(),
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
