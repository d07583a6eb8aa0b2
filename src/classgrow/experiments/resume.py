"""How a stopped run is executed when it resumes, perhaps on another machine."""

from __future__ import annotations

from dataclasses import replace

from classgrow.engine.compiled import Compile, compiler_found
from classgrow.engine.runtime import Execution, is_available
from classgrow.progress import Progress


def resume_execution(earlier: Execution, requested: Execution, wish: Compile, progress: Progress) -> Execution:
    """As the run started, except for what this machine lacks or the user rules out; any difference is reported."""
    result = earlier
    if earlier.processes != requested.processes:  # threads and device change with it
        progress.say(f"The run was started by {earlier.processes} processes and resumes with {requested.processes}.")
        result = replace(requested, compiled=earlier.compiled and requested.device != "mps")
    elif not is_available(earlier.device):
        progress.say(
            f"The run was started on {earlier.device}, which is not available here: it resumes on {requested.device}."
        )
        result = replace(requested, compiled=earlier.compiled and requested.device != "mps")
    elif (earlier.device, earlier.threads) != (requested.device, requested.threads):
        progress.say(f"The run resumes as it started: on {earlier.device}, threads: {earlier.threads}.")
    if result.compiled and wish == "off":
        progress.say("The run resumes without being compiled.")
        return replace(result, compiled=False)
    if not result.compiled and wish == "on":
        progress.say("The run resumes as it started, not compiled.")
    if result.compiled and result.device == "cpu" and not compiler_found():
        progress.say("No working C++ compiler was found: the run resumes without being compiled.")
        return replace(result, compiled=False)
    return result
