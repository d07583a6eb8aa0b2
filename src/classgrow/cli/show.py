"""`classgrow show`: what runs recorded, for people or for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.cli.flags import with_flags

if TYPE_CHECKING:
    from classgrow.records.record import Record, Retry
    from classgrow.specs.spec import ResolvedSpec


def show(
    path: Annotated[Path, typer.Argument(metavar="RUN_OR_DIR", help="A run's folder, or a folder of runs.")],
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON, for programs.")] = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a CSV file: a row for each run, phase and rule.")
    ] = None,
) -> None:
    """Show what a run recorded, or a table of all runs below a folder."""
    from classgrow.records.folder import find_record_files, read_records
    from classgrow.records.record import RECORD_FILE

    single = path.is_file() or (path / RECORD_FILE).is_file()
    found, problems = read_records(find_record_files(path))
    runs = [(file.parent, record) for file, record in found]
    if csv is not None and as_json:
        raise typer.BadParameter("--csv and --json are two answers: ask for one at a time.")
    if csv is not None:
        from classgrow.records.export import to_csv

        typer.echo(f"Written: {to_csv([record for _, record in runs], csv)}")
    elif as_json:
        contents = [as_json_values(folder, record) for folder, record in runs]
        typer.echo(json.dumps(contents[0] if single else contents, indent=1, allow_nan=False))
    elif single:
        print_run(*found[0])
    else:
        from classgrow.cli.printing import print_table
        from classgrow.cli.tables import runs_table

        print_table(runs_table(runs))
    for problem in problems:
        typer.echo(f"Left out: {with_flags(problem)}", err=True)


def as_json_values(folder: Path, record: Record) -> dict[str, object]:
    """The record, and its summary by every rule (`summary`: by the method's own)."""
    from dataclasses import asdict

    from classgrow.records.record import to_json
    from classgrow.records.summary import summary

    names = [rule.name for rule in record.method.rules]
    return {
        "folder": str(folder),
        "summary": asdict(summary(record)),
        "rules": {rule: asdict(summary(record, rule)) for rule in names},
        "record": to_json(record),
    }


def print_run(file: Path, record: Record) -> None:
    """One run for people."""
    folder = file.parent
    from classgrow.cli.printing import console, print_table
    from classgrow.cli.tables import detail_table
    from classgrow.records.words import printable

    for name, text in [*facts(folder, record), ("seal", seal_text(file))]:
        console().print(f"{name + ':':<10} {printable(text)}", markup=False, emoji=False, soft_wrap=True)
    print_table(detail_table(record))


def facts(folder: Path, record: Record) -> list[tuple[str, str]]:
    """What a run was, on what it ran, and how to repeat it: (name, text) in reading order."""
    from classgrow.cli.live import clock_text
    from classgrow.records.departures import set_by_hand
    from classgrow.records.repeat import repeat_command
    from classgrow.records.summary import order_name

    resolved, machine, versions = record.resolved, record.hardware, record.versions
    recipe = resolved.recipe
    options = set_by_hand(None, resolved.options.items())
    seconds = sum(phase.seconds.total for phase in record.phases)
    state = {"finished": "finished", "running": "not finished", "failed": "failed"}[record.status]
    threads = f"{record.execution.threads} thread{'s' if record.execution.threads != 1 else ''}"
    precision = f", {record.execution.precision}" if record.execution.precision != "float32" else ""
    commit = f", commit {record.code.commit}" if record.code.commit else ""
    gigabytes = f", {machine.memory_gb} GB" if machine.memory_gb else ""
    return [
        ("run", f"{folder} ({state}, {len(record.phases)} of {record.phases_planned} phases)"),
        ("objective", record.method.formula),
        ("steps", "; ".join(record.method.steps)),
        ("rule", record.rule(record.headline).formula),
        (
            "data",
            f"{resolved.dataset}, classes per phase {sizes_text(record.phase_sizes)}, class order "
            f"{order_name(record)}, seed {record.seed}",
        ),
        ("network", network_text(resolved)),
        ("memory", memory_text(resolved)),
        (
            "recipe",
            f"{recipe.first.epochs} epochs, then {recipe.later.epochs} a phase, learning rate "
            f"{recipe.first.lr:g}{options}, batches of {recipe.batch_size} ({resolved.profile})",
        ),
        (
            "hardware",
            f"{machine.cpu}, {machine.cores} cores{gigabytes}, {machine.machine}; {record.execution.device}, {threads}"
            f"{precision}",
        ),
        (
            "versions",
            f"classgrow {record.code.version}{commit}, torch {versions.torch}, numpy {versions.numpy}, "
            f"python {versions.python}",
        ),
        *(("retried", retry_text(retry)) for retry in record.retries),
        ("time", f"{clock_text(seconds)} (started {record.started})"),
        *shared_text(record),
        ("repeat", repeat_command(record) or "not by this version: it does not know all settings"),
    ]


def seal_text(file: Path) -> str:
    """Whether the numbers are those that were written; records of earlier versions cannot tell."""
    from classgrow.records.seal import is_sealed

    return "the digest fits the content" if is_sealed(file) else "not sealed (written by an earlier version)"


def shared_text(record: Record) -> list[tuple[str, str]]:
    """Where the training of the first phase comes from, if it is another run's."""
    origin = record.first_phase
    if origin is None:
        return []
    return [("phase 1", f"trained by the run {origin.run} (finished {origin.finished}), its seconds included in time")]


def network_text(resolved: ResolvedSpec) -> str:
    from classgrow.presets import PRESETS

    preset = PRESETS[resolved.kind]
    return f"{resolved.network or preset.network} (preset {preset.name})"


def retry_text(retry: Retry) -> str:
    return (
        f"phase {retry.phase}, epoch {retry.epoch}, update {retry.update}: the loss stopped being a number at a "
        f"learning rate of {retry.rate:.6g}; every rate was halved from the checkpoint before on"
    )


def sizes_text(sizes: list[int]) -> str:
    """[50, 10, 10] as 50 + 2 x 10."""
    groups: list[list[int]] = []
    for size in sizes:
        if groups and groups[-1][1] == size:
            groups[-1][0] += 1
        else:
            groups.append([1, size])
    return " + ".join(f"{times} x {size}" if times > 1 else str(size) for times, size in groups)


def memory_text(resolved: ResolvedSpec) -> str:
    if resolved.memory:
        return f"{resolved.memory} exemplars in total, by {resolved.selection}"
    if resolved.memory_per_class:
        return f"{resolved.memory_per_class} exemplars per class, by {resolved.selection}"
    return "no limited memory"
