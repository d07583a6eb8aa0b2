"""`classgrow run`: one experiment, from flags or a TOML file."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classgrow.cli.options import Data, Device, Precision, Tensorboard, Threads, read_precision
from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.engine.compiled import Compile
    from classgrow.engine.runtime import PrecisionWish
    from classgrow.records.record import Record
    from classgrow.specs.spec import Spec

OUTPUT = Path("runs")


def run(
    spec_file: Annotated[
        Path | None, typer.Argument(metavar="SPEC.toml", help="Settings in a TOML file; flags override them.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="cifar100 (default), digits, mnist, ...")] = None,
    method: Annotated[str | None, typer.Option(help="A name that `classgrow methods` lists; default fgp.")] = None,
    rule: Annotated[str | None, typer.Option(help="The rule that answers; default: the method's own.")] = None,
    network: Annotated[
        str | None, typer.Option(help="small, resnet32, resnet18 or an installed one; default: the preset's.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="digits, cifar or imagenet: network and recipe; default: by image size.")
    ] = None,
    memory: Annotated[int | None, typer.Option(help="Exemplars in total; default: the paper's.")] = None,
    memory_per_class: Annotated[int | None, typer.Option(help="Exemplars of each class, instead of --memory.")] = None,
    first: Annotated[int | None, typer.Option(help="Classes of the first phase.")] = None,
    step: Annotated[int | None, typer.Option(help="Classes of every later phase.")] = None,
    order: Annotated[str | None, typer.Option(help="0 to 4 (the published lists), natural, seed:N or a file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides every random draw; default 1.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of the first phase; the schedule scales with it.")] = None,
    phases: Annotated[int | None, typer.Option(help="Stop after this many phases; more can follow later.")] = None,
    classes: Annotated[int | None, typer.Option(help="Learn only the first so many classes of the order.")] = None,
    profile: Annotated[str | None, typer.Option(help="official (each method's own epochs) or matched.")] = None,
    selection: Annotated[str | None, typer.Option(help="Exemplars by herding (default), random or closest.")] = None,
    lr: Annotated[float | None, typer.Option(help="First learning rate; later ones in proportion.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=NUMBER", help="A number of the method's own, as strength=0.5.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where the run's folder is made.")] = OUTPUT,
    data: Data = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a folder of images with files that must be skipped.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Start afresh where the run is recorded already; its record is removed.")
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that share every batch, on this machine; default 1.")
    ] = None,
    compile: Annotated[str, typer.Option(help="auto (where it pays), on or off.")] = "auto",
    precision: Precision = "auto",
    tensorboard: Tensorboard = False,
) -> None:
    """Run one experiment and record it. Every setting has the paper's value for the data set as its default."""
    settings = {
        "dataset": dataset,
        "method": method,
        "rule": rule,
        "network": network,
        "preset": preset,
        "memory": memory,
        "memory_per_class": memory_per_class,
        "first": first,
        "step": step,
        "order": order,
        "seed": seed,
        "epochs": epochs,
        "phases": phases,
        "classes": classes,
        "profile": profile,
        "selection": selection,
        "lr": lr,
        "options": read_options(option or []),
    }
    from classgrow.engine.place import here
    from classgrow.experiments.launch import end_with_parent

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what ends a job early is as good as Ctrl-C
    spec = read_spec(spec_file, settings)
    wishes, place = (read_compile(compile), read_precision(precision)), here()
    go_on = resume_command(spec, output, data, processes, device, strict, tensorboard)
    try:
        if processes is not None and processes > 1 and place.processes == 1:
            start_several(processes, threads, go_on)
            return
        if processes not in (None, place.processes):
            raise ClassgrowError(f"This is one of {place.processes} processes: leave out --processes {processes}.")
        end_with_parent()
        carry_out(spec, output, data, resume, again, strict, device, threads, tensorboard, *wishes)
    except KeyboardInterrupt:
        if place.rank == 0:
            typer.echo(f"Stopped. Go on with: {go_on}", err=True)
        raise typer.Exit(130) from None


