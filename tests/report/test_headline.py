"""The page opens with its answer: the whole curve beside the authors', then one table of methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from classgrow.records.record import Record
from classgrow.report.gather import Results, gather
from classgrow.report.headline import headline
from classgrow.report.make import make_report
from classgrow.report.runs import run_of
from classgrow.specs.paper import METHODS


def results_of(*records: Record) -> Results:
    return gather(map(run_of, records))


def fast(record: Record) -> Record:
    """The same with the fast profile: 100 images/s for 6 s in each of ten phases of 5,000 images, 70 epochs in full."""
    assert record.spec is not None
    return record.model_copy(
        update={
            "resolved": replace(record.resolved, profile="fast"),
            "spec": record.spec.model_copy(update={"profile": "fast"}),
        }
    )


def test_the_whole_curve_stands_beside_the_authors_band_by_both_rules(make) -> None:  # type: ignore[no-untyped-def]
    """Ours falls evenly from 80 to 50; the authors' files have order 0 at 85.0 and 47.4 by nearest mean, 38.3 by the
    head, and 46.0 to 48.4 over their orders at the end."""
    found = headline(results_of(make("fgp", "0", 0.5, memory=2000)))
    assert found.sentences == (
        "FGP at its authors' settings, order 0, 2,000 images: 50.0 % after 100 classes; the authors' "
        "own files have 47.4 %.",
    )
    assert found.table is None and found.figure is not None
    nearest, head = found.figure.rows[0]
    band, theirs, ours = nearest.series
    assert [one.legend for one in nearest.series] == ["the authors, 5 orders", "the authors, order 0", "FGP, order 0"]
    assert band.band and band.low is not None and band.high is not None
    assert (band.low[-1], band.high[-1]) == pytest.approx((46.0, 48.4))
    assert (theirs.y[0], theirs.y[-1]) == pytest.approx((85.0, 47.4))
    assert ours.x == tuple(range(10, 101, 10)) and (ours.y[0], ours.y[-1]) == pytest.approx((80.0, 50.0))
    assert head.series[1].y[-1] == pytest.approx(38.3)
    assert head.series[2].y == pytest.approx([10.0] * 10)
    assert "so far" not in found.figure.words


def test_a_run_that_has_not_come_to_its_end_shows_what_there_is(make) -> None:  # type: ignore[no-untyped-def]
    found = headline(results_of(make("fgp", "0", 0.5, memory=2000, phases=2)))
    assert found.figure is not None and found.figure.words.startswith(
        "2 of 10 phases so far. Shortened: CIFAR-100 only;"
    )
    assert found.figure.rows[0][0].series[-1].x == (10.0, 20.0)
    assert "after 20 classes; the authors' own files have 74.8 %" in found.sentences[0]


def test_the_table_is_that_of_the_papers_setting_once_two_methods_were_run_there(make) -> None:  # type: ignore[no-untyped-def]
    """Three methods with the fast profile, though six were run in a smaller setting."""
    small = [make(name, "0", 0.3, classes=20, first=4, step=4, memory=200) for name in METHODS]
    runs = [fast(make(name, "0", level, memory=2000)) for name, level in (("fgp", 0.42), ("icarl", 0.44))]
    found = headline(results_of(*small, *runs, fast(make("fgp-ce", "0", 0.4, memory=2000))))
    assert found.table is not None and found.table.methods == ("icarl", "fgp")
    final, _, forgetting, _ = found.table.columns
    assert final.with_paper and forgetting.with_paper
    assert [(row[0].value, row[0].paper) for row in found.table.rows] == [
        (pytest.approx(44.0), 43.1),
        (pytest.approx(42.0), 47.2),
    ]
    assert found.table.words.startswith("The paper's protocol, 0 % of its image-steps (the fast profile);")
    assert found.sentences[-1] == "Final accuracy in the table below, best first: iCaRL 44.0, FGP 42.0."
    alone = headline(results_of(*small, runs[0]))
    assert alone.table is not None and alone.table.title.endswith("CIFAR-100, 20 classes, 4 + 4 a phase, 200 images")


def test_other_data_have_a_table_and_no_curve_and_one_method_has_neither(make) -> None:  # type: ignore[no-untyped-def]
    both = headline(results_of(*(make(name, "0", 0.5, dataset="imagenet100") for name in ("fgp", "lucir"))))
    assert both.figure is None and both.table is not None
    one = headline(results_of(make("fgp", "0", 0.5)))
    assert (one.figure, one.table, one.sentences) == (None, None, ())


def test_the_page_opens_with_it_and_lists_nothing_shortened_before_it(make, write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    records = [make("fgp", "0", 0.5, memory=2000), make("icarl", "0", 0.4, memory=2000)]
    report = make_report(write(records, tmp_path / "runs"), tmp_path / "report").output
    page = report.joinpath("index.html").read_text(encoding="utf-8")
    places = [page.index(text) for text in ('id="answer"', 'id="headline"', 'id="headline-table"', 'id="overview"')]
    assert places == sorted(places)
    assert "What was shortened" not in page
    assert {one.name for one in (report / "figures").glob("headline.*")} == {"headline.png", "headline.svg"}
    assert (report / "tables" / "headline-table.md").is_file()
