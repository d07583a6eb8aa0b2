"""Where and how things run: device, threads, processes, compiled or not. Decided once per run and stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from classgrow.engine.compiled import CompiledBackbones
from classgrow.errors import ClassgrowError


@dataclass(frozen=True)
class Execution:
    """The choices that a resumed run must repeat to get the same bits."""

    device: str = "cpu"
    threads: int = 1
    processes: int = 1
    compiled: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def decide(device: str = "auto", threads: int | None = None, compiled: bool = False) -> Execution:
    """Choose a device (cuda, then mps, then cpu) and the number of threads."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ClassgrowError(f"The device {device!r} is not available here: choose --device auto or cpu.") from error
    return Execution(device, threads or torch.get_num_threads(), compiled=compiled)


class Runtime:
    """Carries out an `Execution`."""

    def __init__(self, execution: Execution | None = None) -> None:
        self.execution = execution or decide()
        self.device = torch.device(self.execution.device)
        self.compiled = CompiledBackbones()
        if torch.get_num_threads() != self.execution.threads:
            torch.set_num_threads(self.execution.threads)

    @property
    def rank(self) -> int:
        return 0

    @property
    def processes(self) -> int:
        return self.execution.processes

    def sum_over_processes(self, value: Tensor | float) -> Tensor | float:
        """The sum of a count over all processes."""
        return value
