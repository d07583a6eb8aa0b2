"""`classgrow paper`: the runs behind every table and figure of the paper, all of them or the part that is missing."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from classgrow.cli.options import Data, Device, Precision, Tensorboard, Threads, read_precision

if TYPE_CHECKING:
    from classgrow.engine.runtime import PrecisionWish
    from classgrow.experiments.grid import GridOutcome
    from classgrow.specs.paper import Item
    from classgrow.specs.reduction import Reduction
    from classgrow.specs.spec import Spec

OUTPUT = Path("runs")


def paper(
    items: Annotated[list[str] | None, typer.Argument(metavar="ITEM...", help="As --list shows; all if none.")] = None,
    list_items: Annotated[
        bool, typer.Option("--list", help="Show every item and what is missing; run nothing.")
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Show what it would cost on --devices; run nothing.")
    ] = False,
    devices: Annotated[str, typer.Option(help="For --estimate: how many, one number or several.")] = "1,8,64",
    images_per_second: Annotated[
        str | None,
        typer.Option(
            help="For --estimate: of a device, as in 2000 or cifar=2000,imagenet=300; default: measured here."
        ),
    ] = None,
    wire: Annotated[float, typer.Option(min=0.001, help="For --estimate: GB/s between two devices.")] = 10.0,
    dataset: Annotated[str | None, typer.Option(help="cifar100 or imagenet100; default: both.")] = None,
    orders: Annotated[str | None, typer.Option(help="Class orders, as in 0,1,2; default: all five.")] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of the first phase, instead of the paper's.")
    ] = None,
    classes: Annotated[int | None, typer.Option(min=1, help="Only the first so many classes.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Classes of the first phase.")] = None,
    step: Annotated[int | None, typer.Option(min=1, help="Classes of every later phase.")] = None,
    memory: Annotated[int | None, typer.Option(min=1, help="Exemplars in total.")] = None,
    profile: Annotated[str, typer.Option(help="official (each method's own epochs) or matched.")] = "official",
    methods: Annotated[str | None, typer.Option(help="Only these methods, as in fgp,icarl.")] = None,
    output: Annotated[Path, typer.Option(help="Where the runs lie.")] = OUTPUT,
    data: Data = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs side by side on this machine.")] = 1,
    ray: Annotated[str | None, typer.Option(help="A Ray cluster instead: its address, or auto.")] = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "auto",
    tensorboard: Tensorboard = False,
) -> None:
    """Run what is missing of the paper's tables and figures. What was done before, by whomever, is not done again."""
    from classgrow.cli.grid_view import items_table
    from classgrow.cli.printing import print_table
    from classgrow.data.place import given_folder
    from classgrow.experiments.outline import outline
    from classgrow.specs.paper import all_specs, words_for

    reduction = read_reduction(dataset, orders, epochs, classes, first, step, memory, profile)
    chosen, wish = choose(items or [], methods), read_precision(precision)
    if list_items and estimate:
        raise typer.BadParameter("--list and --estimate are two questions: ask one at a time.")
    if ray is not None and workers != 1:
        raise typer.BadParameter("--workers are for this machine, and --ray has its own: leave out one of them.")
    if list_items:
        print_table(items_table(chosen, reduction, output))
        return
    if estimate:
        from classgrow.cli.cost_view import cost_tables

        for table in cost_tables(chosen, reduction, output, devices, images_per_second, wire):
            print_table(table)
        return
    specs = all_specs(chosen, reduction) or no_runs(chosen, dataset)
    given_folder(data)
    for spec in specs:
        outline(spec)  # whatever is wrong with the settings is said before anything runs
    names = ", ".join(item.name for item in chosen if item.has_runs)
    heading = f"Runs for {names}: {len(specs)}; {words_for(chosen, reduction)}."
    finish(carry_out(specs, heading, output, data, workers, ray, device, threads, tensorboard, wish), output)


def no_runs(chosen: list[Item], dataset: str | None) -> NoReturn:
    """Says why there is nothing to run, and what to do instead."""
    from classgrow.specs.paper import TOYS

    toys = ", ".join(f"classgrow toy {TOYS[item.name]} ({item.name})" for item in chosen if item.name in TOYS)
    if toys:
        raise typer.BadParameter(f"These need no runs: draw them with {toys}.")
    raise typer.BadParameter(
        f"{', '.join(item.name for item in chosen)} has no run on {dataset}: leave out --dataset, or see --list."
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
    from classgrow.specs.reduction import Reduction, check_datasets

    if profile != "official" and profile != "matched":
        raise ClassgrowError(f"There is no profile {profile!r}; known are official and matched.")
    reduction = Reduction(
        datasets=words(dataset), orders=words(orders), epochs=epochs, classes=classes, first=first, step=step,
        memory=memory, profile="matched" if profile == "matched" else "official",
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
    known = (*METHODS, *ABLATIONS)
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


def carry_out(
    specs: tuple[Spec, ...],
    heading: str,
    output: Path,
    data: Path | None,
    workers: int,
    ray: str | None,
    device: str,
    threads: int | None,
    tensorboard: bool,
    precision: PrecisionWish,
) -> GridOutcome:
    """Run the grid under its view; Ctrl-C stops it in good order."""
    from classgrow.cli.grid_view import GridView
    from classgrow.cli.printing import console
    from classgrow.experiments.grid import run_grid

    try:
        with GridView(console(), heading) as view:
            return run_grid(
                specs, output, data,
                workers=workers, ray=ray, device=device, threads=threads, tensorboard=tensorboard,
                precision=precision, progress=view,
            )  # fmt: skip
    except KeyboardInterrupt:
        again = shlex.join(["classgrow", *sys.argv[1:]])
        typer.echo(f"Stopped; nothing that was recorded is lost. Go on with: {again}", err=True)
        raise typer.Exit(130) from None


def finish(outcome: GridOutcome, output: Path) -> None:
    """What came of it, and the way on."""
    from classgrow.data.folder import listed

    typer.echo(f"Runs: {len(outcome.done)} done, {len(outcome.skipped)} there already, {len(outcome.failed)} failed.")
    for error in dict.fromkeys(outcome.failed.values()):
        runs = [str(output / run) for run, why in outcome.failed.items() if why == error]
        typer.echo(f"  {error}\n    {listed(runs)}", err=True)
    if outcome.failed:
        typer.echo("Once their causes are mended, the same command tries them again.", err=True)
        raise typer.Exit(1)
    typer.echo(f"See them with: classgrow report {shlex.quote(str(output))} --output report")
