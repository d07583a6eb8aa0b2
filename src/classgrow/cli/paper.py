"""`classgrow paper`: the runs behind every table and figure of the paper, all of them or the part that is missing."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from classgrow.cli.flags import with_flags
from classgrow.cli.options import (
    Data,
    Device,
    Devices,
    Estimate,
    GridClasses,
    GridDataset,
    GridEpochs,
    GridFirst,
    GridMemory,
    GridMethods,
    GridOrders,
    GridOutput,
    GridProfile,
    GridStep,
    ImagesPerSecond,
    ItemNames,
    ListItems,
    Precision,
    RayAddress,
    Tensorboard,
    Threads,
    Wire,
    Workers,
    read_precision,
)

if TYPE_CHECKING:
    from classgrow.engine.runtime import PrecisionWish
    from classgrow.experiments.grid import GridOutcome
    from classgrow.specs.paper import Item
    from classgrow.specs.reduction import Reduction
    from classgrow.specs.spec import Spec

OUTPUT = Path("runs")


@dataclass(frozen=True)
class HowToRunGrid:
    """Where the runs of a grid lie and who carries them out."""

    output: Path
    data_dir: Path | None
    workers: int
    ray: str | None
    device: str
    threads: int | None
    tensorboard: bool
    precision: PrecisionWish


def paper(
    items: ItemNames = None,
    list_items: ListItems = False,
    estimate: Estimate = False,
    devices: Devices = "1,8,64",
    images_per_second: ImagesPerSecond = None,
    wire: Wire = 10.0,
    dataset: GridDataset = None,
    orders: GridOrders = None,
    epochs: GridEpochs = None,
    classes: GridClasses = None,
    first: GridFirst = None,
    step: GridStep = None,
    memory: GridMemory = None,
    profile: GridProfile = "official",
    methods: GridMethods = None,
    output: GridOutput = OUTPUT,
    data_dir: Data = None,
    workers: Workers = 1,
    ray: RayAddress = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "auto",
    tensorboard: Tensorboard = False,
) -> None:
    """Run what is missing of the paper's tables and figures. Runs that are recorded already are not repeated."""
    from classgrow.cli.grid_view import items_table
    from classgrow.cli.printing import print_table

    reduction = read_reduction(dataset, orders, epochs, classes, first, step, memory, profile)
    chosen, wish = choose(items or [], methods), read_precision(precision)
    if list_items and estimate:
        raise typer.BadParameter("--list and --estimate are two questions: ask one at a time.")
    if ray is not None and workers != 1:
        raise typer.BadParameter("--workers are for this machine, and --ray has its own: leave out one of them.")
    if list_items:
        print_table(items_table(chosen, reduction, output))
    elif estimate:
        from classgrow.cli.cost_view import cost_tables

        for table in cost_tables(chosen, reduction, output, devices, images_per_second, wire):
            print_table(table)
    else:
        how = HowToRunGrid(output, data_dir, workers, ray, device, threads, tensorboard, wish)
        run_missing(chosen, reduction, how)


def run_missing(chosen: list[Item], reduction: Reduction, how: HowToRunGrid) -> None:
    """Carry out the runs of these items that are not there yet."""
    from classgrow.data.place import given_folder
    from classgrow.experiments.outline import outline
    from classgrow.specs.paper import all_specs, words_for

    specs = all_specs(chosen, reduction) or no_runs(chosen, reduction)
    given_folder(how.data_dir)
    for spec in specs:
        outline(spec)  # whatever is wrong with the settings is said before anything runs
    names = ", ".join(item.name for item in chosen if item.has_runs)
    heading = f"Runs for {names}: {len(specs)}; {words_for(chosen, reduction)}."
    finish(carry_out(specs, heading, how), how.output)


