"""Tables as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from classgrow.records.export import spreadsheet_safe
from classgrow.report.comparisons import Comparison, ComparisonTable, interval_text, p_text
from classgrow.report.names import MISSING, label
from classgrow.report.significance import Paired
from classgrow.report.tables import Cell, Table

AnyTable = Table | ComparisonTable

COMPARISON_HEADER = ("method", "setting", "n", "final", "interval", "p", "average", "interval", "p")


def write_table(table: AnyTable, folder: Path) -> list[Path]:
    """`name`.md, .csv and .tex in `folder`."""
    texts = {".md": markdown(table), ".csv": csv_text(table), ".tex": latex(table)}
    paths = []
    for ending, text in texts.items():
        path = folder / f"{table.name}{ending}"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def number(value: float | None, digits: int = 1) -> str:
    """One decimal, as the paper prints; a missing number is a dash."""
    return MISSING if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 1) -> str:
    """With its sign, and never "-0.0"."""
    return MISSING if value is None else f"{round(value, digits) + 0.0:+.{digits}f}"


# ---------------------------------------------------------------------------------------------------------------------
# Markdown


def markdown(table: AnyTable) -> str:
    """Title, what was shortened, the table, notes."""
    if isinstance(table, Table):
        header: Sequence[str] = ["method", *(f"{one.group} {one.title}".strip() for one in table.columns)]
        body = [[name, *map(_markdown_cell, cells)] for name, cells in zip(table.labels, table.rows, strict=True)]
        notes = (*table.notes, _cell_key(table))
    else:
        header, notes = COMPARISON_HEADER, table.notes
        body = [comparison_texts(row) for row in table.rows]
    lines = [_markdown_row(header), _markdown_row(["---"] * len(header)), *map(_markdown_row, body)]
    below = "\n".join(f"- {note}" for note in notes)
    title, text, rest = map(_markdown_text, (table.title, table.words, below))
    return f"# {title}\n\n{text}\n\n" + "\n".join(lines) + f"\n\n{rest}\n"


def _markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(_markdown_text(text).replace("|", "\\|") for text in texts) + " |"


def _markdown_text(text: str) -> str:
    """Without HTML: Markdown would pass it on to the reader's browser."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _markdown_cell(cell: Cell) -> str:
    paper = "" if cell.paper is None else f"paper {number(cell.paper)}"
    if cell.value is None:
        return f"missing ({paper})" if paper else "missing"
    spread = "" if cell.std is None else f" ± {number(cell.std)}"
    details = [text for text in (paper, signed(cell.difference) if paper else "", f"n={cell.n}") if text]
    return f"{number(cell.value)}{spread} ({', '.join(details)})"


def _cell_key(table: Table) -> str:
    with_paper = any(column.with_paper for column in table.columns)
    details = "(the paper's value, ours minus the paper's, n runs)" if with_paper else "(n runs)"
    return (
        f"Cells, in percent: mean ± standard deviation over class orders {details}. A run that is missing is missing."
    )


# ---------------------------------------------------------------------------------------------------------------------
# CSV: one row for each cell, unrounded


def csv_text(table: AnyTable) -> str:
    """Long form. A missing number is an empty field."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if isinstance(table, Table):
        names = ("mean", "minimum", "maximum", "standard_deviation", "n", "paper", "difference")
        writer.writerow(["dataset", "setting", "metric", "method", *names, "shortened"])
        for method, cells in zip(table.methods, table.rows, strict=True):
            for column, cell in zip(table.columns, cells, strict=True):
                values = (cell.value, cell.low, cell.high, cell.std, cell.n, cell.paper, cell.difference)
                texts = map(spreadsheet_safe, (column.group, column.title, column.metric, method))
                writer.writerow([*texts, *map(_plain, values), spreadsheet_safe(table.words)])
    else:
        numbers = ("difference", "low", "high", "p")
        columns = [f"{metric}_{name}" for metric in ("final", "average") for name in numbers]
        writer.writerow(["setting", "reference", "method", "n", *columns, "shortened"])
        for row in table.rows:
            found = [*_paired_values(row.final), *_paired_values(row.average)]
            texts = map(spreadsheet_safe, (row.setting.title, row.reference, row.method))
            writer.writerow([*texts, row.final.n, *map(_plain, found), spreadsheet_safe(table.words)])
    return stream.getvalue()


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _paired_values(result: Paired) -> tuple[float | None, ...]:
    return result.mean, result.low, result.high, result.p


def comparison_texts(row: Comparison) -> list[str]:
    """The cells of a comparison as they are shown."""
    texts = [label(row.method), row.setting.title, str(row.final.n)]
    for result in (row.final, row.average):
        texts += [signed(result.mean), interval_text(result), p_text(result)]
    return texts


# ---------------------------------------------------------------------------------------------------------------------
# LaTeX


def latex(table: AnyTable) -> str:
    """A `table` environment with booktabs rules; best values bold, as in the paper."""
    if isinstance(table, Table):
        header = ["method", *(f"{one.group} {one.title}".strip() for one in table.columns)]
        body = [
            [_escaped(name), *(_latex_cell(cell, table.is_best(row, place)) for place, cell in enumerate(cells))]
            for row, (name, cells) in enumerate(zip(table.labels, table.rows, strict=True))
        ]
        notes = (*table.notes, _cell_key(table))
    else:
        header, notes = list(COMPARISON_HEADER), table.notes
        body = [[_escaped(text) for text in comparison_texts(row)] for row in table.rows]
    caption = _escaped(" ".join([f"{table.title}.", table.words, *notes]))
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{l{'c' * (len(header) - 1)}}}",
        r"\toprule",
        " & ".join(_latex_header(text) for text in header) + r" \\",
        r"\midrule",
        *(" & ".join(cells) + r" \\" for cells in body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_header(text: str) -> str:
    """The setting in two lines, since eight of them have to fit."""
    head, _, tail = text.partition(", ")
    return rf"\shortstack{{{_escaped(head)}\\{_escaped(tail)}}}" if tail else _escaped(text)


def _latex_cell(cell: Cell, best: bool) -> str:
    if cell.value is None:
        value = "missing"
    else:
        value = rf"\textbf{{{number(cell.value)}}}" if best else number(cell.value)
        value += "" if cell.std is None else rf" $\pm$ {number(cell.std)}"
    details = [] if cell.paper is None else [number(cell.paper)]
    if cell.difference is not None:
        details.append(f"${signed(cell.difference)}$")
    if cell.n:
        details.append(f"$n={cell.n}$")
    return rf"\shortstack{{{value}\\{{\scriptsize {', '.join(details)}}}}}" if details else value


_SPECIAL = {
    **{letter: f"\\{letter}" for letter in "&%_#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
}


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
