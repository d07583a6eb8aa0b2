"""How long runs will take on this machine: from a few training steps, measured once and kept."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import torch

from classgrow.checkpoint import write_atomically
from classgrow.data.catalogue import DATASETS
from classgrow.data.labelled import LabelledImages
from classgrow.disk import read_regular
from classgrow.engine.loop import Training, make_optimiser
from classgrow.engine.runtime import Runtime, decide
from classgrow.errors import ClassgrowError
from classgrow.experiments.outline import Outline
from classgrow.methods import build_method
from classgrow.networks.catalogue import build_backbone
from classgrow.networks.fused import for_evaluation
from classgrow.networks.network import Network, channels_last, feature_count
from classgrow.presets import PRESETS, PresetName
from classgrow.progress import Silent
from classgrow.recipes import Schedule
from classgrow.records.environment import hardware, versions
from classgrow.records.record import RECORD_FILE, read_record
from classgrow.seeds import generator, seeded
from classgrow.specs.training import Asked, resolve_training
from classgrow.state import frozen_copy
from classgrow.views import ClassCounts

SPEED_FILE = "speed.json"
BATCH: dict[PresetName, int] = {"digits": 32, "cifar": 64, "imagenet": 8}
STEPS = 4
"""Measured steps, of which the fastest counts: others may have been disturbed, and the first also sets things up."""
ALONE = 0.75
"""A step without a teacher: forward and backward are three parts, the teacher's forward is the fourth."""


def step_seconds(preset: PresetName) -> float:
    """Seconds for one image in a training step of FGP with a teacher (two forward passes, one backward)."""
    method, batch, facts = build_method("fgp"), BATCH[preset], DATASETS[PRESETS[preset].benchmark]
    assert facts.shape is not None
    height, width, channels = facts.shape
    setup = resolve_training(Asked(preset), facts, facts.shape, method.name, method.recipe)
    draws = generator(1, "speed")
    images = torch.randint(0, 256, (batch, height, width, channels), dtype=torch.uint8, generator=draws)
    data = LabelledImages.from_arrays(images, torch.arange(batch) % 20, [str(label) for label in range(20)])
    with seeded(1, "speed"):
        backbone = build_backbone(setup.network, channels, method.last_relu)
        network = Network(backbone, method.head.build(feature_count(backbone)))
        network.head.grow(10)
        teacher = for_evaluation(frozen_copy(network))
        network.head.grow(10)
    runtime = Runtime(decide())
    training = Training(
        network=channels_last(network.to(runtime.device)),
        teacher=channels_last(teacher.to(runtime.device)),
        data=data,
        objective=method.objectives[0],
        schedule=Schedule(1, 0.01, (), 1.0),
        recipe=replace(setup.recipe, batch_size=batch),
        inputs=setup.inputs,
        counts=ClassCounts(10, 10),
        blocks=(10, 10),
        runtime=runtime,
        seed=1,
        place=("speed",),
    )
    optimiser = make_optimiser(network, setup.recipe)
    seconds = []
    with runtime.active():
        for step in range(STEPS):
            started = time.perf_counter()
            training.epoch(optimiser, step, Silent())
            seconds.append(time.perf_counter() - started)
    return min(seconds) / batch


def speeds(presets: Iterable[PresetName], output: Path) -> dict[PresetName, float]:
    """Seconds per image for the network of each preset: from runs recorded on this machine, else from the output
    folder if measured here before, else measured now and kept there if that folder exists."""
    machine = {"cpu": hardware().cpu, "cores": hardware().cores, "torch": versions().torch}
    machine["device"] = decide().device
    known: dict[PresetName, float] = {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(read_regular(output / SPEED_FILE, 2**20))
        known = content["seconds_per_image"] if content["machine"] == machine else {}
    known |= recorded_speeds(output)
    missing = [preset for preset in dict.fromkeys(presets) if preset not in known]
    for preset in missing:
        known[preset] = step_seconds(preset)
    if missing and output.is_dir():
        with suppress(OSError, ClassgrowError):
            content = {"machine": machine, "seconds_per_image": known}
            write_atomically(output / SPEED_FILE, json.dumps(content, indent=1).encode())
    return known


def recorded_speeds(output: Path) -> dict[PresetName, float]:
    """What runs below `output` took on this machine, with the threads and processes that a new one would have, from
    their second phase on; the median of all such phases. Runs with a network of their own say nothing."""
    usual = decide()
    rates: dict[str | None, list[float]] = {}
    for path in sorted(output.glob(f"*/{RECORD_FILE}")):
        with suppress(ClassgrowError):  # a broken record says nothing
            record = read_record(path)
            how = record.execution
            same = (how.device, how.threads, how.processes) == (usual.device, usual.threads, 1)
            if same and record.hardware.cpu == hardware().cpu and not record.resolved.network:
                given = [phase.images_per_second for phase in record.phases[1:] if phase.images_per_second]
                rates.setdefault(record.resolved.kind, []).extend(given)
    return {preset: 1 / statistics.median(rates[preset]) for preset in PRESETS if rates.get(preset)}


def training_seconds(run: Outline, speed: dict[PresetName, float], phases_done: int = 0) -> float:
    """The training that is left in a run, in seconds; the first phase has no teacher."""
    images = sum(run.images[phases_done:])
    spared = (1 - ALONE) * run.images[0] if phases_done == 0 else 0.0
    return speed[run.preset] * run.relative_cost * (images - spared)
