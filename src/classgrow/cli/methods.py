"""`classgrow methods`: the catalogue, and a card for each method."""

from __future__ import annotations

from typing import Annotated

import typer


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
    for known in known_methods():
        method = build_method(known)
        year = f", {method.source.year}" if method.source.year else ""
        typer.echo(f"{known}\n  {method.formula}\n  {method.source.title}{year}")
