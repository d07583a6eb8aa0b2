"""`classgrow toy`: the small experiments and drawings of the paper that need no grid."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.cli.flags import FlagCommand
from classgrow.cli.options import Data

if TYPE_CHECKING:
    from classgrow.experiments.toys.simulation import Case

toy = typer.Typer(no_args_is_help=True, help="The paper's small experiments and drawings.", rich_markup_mode=None)
Output = Annotated[Path, typer.Option(help="Where pictures and numbers go.")]
OUTPUT = Path("runs") / "toy"  # where `classgrow report runs` finds them


@toy.command(cls=FlagCommand)
def simulation(
    output: Output = OUTPUT,
    seeds: Annotated[int, typer.Option(min=1, help="Starts of each simulation.")] = 20,
    iterations: Annotated[int, typer.Option(min=1, help="Steps of descent.")] = 5000,
) -> None:
    """Points in the plane, 3 to 10 classes: rectified against plain cosine (figure A1)."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console, print_table
    from classgrow.cli.tables import Table
    from classgrow.experiments.toys.simulation import CLASSES, as_json, simulate
    from classgrow.records.folder import make_writable
    from classgrow.report.toys import HEAD_NAMES, SETTING, write_simulation

    make_writable(output)
    with LiveRun(console()) as live:
        live.begin(f"{len(CLASSES)} simulations", iterations * len(CLASSES))
        cases = simulate(seeds=seeds, iterations=iterations, advance=live.advance)
        live.end()
    content = as_json(cases, iterations)
    print_table(
        Table(
            columns=("classes", *(f"{name}: {what}" for name in HEAD_NAMES.values() for what in ("angle", "collapse"))),
            rows=tuple(
                (str(classes), *(cell for head in HEAD_NAMES for cell in simulation_cells(cases, classes, head)))
                for classes in CLASSES
            ),
            title=f"Smallest angle between two classes and share of starts that collapse, η {SETTING}",
        )
    )
    finish(output, "simulation", content, write_simulation(content, output))


def simulation_cells(cases: Sequence[Case], classes: int, head: str) -> tuple[str, str]:
    from classgrow.report.toys import SETTING

    case = next(one for one in cases if (one.classes, one.head, one.eta) == (classes, head, SETTING))
    return f"{sum(case.min_angles) / case.seeds:.0f}°", f"{case.collapsed:.0%}"


@toy.command(cls=FlagCommand)
def mnist(
    output: Output = OUTPUT,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Decides every random draw.")] = 1,
    data_dir: Data = None,
    images: Annotated[int | None, typer.Option(min=100, hidden=True)] = None,
) -> None:
    """Features of three numbers for MNIST's digits: rectified against plain cosine, by t-SNE (figure 3)."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console, print_table
    from classgrow.cli.tables import Table, percent
    from classgrow.experiments.toys.mnist import run_mnist
    from classgrow.records.folder import make_writable
    from classgrow.report.toys import HEAD_NAMES, write_mnist

    make_writable(output)
    with LiveRun(console()) as live:
        live.phases = 1
        content = run_mnist(data_dir, epochs=epochs, seed=seed, images=images, progress=live)
    scores = content["scores"]
    print_table(
        Table(
            columns=("head", "between digits", "smallest", "within", "separation", "nearest mean", "head's answer"),
            rows=tuple(
                (
                    name,
                    f"{scores[head]['mean_angle']:.1f}°",
                    f"{scores[head]['smallest_angle']:.1f}°",
                    f"{scores[head]['angle_within']:.1f}°",
                    f"{scores[head]['separation']:.1f}",
                    percent(scores[head]["nearest_mean_accuracy"]),
                    percent(scores[head]["head_accuracy"]),
                )
                for head, name in HEAD_NAMES.items()
            ),
            title="Ten digits in three dimensions: angles between class means and to the own mean, accuracy in %",
        )
    )
    finish(output, "mnist", content, write_mnist(content, output))


@toy.command(cls=FlagCommand)
def drawings(
    output: Output = OUTPUT,
    seed: Annotated[int, typer.Option(min=0, help="Decides every random draw.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
) -> None:
    """The process (figure 1), and the graph of features and classes from a small model (figure 2)."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console
    from classgrow.experiments.toys.graph import feature_graph
    from classgrow.records.folder import make_writable
    from classgrow.report.drawings import write_drawings

    make_writable(output)
    with LiveRun(console()) as live:
        live.phases = 2
        content = feature_graph(epochs=epochs, seed=seed, progress=live)
    finish(output, "graph", content, write_drawings(content, output))


def finish(output: Path, name: str, content: Mapping[str, object], paths: list[Path]) -> None:
    """Keep the numbers behind the pictures, and say where everything is."""
    numbers = output / f"{name}.json"
    numbers.write_text(json.dumps(content), encoding="utf-8")
    typer.echo(f"Written: {', '.join(str(path) for path in [*paths, numbers])}")
