"""Answers for photos as a table, as lines, as JSON or as CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Protocol

import typer

from classgrow.records.words import printable

if TYPE_CHECKING:
    from classgrow.photos.results import Nearest, Prediction
    from classgrow.photos.sources import Skipped

NONE = "none of the known classes"


class Writer(Protocol):
    """Takes answers as they come."""

    def answer(self, one: Prediction) -> None: ...

    def skipped(self, one: Skipped) -> None: ...

    def end(self) -> None: ...


def writer_for(as_json: bool, as_csv: bool, watching: bool, photos: int, top: int) -> Writer:
    """What was asked for; for people one photo in full, several in a table, and a line at a time while watching."""
    if as_json:
        return JsonLines()
    if as_csv:
        return CsvRows(top)
    if watching:
        return Lines()
    return OnePhoto() if photos == 1 else TableOfPhotos(top)


def sure(probability: float) -> str:
    """0.931 as 93.1 %; never quite certain."""
    return f"{min(100 * probability, 99.9):.1f} %"


def most_like(nearest: tuple[Nearest, ...]) -> str:
    """The kept photo most like it; nothing where none is kept."""
    return f"{nearest[0].source or nearest[0].name} ({nearest[0].similarity:.2f})" if nearest else ""


class JsonLines:
    """One object a line."""

    def answer(self, one: Prediction) -> None:
        nearest = [
            {"class": near.name, "photo": near.source, "file": str(near.file or ""), "similarity": near.similarity}
            for near in one.nearest
        ]
        ranking = [{"class": name, "probability": probability} for name, probability in one.ranking]
        content = {
            "photo": one.source,
            "class": one.name,
            "unknown": one.unknown,
            "probability": one.probability,
            "ranking": ranking,
            "distance": one.distance,
            "nearest": nearest,
        }
        typer.echo(json.dumps(content))

    def skipped(self, one: Skipped) -> None:
        typer.echo(json.dumps({"photo": one.file, "error": one.reason}))

    def end(self) -> None:
        pass


class CsvRows:
    """A row for each photo; no cell is ever a formula."""

    def __init__(self, top: int) -> None:
        self._top = top
        ranks = [f"{column}_{place}" for place in range(1, top + 1) for column in ("class", "probability")]
        self._columns = ["photo", "class", "unknown", *ranks, "most_like", "error"]
        self._begun = False

    def answer(self, one: Prediction) -> None:
        ranking: list[str | float] = [value for pair in one.ranking[: self._top] for value in pair]
        blank = [""] * (2 * self._top - len(ranking))
        like = one.nearest[0].source if one.nearest else ""
        self._row(
            [
                one.source,
                one.name or "",
                "" if one.unknown is None else str(one.unknown).lower(),
                *ranking,
                *blank,
                like,
                "",
            ]
        )

    def skipped(self, one: Skipped) -> None:
        self._row([one.file, *[""] * (len(self._columns) - 2), one.reason])

    def end(self) -> None:
        pass

    def _row(self, cells: list[str | float]) -> None:
        from classgrow.records.export import spreadsheet_safe

        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        if not self._begun:
            rows.writerow(self._columns)
            self._begun = True
        rows.writerow([spreadsheet_safe(printable(cell) if isinstance(cell, str) else cell) for cell in cells])
        typer.echo(text.getvalue(), nl=False)


class Lines:
    """A line as soon as there is an answer."""

    def answer(self, one: Prediction) -> None:
        typer.echo(printable(f"{one.source}: {NONE if one.name is None else f'{one.name}, {sure(one.probability)}'}"))

    def skipped(self, one: Skipped) -> None:
        pass

    def end(self) -> None:
        pass


class OnePhoto:
    """One photo in full: the classes in question, and what it was compared with."""

    def answer(self, one: Prediction) -> None:
        name = NONE if one.name is None else f"{one.name}, {sure(one.probability)}"
        typer.echo(printable(f"{one.source}: {name}"))
        if one.name is None:
            typer.echo("If it had to be one of them:")
        width = max(len(printable(name)) for name, _ in one.ranking)
        for name, probability in one.ranking:
            bar = "#" * round(30 * probability)
            typer.echo(f"  {printable(name):<{width}}  {sure(probability):>7}  {bar}".rstrip())
        if one.nearest:
            like = ", ".join(f"{near.source or near.name} ({near.similarity:.2f})" for near in one.nearest[:3])
            typer.echo(printable(f"Most like these kept photos: {like}"))

    def skipped(self, one: Skipped) -> None:
        pass

    def end(self) -> None:
        pass


class TableOfPhotos:
    """A row for each photo."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._rows: list[tuple[str, ...]] = []

    def answer(self, one: Prediction) -> None:
        others = one.ranking if one.name is None else one.ranking[1:]
        then = ", ".join(f"{name} {sure(probability)}" for name, probability in others[:2] if probability >= 0.005)
        name = NONE if one.name is None else one.name
        share = "" if one.name is None else sure(one.probability)
        self._rows.append((one.source, name, share, *([then] if self._top > 1 else []), most_like(one.nearest)))

    def skipped(self, one: Skipped) -> None:
        pass

    def end(self) -> None:
        if not self._rows:
            return
        from classgrow.cli.printing import print_table
        from classgrow.cli.tables import Table

        columns = ("photo", "class", "sure", *(["otherwise"] if self._top > 1 else []), "most like")
        print_table(Table(columns, tuple(self._rows), words=True))
