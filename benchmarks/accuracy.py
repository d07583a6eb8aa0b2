"""Time to the authors' accuracy: FGP's first two phases of CIFAR-100 with the fast profile, against the plain loop.

The plain loop is not trained: its seconds are the images of 70 epochs divided by its measured images per second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.reference import ReferenceLoop
from benchmarks.timing import take_turns
from classgrow.engine.runtime import decide
from classgrow.errors import ClassgrowError
from classgrow.experiments.run import run_spec
from classgrow.progress import Silent
from classgrow.records.environment import hardware
from classgrow.records.record import Record, read_record
from classgrow.specs.spec import Spec

AUTHORS = (0.850, 0.748)
"""The authors' accuracies by nearest mean after phases 1 and 2 (class order 0, memory 2,000)."""
WITHIN = 0.01
EPOCHS = 70
SPEC = Spec(
    dataset="cifar100", method="fgp", profile="fast", memory=2000, first=10, step=10, order="0", seed=1, phases=2
)
IMAGES = 1280
"""Images the plain loop is timed on: ten batches, as starting its reader takes time too."""
RUNS = Path("benchmark-runs")


@dataclass(frozen=True)
class Phase:
    """One phase, ours and theirs: `images` are gone over, repetitions counted."""

    number: int
    wanted: float
    reached: float
    our_images: int
    our_seconds: float
    reference_images: int

    @property
    def is_reached(self) -> bool:
        """Within a point of the authors; the sum is not exact in floating point."""
        return self.reached >= self.wanted - WITHIN - 1e-9


def measure(
    rounds: int = 3,
    record: Path | None = None,
    spec: Spec = SPEC,
    rates: Mapping[int, float] | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Trains, or takes a finished `record`, then times the plain loop; one row a phase and the ratio of the seconds.

    `rates` are the plain loop's images per second in phases 1 and 2, where they need not be measured.
    """
    ours = trained(spec, say) if record is None else taken(record, say)
    phases = phases_of(ours)
    rates = rates or reference_rates(ours.execution.threads, rounds, say)
    return outcome(phases, rates)


def outcome(phases: list[Phase], rates: Mapping[int, float]) -> dict[str, Any]:
    """The arithmetic. `ratio` is None where a phase missed the authors' accuracy."""
    rows = []
    for phase in phases:
        rows.append(
            {
                "phase": phase.number,
                "authors %": 100 * phase.wanted,
                "ours %": 100 * phase.reached,
                "within a point": "yes" if phase.is_reached else "no",
                "our images": phase.our_images,
                "our seconds": phase.our_seconds,
                "reference images": phase.reference_images,
                "reference images/s": rates[phase.number],
                "reference seconds": phase.reference_images / rates[phase.number],
            }
        )
    ours = sum(phase.our_seconds for phase in phases)
    theirs = sum(phase.reference_images / rates[phase.number] for phase in phases)
    all_reached = all(phase.is_reached for phase in phases)
    return {
        "rows": rows,
        "our_seconds": ours,
        "reference_seconds": theirs,
        "ratio": theirs / ours if all_reached else None,
    }


def phases_of(record: Record) -> list[Phase]:
    """The first two phases of a record, by the rule that answers."""
    if len(record.phases) < len(AUTHORS):
        raise SystemExit(f"The record has {len(record.phases)} of the {len(AUTHORS)} phases that are compared.")
    found = []
    for wanted, phase in zip(AUTHORS, record.phases, strict=False):
        result, recipe = phase.rules[record.headline], record.resolved.recipe
        epochs = (recipe.first if phase.phase == 1 else recipe.later).epochs
        reached = result.accuracy if result is not None and result.accuracy is not None else 0.0
        images = phase.training_images
        found.append(Phase(phase.phase, wanted, reached, images * epochs, phase.seconds.total, images * EPOCHS))
    return found


def trained(spec: Spec, say: Callable[[str], None]) -> Record:
    """A run below `benchmark-runs`, from the start or from where it was stopped."""
    say(f"Training {spec.method} on {spec.dataset} (profile {spec.profile}) below {RUNS}; or give a --record.")

    def after_phase(record: Record) -> None:
        done = record.phases[-1]
        say(f"phase {done.phase}: {done.seconds.total:.0f} s, {done.images_per_second or 0:.0f} images/s")

    execution = decide("cpu", torch.get_num_threads())
    return run_spec(spec, RUNS, resume=True, execution=execution, progress=Said(say), after_phase=after_phase).record


class Said(Silent):
    """Only what a run has to say."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say  # type: ignore[method-assign]


def taken(path: Path, say: Callable[[str], None]) -> Record:
    """A record, with a word on where its seconds come from."""
    try:
        record = read_record(path / "record.json" if path.is_dir() else path)
    except ClassgrowError as error:
        raise SystemExit(str(error)) from error
    how, here = record.execution, hardware().cpu
    say(
        f"Taken from {path}: {record.method.name} on {record.resolved.dataset}, profile {record.resolved.profile}, "
        f"trained on {record.hardware.cpu}, threads: {how.threads}, {how.precision}. The plain loop gets as many."
    )
    if record.hardware.cpu != here:
        say(f"This is another processor ({here}): the ratio compares two machines.")
    return record


def reference_rates(threads: int, rounds: int, say: Callable[[str], None]) -> dict[int, float]:
    """The plain loop's images per second: without a teacher in phase 1, with two forwards and a teacher in phase 2."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    loops = {1: ReferenceLoop(IMAGES, forwards=1, teacher=False), 2: ReferenceLoop(IMAGES, forwards=2)}
    work = {f"reference, phase {number}": loop.epoch for number, loop in loops.items()}
    timings = take_turns(work, rounds, warm_up=0, heard=lambda turn: say(turn.line(IMAGES)))
    torch.set_num_threads(before)
    return {number: IMAGES / timings[f"reference, phase {number}"].median for number in loops}
