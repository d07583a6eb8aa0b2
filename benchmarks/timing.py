"""Medians of rounds that take turns, so that a busy machine slows everything alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of one thing: the median and the spread between the quartiles."""

    median: float
    low: float
    high: float


def take_turns(work: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1) -> dict[str, Timing]:
    """Time every piece of work once a round."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number in range(warm_up + rounds):
        for name, job in work.items():
            started = time.perf_counter()
            job()
            if number >= warm_up:
                seconds[name].append(time.perf_counter() - started)
    return {name: summarised(values) for name, values in seconds.items()}


def summarised(values: list[float]) -> Timing:
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return Timing(statistics.median(values), quartiles[0], quartiles[2])


def time_and_peak(arguments: Sequence[str]) -> tuple[float, float]:
    """Run Python with these arguments in a process of its own: seconds, and the most memory it held at once in GB."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}.")
    return time.perf_counter() - started, used.ru_maxrss / 2**20
