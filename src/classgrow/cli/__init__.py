"""The command line: parse, call, print. Heavy libraries are imported inside the commands, so that help is instant."""

from __future__ import annotations

import errno
import io
import sys
from contextlib import suppress
from typing import Annotated

import typer

from classgrow import __version__
from classgrow.cli.check import check
from classgrow.cli.data import data
from classgrow.cli.demo import demo
from classgrow.cli.doctor import doctor
from classgrow.cli.evaluate import evaluate
from classgrow.cli.export import export
from classgrow.cli.flags import FlagCommand
from classgrow.cli.learn import learn
from classgrow.cli.methods import methods
from classgrow.cli.models import forget, history, inspect, rename, rollback
from classgrow.cli.paper import paper
from classgrow.cli.predict import predict
from classgrow.cli.report import report
from classgrow.cli.run import run
from classgrow.cli.serve import serve
from classgrow.cli.show import show
from classgrow.cli.toy import toy
from classgrow.engine.place import here
from classgrow.errors import ClassgrowError, ReportedElsewhereError
from classgrow.experiments.launch import end_at_once

MODELS = (learn, predict, evaluate, inspect, check, forget, rename, history, rollback, export, serve, doctor)
EXPERIMENTS = (run, show, methods, demo, paper, report, data)
app = typer.Typer(
    name="classgrow",
    help="Class-incremental image learning: classifiers that learn new classes as they arrive.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: its boxes would double the time it takes
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (*MODELS, *EXPERIMENTS):
    app.command(cls=FlagCommand)(command)
app.add_typer(toy, name="toy")


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"classgrow {__version__}")
        raise typer.Exit()


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before a command."""


def is_one_of_several() -> bool:
    try:
        return here().processes > 1
    except ClassgrowError:  # an incomplete environment; whatever needs it has said so
        return False


OF_THE_SYSTEM = {getattr(errno, name) for name in (
    "ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO", "EPIPE", "ELOOP", "ENAMETOOLONG", "EMFILE", "ENFILE",
    "ENOTDIR", "EISDIR",
) if hasattr(errno, name)}  # fmt: skip
"""What the system says that its user can change: a full disk, a missing right, a link to itself."""


def sentence_of(error: OSError) -> str:
    """What the system says, with the way out."""
    place = f" at {error.filename}" if error.filename else ""
    return f"The system says {error.strerror}{place}: free some space or choose another place, and try again."


def main() -> None:
    """The console script. What a user can fix is one sentence and exit code 2; anything else keeps its traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name that the terminal or the pipe has no letters for
    try:
        app(prog_name="classgrow")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except ClassgrowError as error:
        if not isinstance(error, ReportedElsewhereError):
            from classgrow.records.words import printable

            print(f"Error: {printable(str(error))}", file=sys.stderr)
        code = error.exit_code
    except OSError as error:
        if error.errno not in OF_THE_SYSTEM:
            raise
        with suppress(OSError):
            print(f"Error: {sentence_of(error)}", file=sys.stderr)
        code = 2
    if is_one_of_several():
        # While Python clears up, a thread of the network library may wake up and abort the process, or go on waiting
        # for a process that is lost.
        end_at_once(code)
    sys.exit(code)
