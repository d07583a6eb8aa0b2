"""How a run that was stopped is executed when it goes on, perhaps elsewhere."""

from __future__ import annotations

from dataclasses import replace

from classgrow.engine.compiled import Compile, compiler_found
from classgrow.engine.runtime import Execution, is_available
from classgrow.progress import Progress


def gone_on(begun: Execution, asked: Execution, wish: Compile, progress: Progress) -> Execution:
    """How a run goes on: as it was begun, but for what this machine lacks or the user forbids; any difference is
    said."""
    result = begun
    if begun.processes != asked.processes:  # another way to execute: threads and device come with it
        progress.say(f"The run was begun by {begun.processes} processes and goes on with {asked.processes}.")
        result = replace(asked, compiled=begun.compiled and asked.device != "mps")
    elif not is_available(begun.device):
        progress.say(f"The run was begun on {begun.device}, which is not here: it goes on on {asked.device}.")
        result = replace(asked, compiled=begun.compiled and asked.device != "mps")
    elif (begun.device, begun.threads) != (asked.device, asked.threads):
        progress.say(f"The run goes on as it was begun: on {begun.device}, threads: {begun.threads}.")
    if result.compiled and wish == "off":
        progress.say("The run goes on without being compiled.")
        return replace(result, compiled=False)
    if not result.compiled and wish == "on":
        progress.say("The run goes on as it was begun, not compiled.")
    if result.compiled and result.device == "cpu" and not compiler_found():
        progress.say("No working C++ compiler was found: the run goes on without being compiled.")
        return replace(result, compiled=False)
    return result
