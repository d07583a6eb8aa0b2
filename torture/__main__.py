"""python -m torture [--only PART] [--minutes N] [--seed N]

Tries to break classgrow for a bounded time and prints what was tried. Exits with 1 at the first traceback, wrong
result, hang or loss of good state; the same seed tries the same things.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from torture.parts import PARTS
from torture.tally import Limits, Tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=50.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=1, help="decides what is tried")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    whole = sum(PARTS[name][1] for name in given.only)
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        for name in given.only:
            part, share = PARTS[name]
            seconds = 60 * given.minutes * share / whole
            tallies[name] = part(Limits(seconds, Path(folder) / name, given.seed))
            print(
                f"{name}: {sum(tallies[name].counts.values())} tries, {len(tallies[name].problems)} problems",
                flush=True,
            )
    show(tallies)
    sys.exit(any(tally.problems for tally in tallies.values()))


def show(tallies: dict[str, Tally]) -> None:
    """A line for each kind of try, then every problem once."""
    console = Console(width=140)
    table = Table("part", "what was tried", "times", title="Torture")
    for name, tally in tallies.items():
        for what, count in sorted(tally.counts.items()):
            table.add_row(name, what, f"{count:,}")
    console.print(table)
    for tally in tallies.values():
        for problem in sorted(set(tally.problems)):
            console.print(f"PROBLEM {problem}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
