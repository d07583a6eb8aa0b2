"""(b) The work after a phase: selecting exemplars and class means, at 20, 50 and 100 classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from benchmarks.reference import PlainImages
from benchmarks.situation import images_of, learner_at, phase_of, training_of
from benchmarks.timing import Timing, take_turns
from classgrow.data.labelled import LabelledImages
from classgrow.engine.loop import make_optimiser
from classgrow.learner import Learner
from classgrow.learner.fitting import fit_rules
from classgrow.networks.resnet_cifar import resnet32
from classgrow.parts.selection import unit
from classgrow.progress import Silent
from classgrow.steps import Remember

PER_CLASS, NEW = 500, 10


def measure(rounds: int = 3) -> dict[str, Any]:
    rows = []
    a_class = images_of(0, 1, PER_CLASS)
    for seen in (20, 50, 100):
        learner, data = learner_at("fgp", old=seen - NEW, new=NEW, per_class=PER_CLASS)
        training = training_of(learner, data)
        optimiser = make_optimiser(training.network, training.recipe)
        epoch = take_turns({"epoch": lambda t=training, o=optimiser: t.epoch(o, 0, Silent())}, 1, warm_up=0)["epoch"]
        saved = learner.state.memory.tensors()
        work = {
            "ours": lambda a=learner, d=data, s=saved: after_phase(a, d, s),
            "new class": lambda n=seen: recompute(a_class, 2000 // n),
            "old class": lambda: recompute(a_class),
        }
        timings = take_turns(work, rounds)
        ours = timings["ours"]
        pairs = zip(timings["new class"].seconds, timings["old class"].seconds, strict=True)
        theirs = Timing(tuple(NEW * new + (seen - NEW) * old for new, old in pairs))
        rows.append(
            {
                "classes": seen,
                "seconds": ours.median,
                "low": ours.low,
                "high": ours.high,
                "share of an epoch": ours.median / epoch.median,
                "recomputing all classes": theirs.median,
                "x less": theirs.over(ours),
            }
        )
    return {"rows": rows}


def after_phase(learner: Learner, data: LabelledImages, memory: dict[str, torch.Tensor]) -> None:
    """Selection and means, from the same state each time."""
    learner.state.memory.restore(dict(memory))
    step = next(step for step in learner.method.steps if isinstance(step, Remember))
    phase = phase_of(learner, data)
    step.run(learner.state, phase)
    fit_rules(learner.state, learner.method.rules, learner.inputs, learner.runtime, fresh=phase.fresh)


# What the authors' code does: for every class seen it computes the features of all its images, plain and mirrored, each
# pass with a DataLoader of its own, and takes what it needs of them (for a new class, herding runs on the plain ones).
# Gradients are not switched off, so passes are recorded. Classes of a kind cost the same: one is timed and multiplied.


def recompute(data: LabelledImages, quota: int | None = None) -> None:
    """One class; with a `quota` it is new, and its exemplars are chosen."""
    plain, mirrored = (unit(plain_features(data, mirrored)) for mirrored in (False, True))
    if quota is not None:
        herd(plain, quota)
    (plain + mirrored).mean(0)


def herd(points: Tensor, quota: int) -> None:
    mean, direction, chosen = points.mean(0), points.mean(0), set[int]()
    for _ in range(1000):
        best = int((points @ direction).argmax())
        chosen.add(best)
        direction = direction + mean - points[best]
        if len(chosen) == quota:
            break


def plain_features(data: LabelledImages, mirrored: bool) -> Tensor:
    """One image at a time through Pillow in a DataLoader worker; NCHW, batch norm unfolded."""
    backbone = resnet32().eval()
    pixels = data.read(torch.arange(len(data))).numpy()
    images = PlainImages(pixels, np.zeros(len(pixels), int), augment=False, mirror=mirrored)
    return torch.cat([backbone(batch).detach() for batch, _ in DataLoader(images, batch_size=128, num_workers=1)])