def start_several(processes: int, threads: int | None, go_on: str) -> None:
    """The same command in several processes; what went wrong in any of them is told once."""
    from classgrow.experiments.launch import launch

    ending = launch(sys.argv[1:], processes, threads)
    if ending.said:
        typer.echo(ending.said, err=True)
    if ending.happened:
        typer.echo(f"{ending.happened} Go on with: {go_on}", err=True)
    if ending.code:
        raise typer.Exit(ending.code)


def read_compile(word: str) -> Compile:
    wishes: dict[str, Compile] = {"auto": "auto", "on": "on", "off": "off"}
    if word not in wishes:
        raise ClassgrowError(f"--compile is auto, on or off, not {word!r}.")
    return wishes[word]


def read_options(words: list[str]) -> dict[str, float] | None:
    """["strength=0.5"] as names and numbers; None if there are none."""
    found: dict[str, float] = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            found[name.strip()] = int(number) if number.strip().lstrip("+-").isdigit() else float(number)
        except ValueError:
            raise ClassgrowError(f"--option {word} is no NAME=NUMBER: write it like --option strength=0.5.") from None
    return found or None


def read_spec(spec_file: Path | None, settings: dict[str, Any]) -> Spec:
    """The settings of the file, if any, under those of the flags."""
    from classgrow.specs.spec import Spec

    return Spec.from_options(settings) if spec_file is None else Spec.from_toml(spec_file, settings)


def resume_command(
    spec: Spec,
    output: Path,
    data: Path | None,
    processes: int | None = None,
    device: str = "auto",
    strict: bool = False,
    tensorboard: bool = False,
) -> str:
    """What to type to go on with a stopped run."""
    from classgrow.specs.spec import command

    words = [command(spec)]
    if output != OUTPUT:
        words.append(f"--output {shlex.quote(str(output))}")
    if data is not None:
        words.append(f"--data {shlex.quote(str(data))}")
    if processes is not None and processes > 1:
        words.append(f"--processes {processes}")
    if device != "auto":
        words.append(f"--device {shlex.quote(device)}")
    flags = {"--strict": strict, "--tensorboard": tensorboard, "--resume": True}
    return " ".join([*words, *(flag for flag, given in flags.items() if given)])


def carry_out(
    spec: Spec,
    output: Path,
    data: Path | None,
    resume: bool,
    again: bool,
    strict: bool,
    device: str,
    threads: int | None,
    tensorboard: bool,
    compile: Compile = "auto",
    precision: PrecisionWish = "auto",
) -> None:
    """Run with a live bar; one line per phase, then the table. Of several processes only the first shows anything."""
    from rich.console import Console

    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console, print_table
    from classgrow.cli.tables import run_table
    from classgrow.engine.place import here
    from classgrow.engine.runtime import decide
    from classgrow.experiments.run import run_spec
    from classgrow.experiments.tensorboard import tensorboard_log

    place = here()
    shows = place.rank == 0
    shown = console() if shows else Console(quiet=True)
    with LiveRun(shown) as live, tensorboard_log(output if tensorboard and shows else None) as log:

        def after_phase(record: Record) -> None:
            live.after_phase(record)
            log(record)

        outcome = run_spec(
            spec,
            output,
            data,
            resume=resume,
            again=again,
            strict=strict,
            execution=decide(device, threads, processes=place.processes),
            compile=compile,
            precision=precision,
            progress=live,
            ready=live.ready,
            after_phase=after_phase,
        )
    if not shows:
        return
    if outcome.already_finished:
        typer.echo(
            f"This run is already finished ({len(outcome.record.phases)} phases): "
            f"see it with classgrow show {shlex.quote(str(outcome.folder))}, or start it afresh with --again."
        )
        return
    print_table(run_table(outcome.record))
    typer.echo(f"Recorded in {outcome.folder}")
