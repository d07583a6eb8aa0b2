"""How a run that was stopped is executed when it goes on, perhaps elsewhere."""

from __future__ import annotations

from dataclasses import replace

from classgrow.engine.compiled import Compile, compiler_found
from classgrow.engine.probe import Step
from classgrow.engine.runtime import Execution, PrecisionWish, is_available
from classgrow.experiments.execution import NOT_HERE, computes_in_bfloat16
from classgrow.progress import Progress


def gone_on(
    begun: Execution, asked: Execution, wish: Compile, precision: PrecisionWish, step: Step, progress: Progress
) -> Execution:
    """How a run goes on: as it was begun, but for what this machine lacks or the user forbids; any difference is
    said."""
    result = begun
    if begun.processes != asked.processes:  # another way to execute: threads and device come with it
        progress.say(f"The run was begun by {begun.processes} processes and goes on with {asked.processes}.")
        result = replace(asked, compiled=begun.compiled and asked.device != "mps", precision=begun.precision)
    elif not is_available(begun.device):
        progress.say(f"The run was begun on {begun.device}, which is not here: it goes on on {asked.device}.")
        result = replace(asked, compiled=begun.compiled and asked.device != "mps", precision=begun.precision)
    elif (begun.device, begun.threads) != (asked.device, asked.threads):
        progress.say(f"The run goes on as it was begun: on {begun.device}, threads: {begun.threads}.")
    if result.is_mixed and not computes_in_bfloat16(result.device, step):
        progress.say(NOT_HERE.format("goes on"))
        result = replace(result, precision="float32")
    elif precision not in ("auto", result.precision):
        progress.say(f"The run goes on as it was begun, in {result.precision}.")
    if result.compiled and wish == "off":
        progress.say("The run goes on without being compiled.")
        return replace(result, compiled=False)
    if not result.compiled and wish == "on":
        progress.say("The run goes on as it was begun, not compiled.")
    if result.compiled and result.device == "cpu" and not compiler_found():
        progress.say("No working C++ compiler was found: the run goes on without being compiled.")
        return replace(result, compiled=False)
    return result
