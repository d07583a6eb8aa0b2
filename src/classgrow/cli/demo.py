"""`classgrow demo`: methods side by side on the digits, with a table, a picture, and a model to try."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.cli.options import Device, Precision, read_precision

if TYPE_CHECKING:
    from classgrow.experiments.demo_model import ToTry

OUTPUT = Path("demo")


def demo(
    every: Annotated[
        bool, typer.Option("--all", help="Every method of the catalogue that trains, not only two.")
    ] = False,
    output: Annotated[Path, typer.Option(help="Where runs and pictures go.")] = OUTPUT,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs to average; default 1, with --all 3.")] = None,
    device: Device = "auto",
    threads: Annotated[int, typer.Option(min=1, help="Threads; images this small gain nothing from more.")] = 1,
    precision: Precision = "float32",
    epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
) -> None:
    """Learn ten digits, two at a time, with and without protection against forgetting."""
    try:
        carry_out(every, output, seeds or (3 if every else 1), device, threads, precision, epochs)
    except KeyboardInterrupt:
        typer.echo("Stopped. The same command goes on from here.", err=True)
        raise typer.Exit(130) from None


def carry_out(
    every: bool, output: Path, seeds: int, device: str, threads: int, precision: str, epochs: int | None
) -> None:
    """Run what is not finished yet, then the table and the picture of everything, and a model to go on with."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console, print_table
    from classgrow.cli.tables import comparison_table
    from classgrow.engine.runtime import decide
    from classgrow.experiments.demo import PAIR, by_method, demo_specs, run_demo
    from classgrow.experiments.demo_model import leave_to_try
    from classgrow.methods import METHODS, build_method
    from classgrow.report.curves import write_curves

    execution, wish = decide(device, threads), read_precision(precision)
    with LiveRun(console()) as live:
        outcomes = run_demo(
            output,
            tuple(name for name in METHODS if build_method(name).objectives) if every else PAIR,
            seeds,
            epochs=epochs,
            execution=execution,
            precision=wish,
            progress=live,
            ready=live.ready,
            after_phase=live.after_phase,
        )
    reused = sum(outcome.already_finished for outcome in outcomes)
    if reused:
        typer.echo(f"{reused} of {len(outcomes)} runs were finished before and are shown as recorded in {output}.")
    groups = by_method(outcomes)
    print_table(comparison_table(groups))
    pictures = write_curves(groups, output / "curves", "Ten digits, two at a time: accuracy on all classes seen so far")
    typer.echo(f"Picture: {' and '.join(str(picture) for picture in pictures)}")
    (spec,) = demo_specs(PAIR[:1], 1, epochs)
    run = next(one.record.identity for one in outcomes if one.record.method.name == spec.method)
    with LiveRun(console()) as live:
        left = leave_to_try(output, spec, run, execution, wish, live)
    show_what_is_next(left, spec.method)


def show_what_is_next(left: ToTry, method: str) -> None:
    """Commands that go on from here, as they are to be typed."""
    from classgrow.cli.printing import program

    model, photos, seven = (shlex.quote(str(path)) for path in (left.model, left.photos, left.photos / "7"))
    typer.echo(f"Model: {left.model}, by {method}; {left.photos} has digits that it has not seen. Go on with:")
    for words in (f"predict {model} {seven}", f"inspect {model}", f"evaluate {model} {photos}"):
        typer.echo(f"  {program()} {words}")
