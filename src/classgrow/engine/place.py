"""Which process this is among those of a run, as torchrun's environment tells. Needs no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from classgrow.errors import ClassgrowError

TIMEOUT = "CLASSGROW_TIMEOUT"
TIMEOUT_SECONDS = 600.0
"""How long a process waits for the others before it gives up, unless the variable CLASSGROW_TIMEOUT says otherwise."""


@dataclass(frozen=True)
class Place:
    """`rank` of `processes` in the whole run, `local_rank` of `local_processes` on this machine."""

    rank: int = 0
    processes: int = 1
    local_rank: int = 0
    local_processes: int = 1

    def as_environment(self, address: str, port: int) -> dict[str, str]:
        """The variables that torchrun sets for such a process."""
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.processes),
            "LOCAL_RANK": str(self.local_rank),
            "LOCAL_WORLD_SIZE": str(self.local_processes),
            "MASTER_ADDR": address,
            "MASTER_PORT": str(port),
        }


def here(environment: Mapping[str, str] = os.environ) -> Place:
    """This process's place; alone where the environment names no others."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= environment.keys():
        return Place()
    try:
        rank, processes = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        local_rank = int(environment.get("LOCAL_RANK", rank))
        local_processes = int(environment.get("LOCAL_WORLD_SIZE", processes))
    except ValueError as error:
        raise ClassgrowError(f"RANK, WORLD_SIZE and the like must be whole numbers ({error}): unset them.") from None
    return Place(rank, processes, local_rank, local_processes) if processes > 1 else Place()


def timeout_seconds(environment: Mapping[str, str] = os.environ) -> float:
    """How long to wait for another process."""
    text = environment.get(TIMEOUT, str(TIMEOUT_SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ClassgrowError(f"{TIMEOUT} must be a number of seconds, not {text!r}: set it to 600, say.")
    return seconds


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
