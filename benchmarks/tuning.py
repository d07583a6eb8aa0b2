"""Trials of short schedules on class order 1 of CIFAR-100, tried on training images held out; no test image is read.

`python -m benchmarks.tuning TRIALS.json OUT.jsonl` runs each trial that has no line in OUT yet. A trial is a dict:
`method`, `phase` (2 goes on from the first phase of the trial named by `after`), `epochs`, `batch`, `peak`; at will
also `decay`, `shape`, `warm_up`, `bn`, `brightness`, `precision`, `seed`, `fine` (epochs and peak of a balanced stage).
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from classgrow import Learner
from classgrow.data.catalogue import load
from classgrow.data.labelled import LabelledImages
from classgrow.data.scenario import Scenario
from classgrow.engine.runtime import Execution
from classgrow.inputs import inputs_for
from classgrow.methods import build_method
from classgrow.presets import CIFAR_COLOURS
from classgrow.recipes import RECIPES, Schedule, method_options
from classgrow.specs.orders import resolve_order

HELD_OUT = 100
"""Training images of every class that are tried on instead of test images: the last ones."""


def parted(images: LabelledImages) -> tuple[LabelledImages, LabelledImages]:
    """What is trained on, and what is held out."""
    last = torch.zeros(len(images), dtype=torch.bool)
    for label in torch.unique(images.labels).tolist():
        last[torch.nonzero(images.labels == label)[-HELD_OUT:, 0]] = True
    return images.select(~last), images.select(last)


def learner_for(trial: dict[str, Any]) -> Learner:
    """A learner whose every schedule is the trial's."""
    method = build_method(trial["method"], **{**method_options(trial["method"], "cifar"), **trial.get("options", {})})
    own = RECIPES[method.recipe]["cifar"]
    schedule = Schedule(
        trial["epochs"], trial["peak"], (), 1.0, trial.get("shape", "linear"), trial.get("warm_up", 0.1)
    )
    fine = trial.get("fine")
    recipe = replace(
        own,
        first=schedule,
        later=schedule,
        fine_tune=replace(schedule, epochs=fine[0], lr=fine[1]) if fine else None,
        batch_size=trial["batch"],
        weight_decay=trial.get("decay", own.weight_decay),
        later_batch_norm_momentum=trial.get("bn", own.later_batch_norm_momentum),
    )
    inputs = inputs_for("cifar", (32, 32, 3), CIFAR_COLOURS)
    inputs = replace(inputs, brightness=trial.get("brightness", inputs.brightness))
    execution = Execution(threads=1, precision=trial.get("precision", "bfloat16"))
    return Learner(
        method,
        memory=trial.get("memory", 2000),
        preset="cifar",
        recipe=recipe,
        inputs=inputs,
        total_classes=100,
        seed=trial.get("seed", 1),
        execution=execution,
        progress=None,
    )


def main(trials: Path, out: Path) -> None:
    dataset = load("cifar100")
    scenario = Scenario.make(resolve_order("1", len(dataset.classes)), 10, 10)
    done = {json.loads(line)["name"] for line in out.read_text().splitlines()} if out.exists() else set()
    for name, trial in json.loads(trials.read_text()).items():
        if name in done:
            continue
        started = time.perf_counter()
        learner = learner_for(trial)
        phases = [parted(scenario.train(dataset, number)) for number in range(1, trial["phase"] + 1)]
        kept = out.parent / f"{trial.get('after', name)}.pt"
        if trial["phase"] > 1:
            saved = torch.load(kept, weights_only=True)
            learner.prepare((32, 32, 3)).unpack(*saved)
        log = learner.learn_phase(phases[-1][0])
        if trial["phase"] == 1:
            torch.save(learner.state.pack(), kept)
        found = {}
        right: dict[str, list[torch.Tensor]] = {}
        for _, held in phases:
            for rule, predicted in learner.predictions(held).items():
                right.setdefault(rule, []).append((predicted == held.labels).double())
        for rule, hits in right.items():
            parts = [round(100 * float(part.mean()), 1) for part in hits]
            found[rule] = [round(100 * float(torch.cat(hits).mean()), 1), *parts]
        row = {"name": name, **found, "images": log.images, "seconds": round(time.perf_counter() - started), **trial}
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
