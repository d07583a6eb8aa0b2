"""What of the paper is there in full, in reduced form, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from classgrow.records.official import official_records
from classgrow.report.gather import gather
from classgrow.report.make import make_report
from classgrow.report.panels import own_figures, paper_figures
from classgrow.report.reduced import Gaps, Part, brief, gaps, numbers
from classgrow.report.runs import run_of
from classgrow.report.tables import own_tables, paper_tables

SMALL = {"classes": 20, "first": 4, "step": 4, "memory": 200, "epochs": 7}


def titles(records) -> list[str]:
    results = gather(map(run_of, records))
    found = [*paper_tables(results), *own_tables(results), *paper_figures(results), *own_figures(results, 10)[0]]
    return [one.title for one in found]


def test_titles_of_fewer_classes_name_what_they_reduce(make) -> None:
    place = "CIFAR-100, 20 classes, 4 + 4 a phase, 200 images"
    assert titles([make("fgp", "0", 0.5, **SMALL), make("fgp-ce", "0", 0.4, **SMALL)]) == [
        f"Tables 1 and A2, reduced: {place}",
        f"Figure 4, reduced: {place}",
        f"Figure 6, reduced: Binary cross-entropy against cross-entropy; {place}",
    ]


def test_phases_of_five_belong_to_the_appendix(make) -> None:
    place = "CIFAR-100, 20 classes, 5 + 5 a phase, 200 images"
    found = titles([make("fgp", **SMALL | {"first": 5, "step": 5})])
    assert found == [f"Tables A1 and A3, reduced: {place}", f"Figure A4, reduced: {place}"]


def test_a_larger_first_phase_is_figure_5_too(make) -> None:
    found = titles([make("fgp", **SMALL | {"first": 8})])
    assert found[1] == "Figures 4 and 5, reduced: CIFAR-100, 20 classes, 8 + 4 a phase, 200 images"


def test_a_setting_larger_than_the_papers_is_not_called_reduced(make) -> None:
    place = "CIFAR-100, 100 classes, 10 + 10 a phase, 4K images"
    assert titles([make("fgp", memory=4000)]) == [place, place]


@pytest.mark.parametrize(("orders", "start"), [("01234", "Figure 6. "), ("01", "Figure 6, reduced: ")])
def test_a_figure_of_one_data_set_is_whole_with_five_orders(make, orders: str, start: str) -> None:
    records = [make(method, order) for method in ("fgp", "fgp-ce") for order in orders]
    found = titles(records)
    assert f"{start}Binary cross-entropy against cross-entropy" in found
    assert "Table 1, reduced: Final incremental accuracy, 10 new classes per phase" in found  # one data set of two


def test_runs_with_numbers_of_their_own_stand_alone(make) -> None:
    usual, slower, stronger = (make("fgp", **SMALL | more) for more in ({}, {"lr": 0.5}, {"options": {"strength": 1}}))
    results = gather(map(run_of, [usual, slower, stronger]))
    tables = {table.name: table for table in own_tables(results)}
    place = "cifar100-20classes-4plus4-m200-7epochs"
    assert set(tables) == {place, f"{place}-lr0.5", f"{place}-strength1"}
    assert "first learning rate set to 0.5" in tables[f"{place}-lr0.5"].words
    assert "strength set to 1" in tables[f"{place}-strength1"].words
    assert "set to" not in tables[place].words
    assert [tables[name].title[-10:] for name in sorted(tables)] == ["200 images", "es, lr 0.5", "strength 1"]


def test_numbers_that_nearly_agree_do_not_share_a_file(make) -> None:
    records = [make("fgp", **SMALL | {"lr": rate}) for rate in (0.2, 0.2000000001)]
    names = {table.name.split("-")[-1] for table in own_tables(gather(map(run_of, records)))}
    assert names == {"lr0.2", "lr0.2000000001"}


def test_the_methods_own_rate_said_aloud_is_the_usual_run(make) -> None:
    seeds = [make("fgp", **SMALL | {"lr": 2.0}), make("fgp", **SMALL | {"seed": 2})]
    (table,) = own_tables(gather(map(run_of, seeds)))
    assert table.name == "cifar100-20classes-4plus4-m200-7epochs"
    assert run_of(make("lucir", **SMALL | {"options": {"base": 5}})).regimen.options == ()


def test_the_authors_files_are_not_reduced() -> None:
    assert not [title for title in titles(official_records()) if "reduced" in title]


def test_full_form_outweighs_reduced_form() -> None:
    found = gaps([Part(("table1",), True), Part(("figure4", "figure5"), True), Part(("figure4",))])
    assert found == Gaps(
        no_run=("tableA1", "tableA2", "tableA3", "figure6", "figure7", "figure8", "figure9", "figureA2", "figureA3",
                "figureA4", "figureA5", "batch"),
        only_reduced=("table1", "figure5"),
    )  # fmt: skip
    assert numbers(found.only_reduced) == "table 1; figure 5"
    assert numbers(("tableA1", "tableA3")) == "tables A1, A3"


def test_brief_titles() -> None:
    assert brief("Table A1. Final incremental accuracy") == "Table A1"
    assert brief("Table 1, reduced: Final incremental accuracy") == "Table 1, reduced"
    assert brief("Legends of figure 4. Average") == "Legends of figure 4"
    assert brief("Tables 1 and A2, reduced: digits") == "Tables 1 and A2, reduced: digits"


def test_the_page_tells_reduced_from_not_run(make, write, tmp_path: Path) -> None:
    records = [make("fgp", "0", 0.5, **SMALL), make("fgp-ce", "0", 0.4, **SMALL)]
    page = make_report(write(records, tmp_path / "runs"), tmp_path / "report").index.read_text(encoding="utf-8")
    assert "<li>Only in reduced form: tables 1, A2; figures 4, 6.</li>" in page
    assert "<li>No run: tables A1, A3; figures 5, 7, 8, 9, A2, A3, A4, A5; batch training.</li>" in page
    assert "<h3>Figure 6, reduced: Binary cross-entropy against cross-entropy; CIFAR-100, 20 classes" in page
    assert 'width="740" height="347"' in page
