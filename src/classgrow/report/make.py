"""`classgrow report`: from a folder of records to a folder with tables, figures and pages."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.records.folder import find_failures, find_record_files
from classgrow.records.official import official_records
from classgrow.records.record import Record, read_record
from classgrow.report.claims import claim_rows
from classgrow.report.comparisons import comparison_tables
from classgrow.report.figures import write_figure
from classgrow.report.gather import gather
from classgrow.report.headline import headline
from classgrow.report.page import Content, index_page, run_html
from classgrow.report.panels import own_figures, paper_figures
from classgrow.report.runs import Run, run_of
from classgrow.report.tables import own_tables, paper_tables
from classgrow.report.toy_pictures import Picture, write_toys
from classgrow.report.trade_offs import trade_off_figures
from classgrow.report.writers import write_table

MARKER = "classgrow-report.json"
"""A folder with this file is a report, and may be replaced by a newer one."""
PARTS = (MARKER, "index.html", "tables", "figures", "runs")
MOST_OWN_FIGURES = 16


@dataclass(frozen=True)
class ReportSummary:
    """What was made."""

    output: Path
    runs: int
    complete: int
    tables: int
    figures: int
    problems: tuple[str, ...]

    @property
    def index(self) -> Path:
        return self.output / "index.html"


def make_report(path: Path | str, output: Path | str, authors: bool = False) -> ReportSummary:
    """Read the records at `path` and write the report into `output`.

    `authors`: with the results that FGP's authors published, as if they were runs, and named as theirs.
    A report that is there already is replaced, in one go at the end; a folder that holds anything else is refused.
    A record that cannot be read is named in the report and does not stop it; if none can, that is a ClassgrowError.
    """
    files = find_record_files(path)
    output = Path(output)
    check_output(output)
    with _draft_beside(output) as draft:
        for name in ("tables", "figures", "runs"):
            (draft / name).mkdir()
        runs, problems = write_runs(files, official_records() if authors else [], draft / "runs")
        problems += find_failures(path)
        pictures, broken = write_toys(Path(path), draft / "figures")
        content = write_content(runs, [*problems, *broken], pictures, draft)
        tables, figures = content.every_table, (*content.every_figure, *content.pictures)
        found = content.results.runs
        made = ReportSummary(
            output, len(found), sum(run.complete for run in found), len(tables), len(figures), content.problems
        )
        marker = {"made_by": "classgrow report", "runs": made.runs, "tables": made.tables, "figures": made.figures}
        (draft / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="utf-8")
        _replace(draft, output)
    return made


@contextmanager
def _draft_beside(output: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, on the same disk as `output`."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent)
    except OSError as error:
        raise ClassgrowError(f"Cannot write beside {output} ({error.strerror}): choose another `output`.") from error
    with temporary as name:
        yield Path(name)


def check_output(output: Path) -> None:
    """Refuses a place that is not free, empty or a report."""
    if output.exists() and not output.is_dir():
        raise ClassgrowError(f"{output} is a file: choose another `output`.")
    if output.is_dir() and any(output.iterdir()) and not (output / MARKER).is_file():
        raise ClassgrowError(f"{output} holds something that is not a report: choose another `output`.")


def write_runs(files: list[Path], others: list[Record], folder: Path) -> tuple[list[Run], list[str]]:
    """A page for each record, one at a time: of a record only its few numbers stay in memory."""
    best: dict[str, Run] = {}
    problems = []
    found: list[Path | Record] = [*files, *others]
    for one in found:
        try:
            record = read_record(one) if isinstance(one, Path) else one
        except ClassgrowError as error:
            problems.append(str(error))
            continue
        run = run_of(record)
        known = best.get(run.identity)
        if known is None or run.phases_done > known.phases_done:
            best[run.identity] = run
            (folder / f"{run.identity}.html").write_text(run_html(record, run), encoding="utf-8")
    if not best:
        raise ClassgrowError(problems[0])
    return list(best.values()), problems


def write_content(runs: list[Run], problems: list[str], pictures: list[Picture], folder: Path) -> Content:
    """Tables, figures and the first page."""
    results = gather(runs)
    own, left_out = own_figures(results, MOST_OWN_FIGURES)
    content = Content(
        results=results,
        headline=headline(results),
        claims=tuple(claim_rows(results)),
        tables=tuple(paper_tables(results)),
        own_tables=tuple(own_tables(results)),
        figures=tuple(paper_figures(results)),
        own_figures=tuple(own),
        trade_offs=tuple(trade_off_figures(results)),
        comparisons=tuple(comparison_tables(results)),
        pictures=tuple(pictures),
        problems=tuple(problems),
        settings_without_figure=left_out,
    )
    for table in content.every_table:
        write_table(table, folder / "tables")
    for figure in content.every_figure:
        write_figure(figure, folder / "figures")
    (folder / "index.html").write_text(index_page(content), encoding="utf-8")
    return content


def _replace(draft: Path, output: Path) -> None:
    """Put the new parts where the old ones were; anything a person added beside them stays."""
    try:
        output.mkdir(exist_ok=True)
        for name in PARTS:
            old = output / name
            if old.is_dir():
                shutil.rmtree(old)
            elif old.exists():
                old.unlink()
            (draft / name).rename(old)
    except OSError as error:
        raise ClassgrowError(f"Cannot write to {output} ({error.strerror}): choose another `output`.") from error
