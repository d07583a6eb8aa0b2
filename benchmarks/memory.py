"""(e) Peak memory of a whole CIFAR-100 run: ten phases of one epoch each, in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from typing import Any


def measure() -> dict[str, Any]:
    """Needs CIFAR-100 (CLASSGROW_DATA). One epoch: what is held at once does not depend on how long it is held."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as output:
        command = ["-m", "classgrow", "run", "--dataset", "cifar100", "--epochs", "1", "--output", output]
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {"peak_rss_gb": peak, "seconds": time.perf_counter() - started}
