"""(a) Images per second of each method's training step, against a plain reference loop and the GEMM peak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.reference import ReferenceLoop
from benchmarks.situation import learner_at, training_of
from benchmarks.timing import take_turns
from classgrow.engine.loop import Training, make_optimiser
from classgrow.progress import Silent

METHODS = ("fgp", "icarl", "eeil", "bic", "lucir", "mnemonics", "finetune", "replay", "lwf", "joint")
BATCHES = 4
SIZES = (1024, 2048, 3072)


def measure(rounds: int = 5) -> dict[str, Any]:
    """Every method's step, compiled as a long run would be; FGP also eager."""
    images = BATCHES * 128
    work: dict[str, Callable[[], object]] = {
        "reference, 2 forwards": ReferenceLoop(images, forwards=2).epoch,
        "reference, 1 forward": ReferenceLoop(images, forwards=1).epoch,
        "reference, no teacher": ReferenceLoop(images, forwards=1, teacher=False).epoch,
        "fgp, eager": epoch_of(trained("fgp", images, compiled=False)),
    }
    flops = {"fgp, eager": step_flops(trained("fgp", images, compiled=False))}
    against = dict.fromkeys(work, "reference, 1 forward") | {"fgp, eager": "reference, 2 forwards"}
    for name in METHODS:
        training = trained(name, images, compiled=True)
        work[name], flops[name] = epoch_of(training), step_flops(training)
        against[name] = "reference, no teacher" if training.teacher is None else "reference, 1 forward"
    against["fgp"] = "reference, 2 forwards"
    work["matrix product"], operations = fastest_product()
    timings = take_turns(work, rounds, warm_up=2)
    product = timings.pop("matrix product")
    rows = []
    for name, timing in timings.items():
        share = flops[name] * BATCHES / operations * product.over(timing) if name in flops else ""
        rows.append(
            {
                "loop": name,
                "images/s": images / timing.median,
                "low": images / timing.high,
                "high": images / timing.low,
                "x reference": timings[against[name]].over(timing),
                "share of GEMM peak": share,
            }
        )
    peak = operations / product.median / 1e9
    return {"rows": rows, "gemm_gflops": peak, "gflop_per_fgp_image": flops["fgp"] / 128 / 1e9}


def trained(method: str, images: int, compiled: bool) -> Training:
    """The method's training on `images` images: ten old classes, ten new ones."""
    learner, data = learner_at(method, old=10, new=10, per_class=50, compiled=compiled)
    training = training_of(learner, data)
    some = torch.randperm(len(training.data), generator=torch.Generator().manual_seed(0))[:images]
    some = some.repeat(-(-images // len(some)))[:images]
    return replace(training, data=training.data.select(some))


def epoch_of(training: Training) -> Callable[[], float]:
    optimiser = make_optimiser(training.network, training.recipe)
    for group in optimiser.param_groups:
        group["lr"] = 0.001
    return lambda: training.epoch(optimiser, 0, Silent())


def step_flops(training: Training) -> float:
    """Floating-point operations of one batch of 128: student forward and backward, teacher forward."""
    images = torch.randn(16, 3, 32, 32)
    with FlopCounterMode(display=False) as counter:
        if training.teacher is not None:
            with torch.no_grad():
                training.network.backbone.eval()(images)  # as large as the teacher's, and not fused
        training.network.train()(images).logits.sum().backward()
    training.network.zero_grad()
    return counter.get_total_flops() * 128 / 16


def fastest_product() -> tuple[Callable[[], object], float]:
    """The large float32 matrix product that reaches the highest rate here, and its operations.

    It then takes turns with what is measured against it, for about as long, so that a machine that slows down slows
    both.
    """
    products = {size: partial(torch.matmul, torch.randn(size, size), torch.randn(size, size)) for size in SIZES}
    seconds = {size: take_turns({"": product}, rounds=5)[""].low for size, product in products.items()}
    best = max(SIZES, key=lambda size: size**3 / seconds[size])
    times = max(1, round(2 / seconds[best]))
    return lambda: [products[best]() for _ in range(times)], 2.0 * best**3 * times
