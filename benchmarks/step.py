"""(a) Images per second of each method's training step, against a plain reference loop and the GEMM peak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
PRODUCT = "matrix product"
BATCHES = 4
SIZES = (1024, 2048, 3072)
LIMIT = 270.0
"""Seconds after which no further round begins, unless the number of rounds is given."""
REFERENCES: dict[str, dict[str, Any]] = {
    "reference, 2 forwards": {"forwards": 2},
    "reference, 1 forward": {"forwards": 1},
    "reference, no teacher": {"forwards": 1, "teacher": False},
}


def measure(rounds: int | None = None, only: Sequence[str] = (), say: Callable[[str], None] = print) -> dict[str, Any]:
    """The step of every method, or of those in `only`, with a line for each as it is timed; FGP's also compiled.

    Unless `rounds` says how many there are, it ends after five of them or as many as fit into five minutes.
    """
    images = BATCHES * 128
    trainings = {f"{name}, eager": trained(name, images, compiled=False) for name in only or METHODS}
    if "fgp, eager" in trainings:
        trainings["fgp, compiled"] = trained("fgp", images, compiled=True)
    against = {name: reference_for(name, training) for name, training in trainings.items()}
    work: dict[str, Callable[[], object]] = {
        name: ReferenceLoop(images, **how).epoch for name, how in REFERENCES.items() if name in against.values()
    }
    against |= dict.fromkeys(work, next(iter(work)))
    flops = {name: step_flops(training) for name, training in trainings.items()}
    work |= {name: epoch_of(training) for name, training in trainings.items()}
    product, operations = fastest_product()
    timings = take_turns(
        work | {PRODUCT: product},
        rounds or 5,
        heard=lambda turn: say(turn.line(0 if turn.name == PRODUCT else images)),
        limit=LIMIT if rounds is None else float("inf"),
    )
    products = timings.pop(PRODUCT)
    rows = []
    for name, timing in timings.items():
        share = flops[name] * BATCHES / operations * products.over(timing) if name in flops else ""
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
    found = {"rows": rows, "rounds": len(products.seconds), "gemm_gflops": operations / products.median / 1e9}
    return found | ({"gflop_per_fgp_image": flops["fgp, eager"] / 128 / 1e9} if "fgp, eager" in flops else {})


def reference_for(name: str, training: Training) -> str:
    """The plain loop that does the same: FGP as it was released forwards the student twice."""
    if name.startswith("fgp,"):
        return "reference, 2 forwards"
    return "reference, no teacher" if training.teacher is None else "reference, 1 forward"


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
