"""python -m benchmarks [NAME ...] [--output FILE] [--threads N]

Names are those in `NAMES`; without one all are run. Each prints a table and goes into one JSON file with the hardware
it ran on.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from classgrow.records.environment import hardware, versions

NAMES = ("step", "precision", "between", "growth", "startup", "memory", "reader", "features", "photos", "report")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--output", type=Path, default=Path("benchmarks.json"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()

    import torch

    torch.set_num_threads(given.threads)
    machine = {"hardware": hardware().model_dump(), "versions": versions().model_dump(), "threads": given.threads}
    results: dict[str, Any] = json.loads(given.output.read_text()) if given.output.exists() else {}
    for name in given.names or NAMES:
        outcome = importlib.import_module(f"benchmarks.{name}").measure()
        results[name] = {**outcome, **machine, "load": os.getloadavg()[0]}
        show(name, outcome)
        given.output.write_text(json.dumps(results, indent=1))
    Console().print(f"{machine['hardware']['cpu']}, {given.threads} threads; written to {given.output}")


def show(name: str, outcome: dict[str, Any]) -> None:
    """Rows as a table, single figures as lines."""
    console = Console()
    rows = outcome.get("rows", [])
    if rows:
        table = Table(*rows[0], title=name)
        for row in rows:
            table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
        console.print(table)
    for key, value in outcome.items():
        if key != "rows":
            console.print(f"{name}: {key} = {value:.4g}" if isinstance(value, float) else f"{name}: {key} = {value}")


if __name__ == "__main__":
    main()
