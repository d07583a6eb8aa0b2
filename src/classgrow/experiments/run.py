"""Run a spec: from settings to a record, phase by phase, with a checkpoint to resume from."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classgrow.checkpoint import CheckpointFile
from classgrow.data.catalogue import load
from classgrow.data.labelled import Dataset
from classgrow.data.scenario import Scenario
from classgrow.engine.compiled import Compile
from classgrow.engine.group import Group, join, reporting_lost_processes
from classgrow.engine.resident import resident
from classgrow.engine.runtime import Execution, PrecisionWish, decide
from classgrow.errors import ClassgrowError
from classgrow.experiments.divergence import OnDivergence, check_wishes, retrying
from classgrow.experiments.evaluation import evaluate
from classgrow.experiments.execution import chosen_execution, step_of
from classgrow.experiments.first_phase import (
    FirstPhase,
    agreed_checkpoint,
    begin_first_phase,
    checkpoint_for,
    first_phase_of,
)
from classgrow.experiments.lock import only_one
from classgrow.experiments.ownership import learn_again, refuse_other_classes, refuse_other_run
from classgrow.experiments.plan import budget_of, method_of, network_of, resolved_for
from classgrow.experiments.resume import resume_execution
from classgrow.experiments.run_folder import CHECKPOINT_FILE, claim_folder, clear_folder
from classgrow.experiments.start import make_learner, new_record, now
from classgrow.json_values import JsonDict
from classgrow.learner import Learner
from classgrow.learner.phases import saved_phase
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.progress import Progress, Silent
from classgrow.records import record as records
from classgrow.records.folder import run_dir
from classgrow.records.record import RECORD_FILE, Record, read_record, write_record
from classgrow.specs.spec import ResolvedSpec, Spec, identity, phases_to_run


@dataclass(frozen=True)
class Run:
    """A spec with its data, ready to go."""

    spec: Spec
    resolved: ResolvedSpec
    dataset: Dataset
    scenario: Scenario
    folder: Path

    @property
    def phases(self) -> int:
        return phases_to_run(self.spec, self.resolved)


@dataclass(frozen=True)
class Outcome:
    """What `run_spec` leaves: the record, where it lies, and whether it was there already."""

    record: Record
    folder: Path
    already_finished: bool = False


def prepare(
    spec: Spec, output: Path, data_dir: Path | None = None, progress: Progress | None = None, strict: bool = False
) -> Run:
    """Load the data and fill the gaps; everything that can be wrong with a spec is said here."""
    build_method(spec.method, **spec.options)  # what is wrong with it is said before any image is read
    dataset = load(spec.dataset, data_dir, progress, strict)
    resolved = resolved_for(spec, len(dataset.classes), dataset.train.shape, dataset.fingerprint)
    phases_to_run(spec, resolved)
    network_of(resolved)  # of another package, perhaps, and broken
    check_memory(method_of(resolved), resolved)
    return Run(spec, resolved, dataset, Scenario(resolved.order, resolved.sizes), run_dir(output, identity(resolved)))


def run_spec(
    spec: Spec,
    output: Path,
    data_dir: Path | None = None,
    *,
    resume: bool = False,
    again: bool = False,
    strict: bool = False,
    execution: Execution | None = None,
    compile: Compile = "auto",
    precision: PrecisionWish = "auto",
    on_divergence: OnDivergence = "stop",
    share_first_phase: bool = False,
    progress: Progress | None = None,
    ready: Callable[[Run, Record], None] = lambda run, record: None,
    after_phase: Callable[[Record], None] = lambda record: None,
    after_run: Callable[[Learner, Record], None] | None = None,
) -> Outcome:
    """Run a spec, or go on with it; a run that is finished is left as it is, unless it is to run `again`.

    `on_divergence`: where a loss stops being a number, "retry" goes back to the last checkpoint and halves the rate.
    `strict` refuses a folder of images with files that would be skipped. `compile` and `precision` are decided as the
    run begins: "auto" measures what is faster, where the training is long enough for that to pay. `share_first_phase`
    takes over the first phase from another run below `output` that trained the very same, and keeps its own for
    others; with `again` it is trained anew. `ready` hears of the run once, before training; `after_phase` of the record
    each time a phase was added; `after_run` of the learner at the end, also where the run was finished before.
    Of several processes only the first holds the folder, writes and reports.
    """
    check_wishes(resume, again, on_divergence, execution)
    execution = execution or decide()
    group = join(execution.processes, execution.device)
    reporter = (progress or Silent()) if group.is_first else Silent()
    with reporting_lost_processes(group.count), ExitStack() as held:
        run = group.prepared(lambda: prepare(spec, output, data_dir, reporter, strict))
        group.agreed(f"{identity(run.resolved)} {run.resolved.data} {run.phases}", "other settings or other data")

        def begin() -> Record:
            claim_folder(run.folder)
            held.enter_context(only_one(run.folder))
            clear_folder(run.folder, reporter, again)
            return open_record(run, resume, execution, (compile, precision), reporter)

        record = group.decided(begin)
        finished, learner = len(record.phases) >= run.phases, None
        if not finished:
            if group.is_first:
                ready(run, record)
            first = held.enter_context(first_phase_of(run, record, reporter)) if share_first_phase else None
            learner, record = retrying(
                lambda now: carry_out(run, now, group, reporter, after_phase, first, again),
                *(run.folder / RECORD_FILE, record, on_divergence, group, reporter),
            )
        if after_run is not None and group.is_first:
            after_run(learner or finished_learner(run, record, reporter), record)
        group.finish()
        return Outcome(record, run.folder, already_finished=finished)


def open_record(
    run: Run, resume: bool, execution: Execution, wishes: tuple[Compile, PrecisionWish], progress: Progress
) -> Record:
    """The record to continue, written as running; a finished one as it is."""
    record = existing_record(run)
    if record is not None:
        refuse_other_run(run, record)
    if record is not None and record.resolved.data != run.resolved.data:
        raise ClassgrowError(
            f"The run in {run.folder} was made from other images than those in the data folder now: "
            "bring back the same files, or choose another `output`."
        )
    if record is not None and len(record.phases) >= run.phases:
        return record
    if record is not None and not resume:
        raise ClassgrowError(
            f"This run was started before ({len(record.phases)} of {run.phases} phases, {run.folder}): "
            "give `resume` to go on with it, or `again` to start it afresh."
        )
    if record is None:
        record = new_record(run, chosen_execution(run, execution, *wishes, progress))
    else:
        earlier = Execution(**record.execution.model_dump())
        current = resume_execution(earlier, execution, *wishes, step_of(run, execution), progress)
        record = record.model_copy(update={"execution": records.Execution(**current.as_json())})
    record = record.model_copy(
        update={
            "phases_planned": run.phases,
            "status": "running",
            "error": None,
            "finished": None,
            "spec": run.spec,
            "unread_spec": None,
        }
    )
    write_record(record, run.folder / RECORD_FILE)
    return record


def check_memory(method: Method, resolved: ResolvedSpec) -> None:
    """The memory must last to the final phase, held-out images included: said before any training."""
    budget = budget_of(resolved, method)
    if budget and method.held_out:
        budget.held_out_quota(resolved.total_classes, method.held_out)


def carry_out(
    run: Run,
    record: Record,
    group: Group,
    progress: Progress,
    after_phase: Callable[[Record], None],
    first: FirstPhase | None = None,
    again: bool = False,
) -> tuple[Learner, Record]:
    """The phases that are left, each recorded as soon as it ends; the learner at the end."""
    first = None if record.retries else first  # a phase that was trained at half the rate is nobody else's
    learner = make_learner(run, record, progress)
    dataset = resident(run.dataset, learner.runtime.device)
    file = checkpoint_of(run, progress)
    checkpoint = checkpoint_for(file, first) if group.is_first else None
    saved = agreed_checkpoint(file.read, group)
    done = len(record.phases)
    if saved is not None and not done and saved_phase(saved[1])["phase"] > 1:
        progress.say("The checkpoint belongs to a record that is gone: the run starts again.")
        saved = None
    if done and (saved is None or saved_phase(saved[1])["phase"] > done + 1):
        wrong = "is missing" if saved is None else "is of another phase than its record"
        raise ClassgrowError(f"The checkpoint in {run.folder} {wrong}: start afresh with `again`.")
    if saved is not None:
        refuse_other_classes(run, saved[1])
        if learn_again(learner, run.scenario, dataset, checkpoint, saved, done):
            saved = None
    if not done:
        saved, record = begin_first_phase(run, record, saved, first, group, progress, again)
    for phase in range(done + 1, run.phases + 1):
        started = time.perf_counter()
        data = run.scenario.train(dataset, phase)
        if saved is not None and saved_phase(saved[1])["phase"] == phase:
            started -= seconds_before(saved[1])
            log = learner.resume_phase(data, checkpoint, saved)
        else:
            if saved is not None:
                learner.restore(data.shape, *saved)
            log = learner.learn_phase(data, checkpoint)
        saved = None
        learned = time.perf_counter() - started
        result, confusion = evaluate(learner, run.scenario.test(dataset, phase), log, learned)
        record = record.with_phase(result, confusion)
        if phase == run.phases:
            record = record.model_copy(update={"status": "finished", "finished": now()})
        if group.is_first:
            write_record(record, run.folder / RECORD_FILE)
            after_phase(record)
    if group.is_first:
        file.earlier.unlink(missing_ok=True)
    return learner, record


def checkpoint_of(run: Run, progress: Progress) -> CheckpointFile:
    """The run's checkpoint, which says whose it is."""
    owner: JsonDict = {"identity": run.folder.name, "data": run.resolved.data}
    return CheckpointFile(run.folder / CHECKPOINT_FILE, run=owner, say=progress.say)


def finished_learner(run: Run, record: Record, progress: Progress) -> Learner:
    """The learner of a run that is finished, from its last checkpoint."""
    saved = checkpoint_of(run, progress).read()
    if saved is None or saved[1]["phase"] != len(record.phases):
        raise ClassgrowError(f"The checkpoint of the finished run in {run.folder} is gone: run it `again`.")
    learner = make_learner(run, record, progress)
    learner.restore(run.dataset.train.shape, *saved)
    return learner


def seconds_before(checkpoint: dict[str, Any]) -> float:
    """What a phase had taken when its checkpoint was made."""
    log, point = checkpoint["log"], checkpoint["point"] or {}
    return float(log["train_seconds"] + log["remember_seconds"] + point.get("seconds", 0.0))


def existing_record(run: Run) -> Record | None:
    """The record of an earlier start of the same run."""
    path = run.folder / RECORD_FILE
    return read_record(path) if path.exists() else None
