"""Synthetic records whose numbers can be worked out in the head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classgrow.recipes import method_options, recipe_for
from classgrow.records.environment import versions
from classgrow.records.record import (
    RECORD_FILE,
    Code,
    Execution,
    Hardware,
    MethodRecord,
    Own,
    PhaseRecord,
    Record,
    RuleRecord,
    RuleResult,
    Seconds,
    write_record,
)
from classgrow.report.drawings import WEAKEST
from classgrow.specs.spec import Spec, identity, resolve

RECIPES = {"mnemonics": "lucir", "norm-icarl": "icarl", "finetune": "plain", "joint": "plain"}
Maker = Callable[..., Record]


def recipe_name(method: str) -> str:
    return RECIPES.get(method, "fgp" if method.startswith("fgp") else method)


def make_phase(
    number: int, sizes: Sequence[int], level: float, groups: Sequence[float] | None, exemplars: int, seconds: float
) -> PhaseRecord:
    """Phase `number` (from 0) of the run that `make_record` describes."""
    seen, last = sum(sizes[: number + 1]), len(sizes) - 1
    nearest = [min(1.0, level + 0.3 * (1 - number / last if last else 0))] * seen
    if groups is not None and number == last:
        nearest = [value for value, size in zip(groups, sizes, strict=True) for _ in range(size)]
    return PhaseRecord(
        phase=number + 1,
        classes_seen=seen,
        rules={
            "nearest": RuleResult(accuracy=None, per_class=nearest),
            "head": RuleResult(accuracy=None, per_class=[0.1] * seen),
        },
        test_counts=[100] * seen,
        exemplars=exemplars,
        training_images=5000,
        loss=0.5,
        seconds=Seconds(train=seconds, remember=0, evaluate=0, total=seconds),
        images_per_second=100.0,
    )


def make_record(
    method: str = "fgp",
    order: str = "0",
    level: float = 0.5,
    *,
    dataset: str = "cifar100",
    memory: int | None = 1000,
    first: int = 10,
    step: int = 10,
    epochs: int | None = None,
    classes: int | None = None,
    seed: int = 1,
    lr: float | None = None,
    options: dict[str, float] | None = None,
    groups: Sequence[float] | None = None,
    phases: int | None = None,
    seconds: float = 60.0,
    status: str = "finished",
    error: str | None = None,
) -> Record:
    """A run whose accuracy after phase j (from 0) is `level` + 0.3 for all classes at j = 0 and falls evenly to
    `level` at the end; or, with `groups`, whose classes of phase i have groups[i] after the last phase."""
    spec = Spec(
        dataset=dataset, method=method, memory=memory, first=first, step=step, order=order, epochs=epochs,
        classes=classes, seed=seed, lr=lr, options=options or {},
    )  # fmt: skip
    shape = (32, 32, 3) if dataset == "cifar100" else (224, 224, 3)
    resolved = resolve(spec, 100, recipe_name(method), shape, keeps_memory=method != "finetune")
    sizes = resolved.sizes
    done = range(len(sizes) if phases is None else phases)
    found = [make_phase(number, sizes, level, groups, memory or 0, seconds / len(sizes)) for number in done]
    hits = [100 * (value or 0) for value in (found[-1].per_class("nearest") or [])] if found else []
    right = [round(one) for one in hits] if all(abs(one - round(one)) < 1e-9 for one in hits) else []
    count = len(right)
    confusion = [
        [right[row] if row == column else (100 - right[row]) * (column == (row + 1) % count) for column in range(count)]
        for row in range(count)
    ]
    return Record(
        identity=identity(resolved),
        spec=spec,
        resolved=resolved,
        own=Own(recipe=recipe_for(resolved.recipe_name, resolved.kind), options=method_options(method, resolved.kind)),
        method=MethodRecord(
            name=method,
            formula="BCE(σ(a), y) & <more>",
            steps=["grow", "train"],
            rules=[
                RuleRecord(name="nearest", title="nearest class mean", formula="argmin"),
                RuleRecord(name="head", title="head", formula="argmax"),
            ],
        ),
        code=Code(version="0.1.0", commit="abc"),
        numerics=resolved.numerics,
        seed=seed,
        class_ids=list(resolved.order),
        class_names=[f"class {number}" for number in resolved.order],
        phase_sizes=list(sizes),
        headline="nearest",
        phases=found,
        confusion=confusion or None,
        status=status,  # type: ignore[arg-type]
        error=error,
        phases_planned=len(sizes),
        execution=Execution(device="cpu", threads=1),
        versions=versions(),
        hardware=Hardware(cpu="a processor", cores=2, memory_gb=8.0, machine="Linux x86_64"),
        started="2021-03-04T05:06:07+00:00",
        finished="2021-03-04T06:06:07+00:00",
    )


def write_all(records: Sequence[Record], folder: Path) -> Path:
    for record in records:
        write_record(record, folder / record.identity / RECORD_FILE)
    return folder


@pytest.fixture(scope="session")
def make() -> Maker:
    return make_record


@pytest.fixture(scope="session")
def write() -> Callable[[Sequence[Record], Path], Path]:
    return write_all


@pytest.fixture(scope="session")
def simulation() -> dict[str, Any]:
    """3 and 4 classes, two settings, three seeds; the angles are made up."""
    cases = []
    for classes in (3, 4):
        for head in ("rectified", "cosine"):
            for eta in ("learnable from 10", "fixed at 1"):
                directions = np.linspace(0, 2 * np.pi, classes, endpoint=False)
                points = np.stack([np.cos(directions), np.sin(directions)], axis=1)
                cases.append(
                    {
                        "classes": classes,
                        "head": head,
                        "eta": eta,
                        "seeds": 3,
                        "min_angles": [60.0, 90.0, 0.0] if head == "cosine" else [80.0, 90.0, 100.0],
                        "own_angles": [5.0, 7.0, 9.0],
                        "final_etas": [10.0, 20.0, 30.0],
                        "collapsed": 1 / 3 if head == "cosine" else 0.0,
                        "negative_bias": None if head == "cosine" else 1.0,
                        "drawn_points": (0.8 * points).tolist(),
                        "drawn_embeddings": (0.5 * points).tolist(),
                    }
                )
    return {"what": "", "step": 0.1, "iterations": 100, "collapsed_below_degrees": 5.0, "cases": cases}


@pytest.fixture(scope="session")
def mnist() -> dict[str, Any]:
    """Four images of two digits; the plain head's embedding mirrors the rectified one's."""
    points = np.arange(8.0).reshape(4, 2)
    scores = {"mean_angle": 80.0, "angle_within": 2.0, "separation": 40.0, "nearest_mean_accuracy": 0.9}
    one = {"rectified": points.tolist(), "cosine": (-points).tolist()}
    return {
        "epochs": 10,
        "seed": 1,
        "training_images": 60000,
        "labels": [0, 1, 0, 1],
        "scores": {"rectified": scores, "cosine": scores},
        "embeddings": {"raw": one, "unit": one},
    }


@pytest.fixture(scope="session")
def graph() -> dict[str, Any]:
    before = [[1.0, WEAKEST], [WEAKEST, 1.0], [0.5, 0.5], [0.3, 0.4]]
    return {
        "method": "fgp",
        "seed": 1,
        "epochs": 30,
        "old_classes": ["0", "1"],
        "new_classes": ["2", "3"],
        "labels": [0, 1, 2, 3],
        "images": np.zeros((4, 8, 8)).tolist(),
        "before": before,
        "after": [[value - 0.1 for value in row] for row in before],
    }
