"""Work on images in threads: decoding, resizing and checksums all let go of Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
MOST_THREADS = 16


def thread_count() -> int:
    """One thread per processor this process may use, 16 at most; the processes of a run on one machine share them."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    processes = os.environ.get("LOCAL_WORLD_SIZE", "1")  # as torchrun and classgrow's own launcher say
    return max(1, min(MOST_THREADS, available) // (int(processes) if processes.isdecimal() and int(processes) else 1))


def shared_pool() -> ThreadPoolExecutor:
    """The threads of this process; a forked process gets its own."""
    return _pool(os.getpid())


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="classgrow-reader")


def ahead(pool: Executor, work: Callable[[Item], Result], items: Iterable[Item], window: int) -> Iterator[Result]:
    """The results of `work` on `items`, in their order, with up to `window` of them started ahead."""
    started: deque[Future[Result]] = deque()
    try:
        for item in items:
            started.append(pool.submit(work, item))
            if len(started) > window:
                yield started.popleft().result()
        while started:
            yield started.popleft().result()
    finally:
        for future in started:
            future.cancel()


def over_slices(work: Callable[[range], None], count: int) -> None:
    """Run `work` on slices that together are range(count); where it fails, the first error is raised."""
    threads = thread_count()
    if threads == 1 or count < 2 * threads:
        work(range(count))
        return
    size = -(-count // (4 * threads))
    slices = [range(start, min(start + size, count)) for start in range(0, count, size)]
    for _ in ahead(shared_pool(), work, slices, len(slices)):
        pass
