"""Every cell of every table, from records with known values."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from classgrow.records.official import official_records
from classgrow.records.record import RuleResult
from classgrow.report.gather import Results, gather
from classgrow.report.names import label
from classgrow.report.paper_values import paper_value
from classgrow.report.runs import Regimen, run_of
from classgrow.report.settings import Setting
from classgrow.report.tables import Cell, Table, own_tables, paper_table, paper_tables
from classgrow.report.words import words
from classgrow.report.writers import csv_text, latex, markdown, signed
from classgrow.specs.paper import ITEMS, METHODS

FS_1K = Setting("cifar100", (10,) * 10, 1000)
FROM_50_2K = Setting("cifar100", (50, *(10,) * 5), 2000)
OFFICIAL = Regimen()


def results_of(records) -> Results:
    return gather(map(run_of, records))


def table_named(results: Results, name: str) -> Table:
    return next(table for table in [*paper_tables(results), *own_tables(results)] if table.name == name)


@pytest.fixture
def results(make) -> Results:
    """FGP at 1K from scratch: finals 0.40, 0.44, 0.54; iCaRL there 0.36; FGP at 2K from 50: 0.55."""
    finals = {"0": 0.40, "1": 0.44, "2": 0.54}
    return results_of(
        [
            *(make("fgp", order, level) for order, level in finals.items()),
            make("icarl", "0", 0.36),
            make("fgp", "0", 0.55, memory=2000, first=50),
        ]
    )


def test_table_1_holds_every_known_value_and_nothing_else(results: Results) -> None:
    """FGP: mean 46, lowest 40, highest 54, deviations -6, -2, 8 -> std sqrt(104 / 2) = 7.211, the paper's 44.7."""
    table = table_named(results, "table1")
    assert table.methods == METHODS
    assert [column.title for column in table.columns] == [
        "1K, from scratch",
        "2K, from scratch",
        "1K, from 50",
        "2K, from 50",
    ]
    known = {("fgp", 0): (46.0, 40.0, 54.0, 3), ("icarl", 0): (36.0, 36.0, 36.0, 1), ("fgp", 3): (55.0, 55.0, 55.0, 1)}
    places = [FS_1K, Setting("cifar100", (10,) * 10, 2000), Setting("cifar100", (50, *(10,) * 5), 1000), FROM_50_2K]
    for method, cells in zip(table.methods, table.rows, strict=True):
        for column, cell in enumerate(cells):
            assert cell.paper == paper_value("final", places[column], method)
            if (method, column) in known:
                assert (cell.value, cell.low, cell.high, cell.n) == pytest.approx(known[method, column])
            else:
                assert cell == Cell(paper=cell.paper)
    fgp = table.rows[-1][0]
    assert (fgp.std, fgp.difference) == pytest.approx((52**0.5, 46.0 - 44.7))
    assert table.rows[0][0].std is None


def test_batch_training_is_compared_over_the_ten_groups_of_its_order(make) -> None:
    """50 classes at 0.8 and 50 at 0.7: each of ten groups is 5 points off the mean of 75."""
    record = make("joint", memory=None, first=100)
    (phase,) = record.phases
    values = [0.8] * 50 + [0.7] * 50
    rules = {name: RuleResult(accuracy=None, per_class=values) for name in phase.rules}
    phase = phase.model_copy(update={"rules": rules})
    resolved = replace(record.resolved, memory=None)
    record = record.model_copy(update={"phases": [phase], "confusion": None, "resolved": resolved})
    table = table_named(results_of([record]), "batch")
    assert table.title == "In the text, reduced: Batch training of all classes at once: MAD"
    assert (table.methods, [column.title for column in table.columns]) == (("joint",), ["all classes at once"])
    (((cell,),)) = table.rows
    assert (cell.value, cell.paper, cell.n) == pytest.approx((5.0, 2.5, 1))
    assert [one.name for one in own_tables(results_of([record]))] == []


