"""Medians of rounds that take turns, so that a busy machine slows everything alike."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of one thing in every round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def low(self) -> float:
        """The lower quartile; `high` is the upper one."""
        return self._quartiles()[0]

    @property
    def high(self) -> float:
        return self._quartiles()[2]

    def over(self, other: Timing) -> float:
        """How many times as long this took as the other, within a round: the median of the rounds."""
        return statistics.median(mine / its for mine, its in zip(self.seconds, other.seconds, strict=True))

    def _quartiles(self) -> list[float]:
        return statistics.quantiles(self.seconds, n=4) if len(self.seconds) > 1 else [self.seconds[0]] * 3


def take_turns(work: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1) -> dict[str, Timing]:
    """Time every piece of work once a round."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number in range(warm_up + rounds):
        for name, job in work.items():
            started = time.perf_counter()
            job()
            if number >= warm_up:
                seconds[name].append(time.perf_counter() - started)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


PEAK = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small process between us and what is measured, as a process's peak begins with that of the one it came from."""


def time_and_peak(arguments: Sequence[str]) -> tuple[float, float]:
    """Run Python with these arguments in a process of its own: seconds, and the most memory it held at once in GB."""
    started = time.perf_counter()
    answer = subprocess.run([sys.executable, "-c", PEAK, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    code, kilobytes = answer.stdout.split()
    if code != "0":
        raise SystemExit(f"{' '.join(arguments)} ended with {code}.")
    return time.perf_counter() - started, int(kilobytes) / 2**20
