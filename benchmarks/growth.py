"""(c) Seconds per training image over 20 phases, as classes and memory grow; also drawn."""

from __future__ import annotations

import resource
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.situation import images_of
from classgrow.data.catalogue import DATASETS
from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.memory import TRAIN
from classgrow.specs.training import inputs_of

PHASES, STEP, PER_CLASS, MEMORY = 20, 5, 60, 600


def measure(picture: Path = Path("benchmarks_growth.png")) -> dict[str, Any]:
    """FGP on noise, 5 classes a phase, one epoch: what is timed does not depend on what is learned."""
    learner = Learner(
        "fgp",
        memory=MEMORY,
        inputs=inputs_of(DATASETS["cifar100"], (32, 32, 3)),
        total_classes=PHASES * STEP,
        epochs=1,
        execution=Execution(threads=torch.get_num_threads()),
    )
    rows = []
    for phase in range(PHASES):
        started = time.perf_counter()
        log = learner.learn_phase(images_of(phase * STEP, STEP, PER_CLASS))
        rows.append(
            {
                "phase": phase + 1,
                "classes": (phase + 1) * STEP,
                "exemplars": learner.state.memory.count(TRAIN),
                "training images": log.images,
                "ms per image": 1000 * log.train_seconds / log.images,
                "after the phase, s": log.remember_seconds,
                "phase, s": time.perf_counter() - started,
                "peak memory so far, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            }
        )
    later = [float(row["ms per image"]) for row in rows[1:]]
    draw(rows, picture)
    third = len(later) // 3
    drift = statistics.median(later[-third:]) / statistics.median(later[:third])
    return {"rows": rows, "last third over first third": drift}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12.5, 3.2), layout="constrained")
    classes = [row["classes"] for row in rows]
    axes[0].plot(classes, [row["ms per image"] for row in rows], "o-", color="tab:red")
    axes[0].set(xlabel="Number of classes", ylabel="Training, ms per image", ylim=(0, None))
    axes[1].plot(classes, [row["phase, s"] for row in rows], "o-", label="whole phase")
    axes[1].plot(classes, [row["after the phase, s"] for row in rows], "s-", label="selecting exemplars")
    axes[1].set(xlabel="Number of classes", ylabel="Seconds", ylim=(0, None))
    axes[1].legend(frameon=False)
    axes[2].plot(classes, [row["exemplars"] for row in rows], "o-", color="tab:green", label="exemplars")
    axes[2].set(xlabel="Number of classes", ylabel="Images kept")
    held = axes[2].twinx()
    held.plot(classes, [row["peak memory so far, GB"] for row in rows], "s-", color="0.5", label="peak memory so far")
    held.set(ylabel="GB", ylim=(0, None))
    lines = [*axes[2].get_lines(), *held.get_lines()]
    axes[2].legend(lines, [str(line.get_label()) for line in lines], frameon=False, loc="lower right")
    for one in (*axes, held):
        one.set_ylim(0, 1.12 * one.get_ylim()[1])
    for one in axes:
        one.grid(axis="y", linestyle="--", color="0.8")
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