def test_forgetting_average_and_deviation_have_their_own_tables(results: Results) -> None:
    """Accuracy falls evenly by 30 points, for all classes alike. Classes of phase i (0 to 8) start at 30 (1 - i/9)
    above the end, so forgetting is 30 (1 - 4/9) = 50/3; the average is 15 above the final; MAD 0."""
    forgetting = table_named(results, "tableA2").rows[-1][0]
    assert (forgetting.value, forgetting.n, forgetting.paper) == pytest.approx((50 / 3, 3, 25.0))
    average = table_named(results, "figure4-average").rows[-1][0]
    assert (average.value, average.paper) == pytest.approx((46.0 + 15.0, 59.8))
    deviation = table_named(results, "figure5-mad").rows[-1]
    assert deviation[1].value == pytest.approx(0.0)
    assert deviation[0] == Cell(paper=3.8)


def test_deviation_averages_orders_first(make) -> None:
    """Groups (0.5, 0.7) and (0.7, 0.5): each order deviates by 10, their average by nothing."""
    options = {"classes": 4, "first": 2, "step": 2, "memory": 100}
    results = results_of(
        [make("fgp", "0", groups=(0.5, 0.7), **options), make("fgp", "1", groups=(0.7, 0.5), **options)]
    )
    assert [run.mad for run in results.runs] == pytest.approx([0.1, 0.1])
    (table,) = own_tables(results)
    mad = table.rows[0][3]
    assert (mad.value, mad.std, mad.n) == (pytest.approx(0.0), None, 2)


def test_a_setting_the_paper_lacks_has_no_paper_column_and_says_what_was_shortened(make) -> None:
    results = results_of(
        [make("fgp", order, 0.6, epochs=7, classes=20, first=4, step=4, memory=200) for order in ("0", "1", "2")]
    )
    assert not paper_tables(results)
    (table,) = own_tables(results)
    assert [cell.value for cell in table.rows[0]] == pytest.approx([60.0, 75.0, 30 * (1 - 1.5 / 4), 0.0], abs=1e-9)
    assert not any(column.with_paper for column in table.columns)
    assert table.words == (
        "Shortened: CIFAR-100 only; 3 of 5 class orders; 7 of 70 epochs (FGP's; other methods' in proportion); "
        "20 of 100 classes, 4 in the first phase, 4 in each later one; a memory of 200 images instead of 1,000 or "
        "2,000."
    )
    assert "paper 4" not in markdown(table)


def test_words_for_several_settings_claim_only_what_holds_for_all(make) -> None:
    small = {"epochs": 7, "classes": 20, "first": 4, "step": 4, "memory": 200}
    runs = [run_of(record) for record in (make("fgp", epochs=7), make("fgp", **small))]
    assert words(runs) == (
        "Shortened: CIFAR-100 only; 1 of 5 class orders; 7 of 70 epochs (FGP's; other methods' in proportion); some "
        "settings have other classes or memories than the paper's, as their names say. Trained in float32."
    )


def test_short_and_full_runs_never_share_a_table_but_equal_runs_stand_in_both(make) -> None:
    """BiC's own recipe takes 250 epochs, FGP's 70: "70 epochs" changes the one and not the other."""
    results = results_of([make("fgp", "0", 0.4), make("bic", "0", 0.3, epochs=70), make("fgp", "1", 0.9, epochs=7)])
    full, seventy, seven = (table_named(results, name).rows for name in ("table1", "table1-70epochs", "table1-7epochs"))
    fgp, bic = METHODS.index("fgp"), METHODS.index("bic")
    assert (full[fgp][0].value, full[bic][0].value) == (pytest.approx(40.0), None)
    assert (seventy[fgp][0].value, seventy[bic][0].value) == pytest.approx((40.0, 30.0))
    assert (seven[fgp][0].value, seven[bic][0].value) == (pytest.approx(90.0), None)


def test_unfinished_runs_count_nowhere_and_the_same_run_counts_once(make) -> None:
    results = results_of([make("fgp", "0", 0.4), make("fgp", "0", 0.4), make("fgp", "1", 0.9, phases=4)])
    assert table_named(results, "table1").rows[-1][0].n == 1
    assert len(results.runs) == 2


