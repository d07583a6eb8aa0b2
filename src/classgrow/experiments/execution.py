"""How a new run is executed: its precision, and whether its step is compiled. Decided once and stored in its record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from classgrow.engine.compiled import Compile, decide_compile
from classgrow.engine.probe import Step, compiling_saves, faster_precision, is_measured, runs_in_bfloat16
from classgrow.engine.runtime import Execution, Precision, PrecisionWish, precision_of
from classgrow.experiments.plan import network_of, planned_images
from classgrow.progress import Progress

if TYPE_CHECKING:
    from classgrow.experiments.run import Run

NOT_HERE = "This machine does not compute in bfloat16: the run {} in float32."


def chosen_execution(
    run: Run, execution: Execution, compile: Compile, precision: PrecisionWish, progress: Progress
) -> Execution:
    """`execution` with what was wished for, or with what is faster here where the training is long enough to tell."""
    repaid_after, images = network_of(run.resolved).repaid_after, sum(planned_images(run))
    is_long = repaid_after is not None and images >= repaid_after
    step = step_of(run, execution)
    if is_long and execution.device == "cpu" and precision == "auto" and not is_measured(step):
        progress.say("Measuring whether bfloat16 makes the training faster here; the answer is kept for later runs.")
    chosen = decide_precision(precision, execution, step, is_long)
    if precision == "bfloat16" and chosen != "bfloat16":
        progress.say(NOT_HERE.format("computes"))
    compiled, problem = decide_compile(
        compile, repaid_after, images, execution.device, lambda: compiling_saves(step, chosen, images)
    )
    if problem:
        progress.say(problem)
    return replace(execution, compiled=compiled, precision=chosen)


def decide_precision(wish: PrecisionWish, execution: Execution, step: Step, is_long: bool) -> Precision:
    """Of a GPU one knows; a processor is tried. What `execution` brings with it is kept unless float32 is asked for."""
    if wish == "float32":
        return "float32"
    if wish == "bfloat16":
        return "bfloat16" if computes_in_bfloat16(execution.device, step) else "float32"
    if execution.device == "cpu" and not execution.is_mixed and is_long:
        return faster_precision(step)
    return execution.precision


def computes_in_bfloat16(device: str, step: Step) -> bool:
    """Whether the step can be computed in bfloat16 there."""
    return runs_in_bfloat16(step) if device == "cpu" else precision_of(device) == "bfloat16"


def step_of(run: Run, execution: Execution) -> Step:
    """A step of the run as one of its processes computes it."""
    resolved = run.resolved
    images = -(-resolved.recipe.batch_size // execution.processes)
    network, inputs = network_of(resolved).name, resolved.inputs
    return Step(network, inputs.size, inputs.channels, images, execution.threads)