def no_runs(chosen: list[Item], reduction: Reduction) -> NoReturn:
    """Says why there is nothing to run, and what to do instead."""
    from classgrow.specs.paper import TOYS

    toys = ", ".join(f"classgrow toy {TOYS[item.name]} ({item.name})" for item in chosen if item.name in TOYS)
    if toys:
        raise typer.BadParameter(f"These need no runs: draw them with {toys}.")
    datasets = ", ".join(reduction.datasets or ())
    raise typer.BadParameter(
        f"{', '.join(item.name for item in chosen)} has no run on {datasets}: leave out --dataset, or see --list."
    )


def read_reduction(
    dataset: str | None,
    orders: str | None,
    epochs: int | None,
    classes: int | None,
    first: int | None,
    step: int | None,
    memory: int | None,
    profile: str,
) -> Reduction:
    """What the flags leave of the paper's grid."""
    from classgrow.errors import ClassgrowError
    from classgrow.recipes import PROFILES
    from classgrow.specs.reduction import Reduction, check_datasets

    known = next((one for one in PROFILES if one == profile), None)
    if known is None:
        raise ClassgrowError(f"There is no profile {profile!r}: `profile` is one of {', '.join(PROFILES)}.")
    reduction = Reduction(
        datasets=words(dataset), orders=words(orders), epochs=epochs, classes=classes, first=first, step=step,
        memory=memory, profile=known,
    )  # fmt: skip
    check_datasets(reduction)
    return reduction


def words(text: str | None) -> tuple[str, ...] | None:
    """ "0, 1,2" as ("0", "1", "2")."""
    if text is None:
        return None
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not found:
        raise typer.BadParameter(
            f"{text!r} names nothing: give names with commas between them, or leave the option out."
        )
    return found


def choose(names: list[str], methods: str | None) -> list[Item]:
    """The items asked for, all if none is named, with the methods asked for."""
    from dataclasses import replace

    from classgrow.errors import ClassgrowError, nearest_name
    from classgrow.specs.paper import ABLATIONS, ITEMS, METHODS, item_named

    items = [item_named(name) for name in dict.fromkeys(names)] or list(ITEMS.values())
    wanted = words(methods)
    if wanted is None:
        return items
    known = (*METHODS, *ABLATIONS, "joint")
    for name in wanted:
        if name not in known:
            raise ClassgrowError(
                f"The paper has no method {name!r}; it has {', '.join(known)}.{nearest_name(name, known)}"
            )
    fitting = [replace(item, methods=tuple(name for name in item.methods if name in wanted)) for item in items]
    fitting = [item for item in fitting if item.methods]
    if not fitting:
        raise ClassgrowError(f"None of these items shows {' or '.join(wanted)}: choose others, see --list.")
    return fitting


def carry_out(specs: tuple[Spec, ...], heading: str, how: HowToRunGrid) -> GridOutcome:
    """Run the grid with a live view; Ctrl-C stops it cleanly."""
    from classgrow.cli.grid_view import GridView
    from classgrow.cli.printing import console
    from classgrow.experiments.grid import run_grid

    try:
        with GridView(console(), heading) as view:
            return run_grid(
                specs, how.output, how.data_dir, workers=how.workers, ray=how.ray, device=how.device,
                threads=how.threads, tensorboard=how.tensorboard, precision=how.precision, progress=view,
            )  # fmt: skip
    except KeyboardInterrupt:
        again = shlex.join(["classgrow", *sys.argv[1:]])
        typer.echo(f"Stopped; nothing that was recorded is lost. Go on with: {again}", err=True)
        raise typer.Exit(130) from None


def finish(outcome: GridOutcome, output: Path) -> None:
    """The outcome, and what to do next."""
    from classgrow.data.folder import listed

    typer.echo(f"Runs: {len(outcome.done)} done, {len(outcome.skipped)} there already, {len(outcome.failed)} failed.")
    for error in dict.fromkeys(outcome.failed.values()):
        runs = [str(output / run) for run, why in outcome.failed.items() if why == error]
        typer.echo(f"  {with_flags(error)}\n    {listed(runs)}", err=True)
    if outcome.failed:
        typer.echo("Once the causes are fixed, the same command tries them again.", err=True)
        raise typer.Exit(1)
    typer.echo(f"See them with: classgrow report {shlex.quote(str(output))} --output report")
