"""What happens here, as numbers in the text format that Prometheus reads. No name from a client is ever a label."""

from __future__ import annotations

import os
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How many values were at most each bound."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, labels: Labels = ()) -> Iterable[str]:
        totals = list(accumulate(self.counts))
        for bound, total in zip((*map(str, self.bounds), "+Inf"), totals, strict=True):
            yield line(f"{name}_bucket", total, (*labels, ("le", bound)))
        yield line(f"{name}_sum", round(self.sum, 6), labels)
        yield line(f"{name}_count", totals[-1], labels)


@dataclass
class Metrics:
    """Counted since the start."""

    started: float = field(default_factory=time.time)
    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    seconds: dict[str, Histogram] = field(default_factory=dict)
    batches: Histogram = field(default_factory=lambda: Histogram(SIZES))

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request by its route's template."""
        self.requests[route, method, status] += 1
        self.seconds.setdefault(route, Histogram(SECONDS)).add(seconds)

    def text(self, gauges: Mapping[str, tuple[str, float]], jobs: Mapping[str, int]) -> str:
        """Everything; `gauges` are names with what they mean and their values."""
        lines = [*head("requests_total", "counter", "Requests answered.")]
        for (route, method, status), count in sorted(self.requests.items()):
            lines.append(line("requests_total", count, named(route=route, method=method, status=str(status))))
        lines += head("request_seconds", "histogram", "Time from the first byte to the answer.")
        for route, histogram in sorted(self.seconds.items()):
            lines += histogram.lines("request_seconds", named(route=route))
        lines += [*head("batch_photos", "histogram", "Photos in a batch."), *self.batches.lines("batch_photos")]
        lines += head("jobs", "gauge", "Teachings by state.")
        lines += [line("jobs", count, named(state=state)) for state, count in sorted(jobs.items())]
        everything = {
            **gauges,
            "start_time_seconds": ("When the service started, in seconds since 1970.", self.started),
            "resident_memory_bytes": ("Memory of the service.", float(resident_bytes())),
        }
        for name, (text, value) in everything.items():
            lines += [*head(name, "gauge", text), line(name, value)]
        return "\n".join(lines) + "\n"


def head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP classgrow_{name} {text}", f"# TYPE classgrow_{name} {kind}"]


def named(**labels: str) -> Labels:
    return tuple(labels.items())


def line(name: str, value: float, labels: Labels = ()) -> str:
    inside = ",".join(f'{key}="{escaped(text)}"' for key, text in labels)
    return f"classgrow_{name}{{{inside}}} {value}" if inside else f"classgrow_{name} {value}"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_bytes() -> int:
    """Memory that this process holds; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
