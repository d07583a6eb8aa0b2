"""A learner in the middle of a CIFAR-100 run, made without training it: random weights cost the same time."""

from __future__ import annotations

import torch

from classgrow.data.catalogue import DATASETS
from classgrow.data.labelled import ArrayStore, ClassLabel, LabelledImages
from classgrow.engine.loop import Training
from classgrow.engine.runtime import Execution, Precision
from classgrow.learner import Learner
from classgrow.specs.training import inputs_of
from classgrow.steps import Phase, Train


def images_of(first: int, classes: int, per_class: int) -> LabelledImages:
    """Noise with labels first, first + 1, ..."""
    draw = torch.Generator().manual_seed(first)
    pixels = torch.randint(0, 256, (classes * per_class, 32, 32, 3), dtype=torch.uint8, generator=draw)
    labels = torch.arange(first, first + classes).repeat_interleave(per_class)
    names = tuple(ClassLabel(number, f"class {number}") for number in range(first + classes))
    return LabelledImages(ArrayStore(pixels), torch.arange(len(pixels)), labels, names)


def learner_at(
    method: str,
    old: int,
    new: int,
    per_class: int,
    memory: int = 2000,
    compiled: bool = False,
    precision: Precision = "float32",
) -> tuple[Learner, LabelledImages]:
    """A learner that knows `old` classes (exemplars included) and has just grown rows for `new` ones."""
    learner = Learner(
        method,
        memory=memory,
        inputs=inputs_of(DATASETS["cifar100"], (32, 32, 3)),
        total_classes=100,
        execution=Execution(threads=torch.get_num_threads(), compiled=compiled, precision=precision),
    )
    state = learner.prepare((32, 32, 3))
    everyone = tuple(ClassLabel(number, f"class {number}") for number in range(old + new))
    state.classes, state.sizes = everyone[:old], (old,)
    state.network.head.grow(old)
    if learner.method.keeps_memory:
        kept = images_of(0, old, memory // old)
        ranks = torch.arange(memory // old).repeat(old)
        state.memory.add(kept.read(torch.arange(len(kept))), kept.labels, ranks)
    state.snapshot_teacher()
    state.classes, state.sizes = everyone, (old, new)
    state.network.head.grow(new)
    return learner, images_of(old, new, per_class)


def training_of(learner: Learner, data: LabelledImages) -> Training:
    """The main training of the learner's method on this data, as its step sets it up."""
    step = next(step for step in learner.method.steps if isinstance(step, Train))
    return step.training(learner.state, phase_of(learner, data))


def phase_of(learner: Learner, data: LabelledImages) -> Phase:
    """The phase the learner is in."""
    return Phase(data, learner.recipe, learner.inputs, learner.runtime, seed=1, number=2)
