"""`classgrow demo`: methods side by side on the digits, with a table and a picture."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.cli.options import Device, Precision, read_precision

if TYPE_CHECKING:
    from classgrow.learner import Learner
    from classgrow.records.record import Record

OUTPUT = Path("demo")
KEPT = "fgp"
"""The method whose learner stays as a model to play with."""
PICTURES = 30
"""Digits that are left beside it."""


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
    """Run what is not finished yet, then the table and the picture of everything."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console, print_table
    from classgrow.cli.tables import comparison_table
    from classgrow.engine.runtime import decide
    from classgrow.experiments.demo import PAIR, by_method, run_demo
    from classgrow.methods import METHODS, build_method
    from classgrow.report.curves import write_curves

    with LiveRun(console()) as live:
        outcomes = run_demo(
            output,
            tuple(name for name in METHODS if build_method(name).objectives) if every else PAIR,
            seeds,
            epochs=epochs,
            execution=decide(device, threads),
            precision=read_precision(precision),
            progress=live,
            ready=live.ready,
            after_phase=live.after_phase,
            after_run=partial(keep_model, output),
        )
    reused = sum(outcome.already_finished for outcome in outcomes)
    if reused:
        typer.echo(f"{reused} of {len(outcomes)} runs were finished before and are shown as recorded in {output}.")
    groups = by_method(outcomes)
    print_table(comparison_table(groups))
    pictures = write_curves(groups, output / "curves", "Ten digits, two at a time: accuracy on all classes seen so far")
    typer.echo(f"Picture: {' and '.join(str(picture) for picture in pictures)}")
    model, photos = output / "model", output / "photos"
    typer.echo(f"Model: {model}. Ask it: {shlex.join(['classgrow', 'predict', str(model), str(photos)])}")


def keep_model(output: Path, learner: Learner, record: Record) -> None:
    """The first learner of the protected method as a model, with a few digits that it has not learned from."""
    import torch
    from PIL import Image

    from classgrow.data.digits import load_digits
    from classgrow.photos.importing import import_run

    if learner.method.name != KEPT or (output / "model").exists():
        return
    test = load_digits().test
    for place, label in enumerate(test.labels[:PICTURES].tolist()):
        picture = output / "photos" / test.classes[label].name / f"{place}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(test.read(torch.tensor([place]))[0, :, :, 0].numpy()).save(picture)
    import_run(output / "model", learner, record)
