"""How a stopped run is executed when it resumes, perhaps on another machine."""

from __future__ import annotations

from dataclasses import replace

from classgrow.engine.compiled import Compile, compiler_found
from classgrow.engine.probe import Step
from classgrow.engine.runtime import Execution, PrecisionWish, is_available
from classgrow.experiments.execution import NOT_HERE, computes_in_bfloat16
from classgrow.progress import Progress


def resume_execution(
    earlier: Execution, requested: Execution, wish: Compile, precision: PrecisionWish, step: Step, progress: Progress
) -> Execution:
    """As the run started, except for what this machine lacks or the user rules out; any difference is reported."""
    result = earlier
    elsewhere = replace(requested, compiled=earlier.compiled and requested.device != "mps", precision=earlier.precision)
    if earlier.processes != requested.processes:  # threads and device change with it
        progress.say(f"The run was started by {earlier.processes} processes and resumes with {requested.processes}.")
        result = elsewhere
    elif not is_available(earlier.device):
        progress.say(
            f"The run was started on {earlier.device}, which is not available here: it resumes on {requested.device}."
        )
        result = elsewhere
    elif (earlier.device, earlier.threads) != (requested.device, requested.threads):
        progress.say(f"The run resumes as it started: on {earlier.device}, threads: {earlier.threads}.")
    if result.is_mixed and not computes_in_bfloat16(result.device, step):
        progress.say(NOT_HERE.format("resumes"))
        result = replace(result, precision="float32")
    elif precision not in ("auto", result.precision):
        progress.say(f"The run resumes as it started, in {result.precision}.")
    if result.compiled and wish == "off":
        progress.say("The run resumes without being compiled.")
        return replace(result, compiled=False)
    if not result.compiled and wish == "on":
        progress.say("The run resumes as it started, not compiled.")
    if result.compiled and result.device == "cpu" and not compiler_found():
        progress.say("No working C++ compiler was found: the run resumes without being compiled.")
        return replace(result, compiled=False)
    return result
