"""python -m benchmarks [NAME ...] [--output FILE] [--threads N] [--rounds N] [--only METHODS] [--record PATH]

Names are those in `NAMES`; without one all are run but accuracy, which trains unless it is given a --record. Each
prints a table and goes into one JSON file with the hardware it ran on.
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

NAMES = (
    "step",
    "precision",
    "between",
    "growth",
    "startup",
    "memory",
    "reader",
    "features",
    "photos",
    "accuracy",
    "report",
)
TAKES = {"step": ("only", "rounds"), "precision": ("rounds",), "accuracy": ("record", "rounds")}
"""The options that a benchmark takes."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--output", type=Path, default=Path("benchmarks.json"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, help="step, precision, accuracy: how often everything is timed")
    parser.add_argument("--only", type=methods, help="step: these methods alone, as in fgp,icarl")
    parser.add_argument("--record", type=Path, help="accuracy: the record of a run that is finished")
    given = parser.parse_args()
    asked = {name: value for name in ("rounds", "only", "record") if (value := getattr(given, name)) is not None}
    names = given.names or [name for name in NAMES if name != "accuracy" or given.record]
    for option in asked:
        if not any(option in TAKES.get(name, ()) for name in names):
            parser.error(f"--{option} is not for {', '.join(names)}")

    import torch

    torch.set_num_threads(given.threads)
    machine = {"hardware": hardware().model_dump(), "versions": versions().model_dump(), "threads": given.threads}
    results: dict[str, Any] = json.loads(given.output.read_text()) if given.output.exists() else {}
    for name in names:
        mine = {option: value for option, value in asked.items() if option in TAKES.get(name, ())}
        outcome = importlib.import_module(f"benchmarks.{name}").measure(**mine)
        results[name] = {**outcome, **machine, "load": os.getloadavg()[0]}
        show(name, outcome)
        given.output.write_text(json.dumps(results, indent=1))
    Console().print(f"{machine['hardware']['cpu']}, {given.threads} threads; written to {given.output}")


def methods(text: str) -> list[str]:
    """ "fgp,icarl" as names that the step benchmark knows."""
    from benchmarks.step import METHODS

    found = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in found if name not in METHODS]
    if unknown or not found:
        raise argparse.ArgumentTypeError(f"{text!r}: choose among {', '.join(METHODS)}")
    return found


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
