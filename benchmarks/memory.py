"""(e) Peak memory of a whole CIFAR-100 run: ten phases of one epoch each, in a process of its own."""

from __future__ import annotations

import tempfile
from typing import Any

from benchmarks.timing import time_and_peak


def measure() -> dict[str, Any]:
    """Needs CIFAR-100 (CLASSGROW_DATA). One epoch, compiled as longer runs are: what is held at once does not depend on
    how long it is held."""
    with tempfile.TemporaryDirectory() as output:
        command = ["-m", "classgrow", "run", "--dataset", "cifar100", "--epochs", "1", "--compile", "on"]
        command += ["--output", output]
        seconds, peak = time_and_peak(command)
    return {"peak_rss_gb": peak, "seconds": seconds}
