"""The FGP step in float32 and bfloat16, eager and compiled, and its teacher alone: how much faster each is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from benchmarks.situation import images_of, learner_at, training_of
from benchmarks.step import epoch_of
from benchmarks.timing import take_turns
from classgrow.engine.loop import Training
from classgrow.engine.runtime import Precision

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
IMAGES = 256


def measure(rounds: int = 7) -> dict[str, Any]:
    """Every way in turn; ratios are against float32, eager (the teacher's: against itself in float32)."""
    work: dict[str, Callable[[], object]] = {}
    against: dict[str, str] = {}
    for precision in PRECISIONS:
        for compiled in (False, True):
            name = f"fgp, {precision}, {'compiled' if compiled else 'eager'}"
            training = trained(precision, compiled)
            work[name], against[name] = epoch_of(training), "fgp, float32, eager"
        name = f"teacher, {precision}"
        work[name], against[name] = forward_of(training), "teacher, float32"
    timings = take_turns(work, rounds, warm_up=2)
    rows = [
        {
            "step": name,
            "images/s": IMAGES / timing.median,
            "low": IMAGES / timing.high,
            "high": IMAGES / timing.low,
            "x float32": timings[against[name]].over(timing),
        }
        for name, timing in timings.items()
    ]
    return {"rows": rows}


def trained(precision: Precision, compiled: bool) -> Training:
    """FGP's second phase, ten old classes and ten new ones, on `IMAGES` images an epoch."""
    learner, data = learner_at("fgp", 10, 10, per_class=10, memory=160, compiled=compiled, precision=precision)
    training = training_of(learner, data)
    return replace(training, data=training.data.select(torch.arange(IMAGES)))


def forward_of(training: Training) -> Callable[[], object]:
    """The teacher's forward pass over as many images, in batches of 128."""
    images = images_of(0, 1, IMAGES).read(torch.arange(IMAGES)).permute(0, 3, 1, 2).float() / 255
    teacher = training.teacher
    assert teacher is not None

    @torch.no_grad()
    def forward() -> None:
        for batch in images.split(128):
            training.answers(teacher, teacher.backbone, batch)

    return forward
