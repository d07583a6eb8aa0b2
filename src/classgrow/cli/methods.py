"""`classgrow methods`: the catalogue, and a card for each method."""

from __future__ import annotations

from typing import Annotated

import typer

from classgrow.cli.flags import with_flags
from classgrow.errors import ClassgrowError


def methods(
    name: Annotated[str | None, typer.Argument(help="A method: print its card.")] = None,
) -> None:
    """List the methods with their objective, or print the card of one."""
    from classgrow.methods import build_method
    from classgrow.methods.cards import card
    from classgrow.methods.catalogue import known_methods

    if name is not None:
        typer.echo(card(build_method(name)))
        return
    broken = []
    for known in known_methods():
        try:
            typer.echo(entry(known))
        except ClassgrowError as error:
            broken.append(str(error))
        except Exception as error:  # of a package that is not ours: it must not hide the others
            broken.append(f"The method {known!r} cannot be described ({error!r}): fix or uninstall its package.")
    for sentence in broken:
        typer.echo(f"Left out: {with_flags(sentence)}", err=True)


def entry(name: str) -> str:
    """A method in the list: its name, its objective and where it comes from."""
    from classgrow.methods import build_method

    method = build_method(name)
    year = f", {method.source.year}" if method.source.year else ""
    return f"{name}\n  {method.formula or 'trains nothing'}\n  {method.source.title}{year}"
