"""`classgrow run`: one experiment, from flags or a TOML file."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from classgrow.cli.options import (
    Again,
    Classes,
    CompileWord,
    Data,
    DatasetName,
    Device,
    Epochs,
    First,
    LearningRate,
    Memory,
    MemoryPerClass,
    MethodName,
    MethodOptions,
    ModelOutput,
    NetworkName,
    Order,
    Phases,
    Precision,
    PresetName,
    Processes,
    Profile,
    Resume,
    RuleName,
    RunOutput,
    Seed,
    Selection,
    SpecFile,
    Step,
    Strict,
    Tensorboard,
    Threads,
    read_precision,
)
from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.engine.compiled import Compile
    from classgrow.engine.runtime import PrecisionWish
    from classgrow.experiments.run import Outcome
    from classgrow.learner import Learner
    from classgrow.records.record import Record
    from classgrow.specs.spec import Spec

OUTPUT = Path("runs")


@dataclass(frozen=True)
class HowToRun:
    """All that the flags say of a run besides its settings: none of it changes what the run is."""

    output: Path = OUTPUT
    data_dir: Path | None = None
    strict: bool = False
    resume: bool = False
    again: bool = False
    device: str = "auto"
    threads: int | None = None
    processes: int | None = None
    compile: Compile = "auto"
    precision: PrecisionWish = "auto"
    tensorboard: bool = False
    model: Path | None = None


def run(
    spec_file: SpecFile = None,
    dataset: DatasetName = None,
    method: MethodName = None,
    rule: RuleName = None,
    network: NetworkName = None,
    preset: PresetName = None,
    memory: Memory = None,
    memory_per_class: MemoryPerClass = None,
    first: First = None,
    step: Step = None,
    order: Order = None,
    seed: Seed = None,
    epochs: Epochs = None,
    phases: Phases = None,
    classes: Classes = None,
    profile: Profile = None,
    selection: Selection = None,
    lr: LearningRate = None,
    options: MethodOptions = None,
    output: RunOutput = OUTPUT,
    data_dir: Data = None,
    strict: Strict = False,
    resume: Resume = False,
    again: Again = False,
    device: Device = "auto",
    threads: Threads = None,
    processes: Processes = None,
    compile: CompileWord = "auto",
    precision: Precision = "auto",
    tensorboard: Tensorboard = False,
    model: ModelOutput = None,
) -> None:
    """Run one experiment and record it. Every setting has the paper's value for the data set as its default."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what ends a job early is as good as Ctrl-C
    settings = {
        "dataset": dataset, "method": method, "rule": rule, "network": network, "preset": preset,
        "memory": memory, "memory_per_class": memory_per_class, "first": first, "step": step, "order": order,
        "seed": seed, "epochs": epochs, "phases": phases, "classes": classes, "profile": profile,
        "selection": selection, "lr": lr, "options": read_options(options or []),
    }  # fmt: skip
    spec = read_spec(spec_file, settings)
    how = HowToRun(
        output=output, data_dir=data_dir, strict=strict, resume=resume, again=again, device=device, threads=threads,
        processes=processes, compile=read_compile(compile), precision=read_precision(precision),
        tensorboard=tensorboard, model=model,
    )  # fmt: skip
    run_here_or_in_several(spec, how)


def run_here_or_in_several(spec: Spec, how: HowToRun) -> None:
    """The run in this process, or the same command in as many as are asked for; Ctrl-C ends it with the way on."""
    from classgrow.engine.place import here
    from classgrow.experiments.launch import end_with_parent

    place, processes = here(), how.processes
    go_on = resume_command(spec, how)
    try:
        if processes is not None and processes > 1 and place.processes == 1:
            start_several(processes, how.threads, go_on)
            return
        if processes not in (None, place.processes):
            raise ClassgrowError(f"This is one of {place.processes} processes: leave out --processes {processes}.")
        end_with_parent()
        carry_out(spec, how)
    except KeyboardInterrupt:
        if place.rank == 0:
            typer.echo(f"Stopped. Go on with: {go_on}", err=True)
        raise typer.Exit(130) from None


def start_several(processes: int, threads: int | None, go_on: str) -> None:
    """The same command in several processes; what went wrong in any of them is reported once."""
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
            raise ClassgrowError(f"--option {word} is not NAME=NUMBER: write it like --option strength=0.5.") from None
    return found or None


def read_spec(spec_file: Path | None, settings: Mapping[str, object]) -> Spec:
    """The settings of the file, if any, under those of the flags."""
    from classgrow.specs.spec import Spec

    return Spec.from_options(settings) if spec_file is None else Spec.from_toml(spec_file, settings)


def resume_command(spec: Spec, how: HowToRun) -> str:
    """What to type to go on with a stopped run."""
    from classgrow.specs.spec import command

    words = [command(spec)]
    if how.output != OUTPUT:
        words.append(f"--output {shlex.quote(str(how.output))}")
    if how.data_dir is not None:
        words.append(f"--data {shlex.quote(str(how.data_dir))}")
    if how.model is not None:
        words.append(f"--model {shlex.quote(str(how.model))}")
    if how.processes is not None and how.processes > 1:
        words.append(f"--processes {how.processes}")
    if how.device != "auto":
        words.append(f"--device {shlex.quote(how.device)}")
    flags = {"--strict": how.strict, "--tensorboard": how.tensorboard, "--resume": True}
    return " ".join([*words, *(flag for flag, given in flags.items() if given)])


def carry_out(spec: Spec, how: HowToRun) -> None:
    """Run with a live bar; one line per phase, then the table. Of several processes only the first shows anything."""
    from rich.console import Console

    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console
    from classgrow.engine.place import here
    from classgrow.engine.runtime import decide
    from classgrow.experiments.run import run_spec
    from classgrow.experiments.tensorboard import tensorboard_log

    place = here()
    shows = place.rank == 0
    shown = console() if shows else Console(quiet=True)
    with LiveRun(shown) as live, tensorboard_log(how.output if how.tensorboard and shows else None) as log:

        def after_phase(record: Record) -> None:
            live.after_phase(record)
            log(record)

        outcome = run_spec(
            spec,
            how.output,
            how.data_dir,
            resume=how.resume,
            again=how.again,
            strict=how.strict,
            execution=decide(how.device, how.threads, processes=place.processes),
            compile=how.compile,
            precision=how.precision,
            progress=live,
            ready=live.ready,
            after_phase=after_phase,
            after_run=partial(keep_model, how.model) if how.model is not None else None,
        )
    if shows:
        show_outcome(outcome)


def keep_model(folder: Path, learner: Learner, record: Record) -> None:
    """The run's learner as a model that predicts, learns on and forgets as those of photos do."""
    from classgrow.photos.importing import import_run

    import_run(folder, learner, record)
    typer.echo(f"Model: {folder}")


def show_outcome(outcome: Outcome) -> None:
    """The table of a run that has ended, or where to see one that was there already."""
    from classgrow.cli.printing import print_table
    from classgrow.cli.tables import run_table

    if outcome.already_finished:
        typer.echo(
            f"This run is already finished ({len(outcome.record.phases)} phases): "
            f"see it with classgrow show {shlex.quote(str(outcome.folder))}, or start it afresh with --again."
        )
        return
    print_table(run_table(outcome.record))
    typer.echo(f"Recorded in {outcome.folder}")
