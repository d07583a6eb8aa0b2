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


@dataclass(frozen=True)
class Turn:
    """One piece of work that has just been timed; `round` 0 is a warm-up. `left`: seconds until all are done."""

    name: str
    round: int
    rounds: int
    seconds: float
    left: float

    def line(self, images: int) -> str:
        """What to print where the work was over so many images."""
        which = f"round {self.round} of {self.rounds}" if self.round else "warm-up"
        minutes, seconds = divmod(round(self.left), 60)
        speed = f"{images / self.seconds:.0f} images/s" if images else f"{self.seconds:.1f} s"
        return f"{which}: {self.name}, {speed}; {minutes}:{seconds:02} left"


def take_turns(
    work: Mapping[str, Callable[[], object]],
    rounds: int,
    warm_up: int = 1,
    heard: Callable[[Turn], None] = lambda turn: None,
    limit: float = float("inf"),
) -> dict[str, Timing]:
    """Time every piece of work once a round; `heard` is told of each. After the first round, another one begins only if
    it is likely to end within `limit` seconds of the start."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    last: dict[str, float] = {}
    began = time.perf_counter()
    for number in range(1 - warm_up, rounds + 1):
        if number > 1 and time.perf_counter() - began + sum(last.values()) > limit:
            break
        for place, (name, job) in enumerate(work.items()):
            started = time.perf_counter()
            job()
            last[name] = time.perf_counter() - started
            if number >= 1:
                seconds[name].append(last[name])
            usual = sum(last.values()) / len(last)
            whole = sum(last.get(one, usual) for one in work)
            rest = sum(last.get(one, usual) for one in list(work)[place + 1 :])
            left = rest + (rounds - number) * whole
            left = min(left, max(rest, began + limit - time.perf_counter()))
            heard(Turn(name, max(0, number), rounds, last[name], left))
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
