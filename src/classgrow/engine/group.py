"""The processes of one run, and how they communicate. A process alone is a group of one, which sends nothing.

Whatever is decided is decided once, by the first process, and sent to the others: no two can keep different exemplars.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, distributed

from classgrow.engine.place import Place, here, timeout_seconds
from classgrow.errors import ClassgrowError, LostProcessError, ReportedElsewhereError

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

T = TypeVar("T")
Tensors = dict[str, Tensor]

JOIN_SECONDS = 300.0
"""How long the first waits for the others to start, however short the timeout is."""
LOOK_SECONDS = 0.2
"""Between two checks whether another process is prepared."""
BEAT_SECONDS = 5.0
"""Seconds between two signs of life of a process that prepares; four within a shorter timeout."""
SIGNS = ("gloo", "nccl", "connection", "timed out", "timeout", "broken pipe", "socket")
"""Words in error messages of the network between processes."""


class Group:
    """`count` processes of which this is number `rank`. Every method is called by all of them, in the same order."""

    def __init__(self, place: Place | None = None, store: Store | None = None) -> None:
        self.place = place or Place()
        self.rank, self.count = self.place.rank, self.place.processes
        self._store = store
        self._preparations = 0

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.count > 1:
            values = values.clone()
            distributed.all_reduce(values)
        return values

    def gather(self, rows: Tensor, sizes: Sequence[int]) -> Tensor:
        """The rows of all processes, in their order; `sizes`: how many each has. Padding is cut off again."""
        if self.count == 1:
            return rows
        padded = rows.new_zeros((max(sizes), *rows.shape[1:]))
        padded[: sizes[self.rank]] = rows[: sizes[self.rank]]
        everyone = [torch.empty_like(padded) for _ in sizes]
        distributed.all_gather(everyone, padded)
        return torch.cat([one[:size] for one, size in zip(everyone, sizes, strict=True)])

    def decided(self, make: Callable[[], T]) -> T:
        """What the first process makes, sent to all. An error a user can fix ends them all and is reported once."""
        if self.count == 1:
            return make()
        answer: tuple[T] | str = ""
        if self.is_first:
            try:
                answer = (make(),)
            except ClassgrowError as error:
                self._broadcast(str(error))
                raise
        answer = self._broadcast(answer)
        if isinstance(answer, str):
            raise ReportedElsewhereError(answer)
        return answer[0]

    def agreed(self, value: str, what: str) -> None:
        """All processes must hold the same `value`; where one differs, all end, and the first says which."""
        if self.count == 1:
            return
        mine = hashlib.blake2b(value.encode(), digest_size=8).digest()
        digest = torch.frombuffer(bytearray(mine), dtype=torch.uint8).reshape(1, -1)
        everyone = self.gather(digest, [1] * self.count)
        other = next((rank for rank in range(self.count) if not torch.equal(everyone[rank], everyone[0])), None)
        if other is None:
            return
        problem = f"Process {other + 1} of {self.count} has {what} than the first: start all with the same."
        raise ClassgrowError(problem) if self.is_first else ReportedElsewhereError(problem)

    def same(self, tensors: Tensors, plain: T) -> tuple[Tensors, T, bool]:
        """The first process's tensors (on the CPU) and plain values, and whether this process had different ones.

        Only tensors that some process has not are sent, one at a time.
        """
        if self.count == 1:
            return tensors, plain, False
        mine = {name: outline(value) for name, value in tensors.items()}
        theirs, received = self._broadcast((mine, plain))
        lacking = [mine.get(name) != wanted for name, wanted in theirs.items()]
        wanted_by = self.sum(torch.tensor(lacking, dtype=torch.int64)).tolist() if lacking else []
        result: Tensors = {}
        for (name, (dtype, shape, _)), lacks, wanted in zip(theirs.items(), lacking, wanted_by, strict=True):
            value = torch.empty(shape, dtype=dtype) if lacks else tensors[name].contiguous()
            if wanted and value.numel():
                distributed.broadcast(as_bytes(value), 0)
            result[name] = value
        return result, received, any(lacking) or mine.keys() != theirs.keys() or received != plain

    def prepared(self, make: Callable[[], T]) -> T:
        """What every process makes for itself, the first one first (the others then find its work in a cache).

        It may take as long as it takes: only the death of the process waited for, or its silence, ends the waiting.
        """
        if self.count == 1:
            return make()
        self._preparations += 1
        with self._heartbeat():
            if not self.is_first:
                self._wait_for(0)
            try:
                made = make()
            except ClassgrowError as error:
                self._say(str(error))
                raise
            self._say("")
            for rank in range(self.count):
                self._wait_for(rank)
        return made

    def finish(self) -> None:
        """Wait until all processes get here."""
        if self.count > 1:
            distributed.barrier()

    # --- details -----------------------------------------------------------------------------------------------------

    def _broadcast(self, value: T) -> T:
        box = [value]  # the others' own is replaced
        distributed.broadcast_object_list(box, 0, device=torch.device("cpu"))
        return box[0]

    def _key(self, word: str, rank: int) -> str:
        return f"{word}/{self._preparations}/{rank}"

    def _say(self, problem: str) -> None:
        assert self._store is not None
        self._store.set(self._key("prepared", self.rank), problem or "ready")

    def _wait_for(self, rank: int) -> None:
        store = self._store
        assert store is not None
        key, beats, heard = self._key("prepared", rank), -1, time.monotonic()
        while not answered(lambda: store.check([key])):  # waiting in the store has a limit, and warns
            time.sleep(LOOK_SECONDS)
            counted = answered(lambda: store.add(self._key("alive", rank), 0))
            if counted != beats:
                beats, heard = counted, time.monotonic()
            elif time.monotonic() - heard > timeout_seconds():
                raise lost_process()
        problem = store.get(key).decode()
        if problem != "ready":
            raise ReportedElsewhereError(problem)

    @contextmanager
    def _heartbeat(self) -> Iterator[None]:
        """Meanwhile a thread counts in the store: it stops with the process, not with the work of the process."""
        store, key, over = self._store, self._key("alive", self.rank), threading.Event()
        assert store is not None

        def beat() -> None:
            with suppress(RuntimeError):  # the store is gone, and the run with it
                while not over.wait(min(BEAT_SECONDS, timeout_seconds() / 4)):
                    store.add(key, 1)

        threading.Thread(target=beat, daemon=True).start()
        try:
            yield
        finally:
            over.set()


def answered(ask: Callable[[], T]) -> T:
    """What the store answers. It never answers when the process that holds it is stopped."""
    answers: queue.SimpleQueue[tuple[T] | RuntimeError] = queue.SimpleQueue()

    def put() -> None:
        try:
            answers.put((ask(),))
        except RuntimeError as error:
            answers.put(error)

    threading.Thread(target=put, daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_seconds())
    except queue.Empty:
        raise lost_process() from None
    if isinstance(answer, RuntimeError):
        raise answer
    return answer[0]


def outline(value: Tensor) -> tuple[torch.dtype, tuple[int, ...], bytes]:
    """Type, shape and a digest of the values."""
    digest = hashlib.blake2b(as_bytes(value.contiguous()).numpy().data, digest_size=16).digest()
    return value.dtype, tuple(value.shape), digest


def as_bytes(value: Tensor) -> Tensor:
    """A contiguous tensor's memory as uint8: any type can travel so."""
    return value.reshape(-1).view(torch.uint8)


