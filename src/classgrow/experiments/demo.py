"""The demonstration: the digits in five phases of two classes, a memory of 50 images, methods side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from classgrow.engine.runtime import Execution, PrecisionWish
from classgrow.experiments.run import Outcome, Run, run_spec
from classgrow.progress import Progress
from classgrow.records.record import Record
from classgrow.specs.spec import Spec

PAIR = ("fgp", "finetune")


def demo_specs(methods: Sequence[str], seeds: int, epochs: int | None = None) -> list[Spec]:
    """A spec for each method and each seed from 1 on; all else as the digits' protocol says."""
    return [
        Spec(dataset="digits", method=method, seed=seed, epochs=epochs)
        for method in methods
        for seed in range(1, seeds + 1)
    ]


def run_demo(
    output: Path,
    methods: Sequence[str] = PAIR,
    seeds: int = 1,
    *,
    epochs: int | None = None,
    execution: Execution | None = None,
    precision: PrecisionWish = "float32",
    progress: Progress | None = None,
    ready: Callable[[Run, Record], None] = lambda run, record: None,
    after_phase: Callable[[Record], None] = lambda record: None,
) -> list[Outcome]:
    """Run them one after another below `output`; finished ones are reused and stopped ones go on."""
    return [
        run_spec(
            spec,
            output,
            resume=True,
            execution=execution,
            precision=precision,
            progress=progress,
            ready=ready,
            after_phase=after_phase,
        )
        for spec in demo_specs(methods, seeds, epochs)
    ]


def by_method(outcomes: Sequence[Outcome]) -> dict[str, list[Record]]:
    """The records of each method, in the order they were run."""
    groups: dict[str, list[Record]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.record.method.name, []).append(outcome.record)
    return groups
