"""Where and how things run: device, threads, processes, compiled or not. Decided once per run and stored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from classgrow.engine.allocator import keep_freed_memory
from classgrow.engine.compiled import CompiledBackbones
from classgrow.engine.group import Group, join
from classgrow.engine.place import cores, here
from classgrow.errors import ClassgrowError

Precision = Literal["float32", "bfloat16"]
PrecisionWish = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True)
class Execution:
    """The choices that a resumed run must repeat to get the same bits. `threads` are those of each process."""

    device: str = "cpu"
    threads: int = 1
    processes: int = 1
    compiled: bool = False
    precision: Precision = "float32"
    """In which the backbone computes while it trains; weights, head and losses are always float32."""

    @property
    def is_mixed(self) -> bool:
        """Whether the backbone computes in another precision than its weights have."""
        return self.precision != "float32"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def decide(device: str = "auto", threads: int | None = None, compiled: bool = False, processes: int = 1) -> Execution:
    """Choose a device (cuda, then mps, then cpu) and the number of threads; several processes share the cores."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if not is_available(device):
        raise unknown_device(device)
    if processes > 1 and device not in ("cpu", "cuda"):
        raise ClassgrowError(f"Several processes train on cpu or cuda, not on {device}: give `device` = cpu.")
    share = torch.get_num_threads() if processes == 1 else max(1, cores() // here().local_processes)
    return Execution(device, threads or share, processes, compiled, precision_of(device))


def precision_of(device: str) -> Precision:
    """What a device computes in unless told otherwise; of processors only a measurement tells (`engine/probe.py`)."""
    # bfloat16 needs no scaling of losses, unlike float16; where it is only imitated it would be slow.
    native = torch.device(device).type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if native else "float32"


def unknown_device(device: str) -> ClassgrowError:
    return ClassgrowError(f"The device {device!r} is not available here: choose `device` = auto or cpu.")


def is_available(device: str) -> bool:
    """Whether this machine has such a device."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        return False
    return True


def is_there(device: str) -> bool:
    """The same without touching it: a process that only hands out work must not occupy a GPU."""
    kind = device.partition(":")[0]
    known = {"auto": True, "cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return known.get(kind, False)


_threaded_in: set[int] = set()
"""The processes that computed with several threads: a process forked from one has its threads' locks, but not them."""


def refuse_forked(execution: Execution) -> None:
    """A forked process would wait for ever for threads that it does not have."""
    if execution.threads < 2 or execution.device != "cpu":
        return
    if _threaded_in and os.getpid() not in _threaded_in:
        raise ClassgrowError(
            "This process was forked from one that had computed with several threads, and would hang: start it by "
            "multiprocessing's method spawn, or compute with one thread."
        )
    _threaded_in.add(os.getpid())


class Runtime:
    """Carries out an `Execution`."""

    def __init__(self, execution: Execution | None = None) -> None:
        self.execution = execution or decide()
        self.device = torch.device(self.execution.device)
        if self.processes > 1 and self.device.type == "cuda":
            self.device = torch.device("cuda", here().local_rank)
        self.compiled = CompiledBackbones()
        if self.device.type == "cpu":
            keep_freed_memory()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, torch computes with this runtime's threads; afterwards with as many as before.

        Torch has one number of threads for the whole process: two learners each get their own while they work.
        """
        refuse_forked(self.execution)
        before = torch.get_num_threads()
        if before != self.execution.threads:
            torch.set_num_threads(self.execution.threads)
        try:
            yield
        finally:
            if before != self.execution.threads:
                torch.set_num_threads(before)

    @cached_property
    def group(self) -> Group:
        """The processes of this run; joined when first needed."""
        return join(self.processes, self.device.type)

    @cached_property
    def rank(self) -> int:
        return here().rank if self.processes > 1 else 0

    @property
    def processes(self) -> int:
        return self.execution.processes

    @property
    def dtype(self) -> torch.dtype | None:
        """What a backbone computes in; None: in what its weights are."""
        return torch.bfloat16 if self.execution.is_mixed else None

    def precision(self) -> AbstractContextManager[Any]:
        """Inside, a backbone computes in the run's precision; weights and gradients are not stored so."""
        return torch.autocast(self.device.type, self.dtype) if self.dtype else nullcontext()

    def sums_over_processes(self, counts: Sequence[Tensor | float]) -> Sequence[Tensor | float]:
        """The sum of each count over all processes, in one exchange."""
        if self.processes == 1 or not counts:
            return counts
        mine = [torch.as_tensor(count, dtype=torch.float64, device=self.device) for count in counts]
        return list(self.group.sum(torch.stack(mine)))

    def mean_over_processes(self, value: Tensor) -> Tensor:
        """The mean of what each process has."""
        return value if self.processes == 1 else self.group.sum(value) / self.processes