_joined: Group | None = None


def join(processes: int, device: str = "cpu") -> Group:
    """The group of this process's run, joined once: torch knows one group per process."""
    global _joined
    if processes == 1:
        return Group()
    place = here()
    if place.processes != processes:
        raise ClassgrowError(
            f"This run is meant for {processes} processes and was started as {place.processes}: "
            f"give `processes` = {processes}, or let torchrun start {processes} processes."
        )
    if _joined is None:
        with reporting_lost_processes(processes):
            _joined = Group(place, _connected(place, device))
        atexit.register(leave)
    return _joined


def _connected(place: Place, device: str) -> Store:
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    limit = timedelta(seconds=timeout_seconds())
    store, rank, processes = next(rendezvous("env://", timeout=max(limit, timedelta(seconds=JOIN_SECONDS))))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")  # torchrun keeps its store when it starts us again
    store = PrefixStore(f"attempt {attempt}", store)
    backend = "gloo"
    if device == "cuda":
        backend = "cpu:gloo,cuda:nccl"  # values travel by gloo, gradients by nccl
        torch.cuda.set_device(place.local_rank)
    distributed.init_process_group(
        backend, store=PrefixStore("group", store), rank=rank, world_size=processes, timeout=limit
    )
    return store


def leave() -> None:
    """Leave the group; a process that ends does so by itself."""
    global _joined
    if _joined is not None and distributed.is_initialized():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            distributed.destroy_process_group()
    _joined = None


@contextmanager
def reporting_lost_processes(processes: int) -> Iterator[None]:
    """Errors of the network between processes, inside, become one sentence: another process is gone or stuck."""
    try:
        yield
    except RuntimeError as error:
        if processes == 1 or not _is_of_the_network(error):
            raise
        raise lost_process() from error


def lost_process() -> LostProcessError:
    return LostProcessError(
        "Another process of this run stopped answering (it ended, or was silent for "
        f"{timeout_seconds():g} seconds): see what it said, then go on with the run (`resume`)."
    )


def _is_of_the_network(error: RuntimeError) -> bool:
    if isinstance(error, distributed.DistError):
        return True
    text = str(error).lower()
    return any(sign in text for sign in SIGNS)
