"""The pages: templates filled with values. Everything a page needs is inside it or beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined

from classgrow.records.record import Record
from classgrow.report.claims import Row
from classgrow.report.comparisons import ComparisonTable, interval_text, p_text
from classgrow.report.figures import figure_size
from classgrow.report.formula import typeset
from classgrow.report.gather import Results
from classgrow.report.headline import Headline
from classgrow.report.names import MISSING, dataset_title, label
from classgrow.report.panels import FigureData, own_figures
from classgrow.report.reduced import Gaps, brief, gaps, numbers
from classgrow.report.run_page import run_view
from classgrow.report.runs import Run
from classgrow.report.tables import Column, Table
from classgrow.report.toy_pictures import Picture, not_drawn
from classgrow.report.writers import AnyTable, number, signed


@dataclass(frozen=True)
class Content:
    """All that the first page shows."""

    results: Results
    headline: Headline
    claims: tuple[Row, ...]
    tables: tuple[Table, ...]
    own_tables: tuple[Table, ...]
    figures: tuple[FigureData, ...]
    own_figures: tuple[FigureData, ...]
    trade_offs: tuple[FigureData, ...]
    comparisons: tuple[ComparisonTable, ...]
    pictures: tuple[Picture, ...]
    problems: tuple[str, ...]
    settings_without_figure: int = 0

    @property
    def every_table(self) -> tuple[AnyTable, ...]:
        first = (self.headline.table,) if self.headline.table else ()
        return (*first, *self.tables, *self.own_tables, *self.comparisons)

    @property
    def every_figure(self) -> tuple[FigureData, ...]:
        first = (self.headline.figure,) if self.headline.figure else ()
        return (*first, *self.figures, *self.own_figures, *self.trade_offs)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("classgrow.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": lambda value, digits=1: number(value, digits).replace("-", "−"),
        "signed": lambda value: signed(value).replace("-", "−"),
        "percent": lambda value: number(None if value is None else 100 * value).replace("-", "−"),
        "label": label,
        "dataset": dataset_title,
        "duration": duration,
        "interval": lambda result: interval_text(result).replace("-", "−"),
        "p_value": p_text,
        "brief": brief,
        "formula": typeset,
        "numbers": numbers,
        "pixels": lambda figure: [round(100 * inches) for inches in figure_size(figure)],
        "moment": lambda text: text[:16].replace("T", " ") if text else MISSING,
    }
    environment.globals["MISSING"] = MISSING
    return environment


def duration(seconds: float | None) -> str:
    """ "42 s", "7.5 min", "3.2 h"; nothing measured is a dash."""
    if not seconds:
        return MISSING
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def index_page(content: Content) -> str:
    """The first page."""
    runs = content.results.runs
    return (
        _environment()
        .get_template("index.html")
        .render(
            content=content,
            missing=missing(content),
            not_drawn=not_drawn(content.pictures),
            blocks=blocks,
            runs=sorted(runs, key=_run_order),
            complete=[run for run in runs if run.complete],
            failed=[run for run in runs if not run.complete and run.status == "failed"],
            unfinished=[run for run in runs if not run.complete and run.status != "failed"],
            methods=len({run.method for run in runs}),
            seconds=sum(run.seconds or 0 for run in runs),
        )
    )


def run_html(record: Record, run: Run) -> str:
    """The page of one run."""
    return _environment().get_template("run.html").render(**run_view(record, run))


def blocks(table: Table) -> list[tuple[str, list[tuple[int, Column]]]]:
    """A table's columns by data set: each becomes a table of its own on the page, so that it fits."""
    places = list(enumerate(table.columns))
    return [(group, list(members)) for group, members in groupby(places, key=lambda pair: pair[1].group)]


def missing(content: Content) -> Gaps:
    """Tables and figures of the paper that no finished run belongs to, or only reduced ones."""
    own = content.own_figures
    if content.settings_without_figure:  # they have runs, though no picture
        own = tuple(own_figures(content.results, len(own) + content.settings_without_figure)[0])
    tables, figures = (*content.tables, *content.own_tables), (*content.figures, *own)
    return gaps([*(table.part for table in tables), *(figure.part for figure in figures)])


def _run_order(run: Run) -> tuple[str, str, str, str, int]:
    return (run.regimen.slug, run.setting.slug, run.method, run.order, run.seed)