def test_runs_of_an_edited_method_are_never_averaged(make) -> None:  # type: ignore[no-untyped-def]
    """Two states of a method from outside, 0.3 and 0.5 in the last phase: two rows, not one of 0.4."""
    records = [
        (record := make("fgp", level=level)).model_copy(
            update={"identity": identity, "resolved": replace(record.resolved, method="mine", value=value)}
        )
        for identity, level, value in (("a", 0.3, "5d3094340d65-4cede4fc18ba"), ("b", 0.5, "5d3094340d65-aaaa00001111"))
    ]
    results = results_of(records)
    (regimen,), (setting,) = results.regimens, results.settings(results.regimens[0])
    assert results.methods(regimen, setting) == ("mine (5d304ced)", "mine (5d30aaaa)")
    assert [results.value(regimen, setting, method, "final").mean for method in results.methods(regimen, setting)] == [  # type: ignore[union-attr]
        pytest.approx(0.3),
        pytest.approx(0.5),
    ]
    assert results_of(records[:1]).methods(regimen, setting) == ("mine",)


def test_a_method_without_memory_stands_at_every_memory_size(make) -> None:
    results = results_of([make("fgp", memory=1000), make("fgp", memory=2000), make("finetune", level=0.1, memory=None)])
    table = table_named(results, "table1")
    assert table.methods[-1] == "finetune"
    assert [cell.value for cell in table.rows[-1][:2]] == pytest.approx([10.0, 10.0])


def test_the_authors_files_reproduce_the_papers_row_and_its_legends() -> None:
    results = results_of(official_records())
    table = table_named(results, "table1-authors")
    ours = [cell.value for cell in table.rows[METHODS.index("fgp")]]
    assert ours == pytest.approx([44.7, 47.2, 52.8, 54.0, 55.1, 57.0, 61.9, 62.6], abs=0.05)
    assert table_named(results, "figure4-average-authors").rows[-1][0].value == pytest.approx(59.8, abs=0.05)
    assert table_named(results, "figure5-mad-authors").rows[-1][0].value == pytest.approx(3.8, abs=0.05)
    assert all(cell.value is None for row in table.rows[:-1] for cell in row)
    assert table.words.startswith("Source: the authors'")


def test_paper_table_is_none_without_runs(results: Results) -> None:
    assert paper_table(results, OFFICIAL, ITEMS["tableA1"]) is None


def test_csv_is_unrounded_and_leaves_missing_fields_empty(results: Results) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(table_named(results, "table1")))))
    assert len(rows) == 6 * 4
    fgp = next(row for row in rows if row["method"] == "fgp" and row["setting"] == "1K, from scratch")
    assert (float(fgp["mean"]), float(fgp["minimum"]), float(fgp["maximum"])) == pytest.approx((46, 40, 54))
    assert float(fgp["standard_deviation"]) == pytest.approx(7.2111, abs=1e-4)
    assert (float(fgp["paper"]), float(fgp["difference"]), fgp["n"]) == (44.7, pytest.approx(1.3), "3")
    bic = next(row for row in rows if row["method"] == "bic" and row["setting"] == "1K, from scratch")
    assert (bic["mean"], bic["n"], bic["paper"], bic["difference"]) == ("", "0", "38.6", "")


def test_markdown_and_latex_show_value_paper_difference_and_n(results: Results) -> None:
    table = table_named(results, "table1")
    text = markdown(table)
    assert "| FGP | 46.0 ± 7.2 (paper 44.7, +1.3, n=3) | missing (paper 47.2) | missing (paper 52.8) |" in text
    assert "3 of 5 class orders" in text
    assert "no finished run on ImageNet-100" in text
    tex = latex(table)
    assert r"FGP & \shortstack{\textbf{46.0} $\pm$ 7.2\\{\scriptsize 44.7, $+1.3$, $n=3$}}" in tex
    assert r"BIC & \shortstack{missing\\{\scriptsize 38.6}}" in tex
    assert tex.count(r"\\") >= 7
    assert tex.count("{") == tex.count("}")


def test_a_difference_that_rounds_to_nothing_has_no_minus() -> None:
    assert (signed(-0.04), signed(None), signed(-1.26)) == ("+0.0", "–", "-1.3")
    assert label("a-new-one") == "a-new-one"


def test_joint_training_is_a_bound_and_never_the_best(make) -> None:
    table = table_named(results_of([make("icarl", "0", 0.3), make("fgp", "0", 0.4), make("joint", "0", 0.9)]), "table1")
    best = [method for row, method in enumerate(table.methods) if table.is_best(row, 0)]
    assert best == ["fgp"]
    assert table.rows[table.methods.index("joint")][0].value == pytest.approx(90.0)
