"""What the paper would cost on other machines, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from classgrow.cli.grid_view import duration
from classgrow.cli.tables import DASH, Table
from classgrow.errors import ClassgrowError
from classgrow.experiments.cost import (
    Machine,
    batch_size,
    best_seconds,
    bytes_per_step,
    cache_bytes,
    network_name,
    parameters,
    read_speeds,
    run_seconds,
)
from classgrow.experiments.estimate import speeds
from classgrow.experiments.outline import Outline, outline
from classgrow.specs.paper import Item, specs_of
from classgrow.specs.reduction import Reduction


def read_devices(text: str) -> tuple[int, ...]:
    """ "1,8,64" as numbers."""
    try:
        numbers = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        numbers = (0,)
    if min(numbers) < 1:
        raise ClassgrowError(f"--devices {text!r} cannot be read: give a number, or several as in 1,8,64.")
    return numbers


def cost_tables(
    items: Sequence[Item], reduction: Reduction, output: Path, devices: str, images_per_second: str | None, wire: float
) -> tuple[Table, Table]:
    """The time of every item, and what its runs are made of."""
    counts = read_devices(devices)
    by_item = {item: _outlines(item, reduction) for item in items if item.has_runs}
    every = list({run.identity: run for runs in by_item.values() for run in runs}.values())
    if not every:
        raise ClassgrowError("There are no runs to estimate: these items need none, or not on this data set.")
    presets = dict.fromkeys(run.preset for run in every)
    rates = (
        read_speeds(images_per_second) if images_per_second else {k: 1 / s for k, s in speeds(presets, output).items()}
    )
    machine = Machine(rates, wire)

    def cells(runs: Sequence[Outline]) -> tuple[str, ...]:
        times = (best_seconds(runs, machine, count) for count in counts)
        words = (f"{duration(t.seconds)}{f' ({t.devices_each} each)' if t.devices_each > 1 else ''}" for t in times)
        return str(len(runs)), f"{sum(sum(run.images) for run in runs) / 1e6:,.0f} M", *words

    rows = tuple((f"{item.name:<9} {item.title}", *cells(runs)) for item, runs in by_item.items() if runs)
    whose = "as given" if images_per_second else "measured here, all cores as one device"
    time_table = Table(
        columns=("item", "runs", "images", *(f"{count} device{'s' if count > 1 else ''}" for count in counts)),
        rows=rows,
        footer=(("together, shared runs counted once", *cells(every)),) if every else (),
        title=f"Training time of the paper, {reduction.words()}",
        notes=(
            f"A device takes {', '.join(f'{rates[one]:,.0f} images/s ({one})' for one in presets)} with a teacher, "
            f"{whose}; the wire {wire:g} GB/s. Runs stand side by side, one a device; (2 each): it is quicker to give "
            "every run so many. Choosing exemplars and testing come on top.",
        ),
    )
    return time_table, _parts_table(every, machine, counts)


def _parts_table(runs: Sequence[Outline], machine: Machine, counts: Sequence[int]) -> Table:
    """One row for each data set: what a step moves, what the images take, and the longest single run."""
    most = max(counts)
    rows = []
    for dataset in dict.fromkeys(run.spec.dataset for run in runs):
        longest = max((run for run in runs if run.spec.dataset == dataset), key=lambda run: run_seconds(run, machine))
        stored = cache_bytes(dataset)
        rows.append(
            (
                f"{dataset} ({network_name(longest)})",
                f"{parameters(longest):,}",
                str(batch_size(longest)),
                f"{bytes_per_step(parameters(longest), most) / 1e6:.1f} MB" if most > 1 else DASH,
                DASH if stored is None else f"{stored / 1e9:.1f} GB",
                longest.spec.method,
                *(duration(run_seconds(longest, machine, count)) for count in counts),
            )
        )
    return Table(
        columns=(
            "data",
            "parameters",
            "batch",
            f"sent a step (of {most})",
            "images kept",
            "longest run",
            *(f"on {count}" for count in counts),
        ),
        rows=tuple(rows),
        title="What a run is made of",
    )


def _outlines(item: Item, reduction: Reduction) -> list[Outline]:
    try:
        return [outline(spec) for spec in specs_of(item, reduction)]
    except ClassgrowError:
        return []
