"""Any rule by name, and runs that share a table only where they were made the same way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classgrow.cli.show import as_json_values
from classgrow.cli.tables import detail_table, run_table
from classgrow.errors import ClassgrowError
from classgrow.records.export import rows
from classgrow.records.record import RECORD_FILE, Own, Record, RuleRecord, RuleResult, read_record, write_record
from classgrow.records.summary import summary
from classgrow.report.comparisons import comparison_tables
from classgrow.report.gather import gather
from classgrow.report.make import make_report
from classgrow.report.names import bounded
from classgrow.report.page import run_html
from classgrow.report.reduced import part_of_paper
from classgrow.report.runs import Regimen, run_of
from classgrow.report.tables import own_tables, paper_tables
from classgrow.report.words import words
from classgrow.report.writers import csv_text, latex, markdown
from classgrow.specs.paper import ITEMS

SMALL: dict[str, Any] = {"classes": 4, "first": 2, "step": 2, "memory": 100}


def by_discriminant(record: Record) -> Record:
    """The record answered by a rule of somebody's own, beside one that is no everyday rule."""
    right = RuleResult(accuracy=None, per_class=[1.0] * 4)
    rules = [
        RuleRecord(name="discriminant", title="linear discriminant", formula="argmax_c w_c·f̄ + b_c"),
        RuleRecord(name="odd", title="an odd <rule>", formula="?", everyday=False),
        *record.method.rules,
    ]
    phases = [
        phase.model_copy(
            update={
                "rules": {
                    "discriminant": right.model_copy(update={"per_class": [1.0] * phase.classes_seen}),
                    "odd": right.model_copy(update={"per_class": [0.25] * phase.classes_seen}),
                    **phase.rules,
                }
            }
        )
        for phase in record.phases
    ]
    method = record.method.model_copy(update={"rules": rules})
    return record.model_copy(update={"method": method, "phases": phases, "headline": "discriminant", "confusion": None})


@pytest.fixture
def answered(make, tmp_path: Path) -> Record:  # type: ignore[no-untyped-def]
    write_record(by_discriminant(make("fgp", level=0.5, **SMALL)), tmp_path / RECORD_FILE)
    return read_record(tmp_path / RECORD_FILE)


def test_a_rule_of_ones_own_is_in_every_table(answered: Record) -> None:
    assert summary(answered).rule == "discriminant" and summary(answered).final == 1.0
    assert summary(answered, "odd").final == 0.25
    assert run_table(answered).columns == ("phase", "classes", "linear discriminant*", "nearest class mean", "head")
    assert run_table(answered).rows[-1] == ("2", "4", "–", "–", "–")  # accuracies as recorded: none here
    assert [row[2] for row in run_table(answered).footer] == ["100.0", "0.0", "0.0"]
    assert {row["rule"] for row in rows([answered])} == {"discriminant", "odd", "nearest", "head"}
    assert [row["rule"] for row in rows([answered]) if row["is_headline"]] == ["discriminant"] * 2
    assert set(as_json_values(Path("x"), answered)["rules"]) == {"discriminant", "odd", "nearest", "head"}


def test_a_rule_that_is_not_for_every_day_stands_in_the_details_only(answered: Record) -> None:
    assert not any("odd" in name for name in detail_table(answered).columns)
    page = run_html(answered, run_of(answered))
    before, after = page.split("<details>")
    assert "an odd &lt;rule&gt;" in after and "an odd" not in before
    assert "linear discriminant" in before and "argmax" in before


def test_an_unknown_rule_is_refused_with_those_there_are(answered: Record) -> None:
    with pytest.raises(ClassgrowError, match="no rule 'oracle': choose one of discriminant, odd, nearest, head"):
        summary(answered, "oracle")


def test_a_rule_without_results_has_no_column(make) -> None:  # type: ignore[no-untyped-def]
    record = make("finetune", **SMALL)
    phases = [phase.model_copy(update={"rules": {"head": phase.rules["head"]}}) for phase in record.phases]
    headless = record.model_copy(update={"phases": phases, "headline": "head"})
    assert run_table(headless).columns == ("phase", "classes", "head*")


def with_choice(record: Record, number: int, **choices: str) -> Record:
    """The record of another run, made with another network, rule or method of the same name."""
    resolved = replace(record.resolved)
    for name, value in choices.items():
        object.__setattr__(resolved, name, value)
    return record.model_copy(update={"resolved": resolved, "identity": f"{number:012x}"})


@pytest.mark.parametrize("choice", ["network", "rule"])
def test_another_network_or_rule_never_shares_a_table_with_the_usual(make, choice: str) -> None:  # type: ignore[no-untyped-def]
    usual, other = make("fgp", "0", 0.4, **SMALL), with_choice(make("fgp", "1", 0.6, **SMALL), 1, **{choice: "mine"})
    results = gather([run_of(usual), run_of(other)])
    assert [regimen.slug for regimen in results.regimens] == ["", f"-{choice}mine"]
    first, second = own_tables(results)
    assert (first.rows[0][0].value, second.rows[0][0].value) == pytest.approx((40.0, 60.0))
    assert (first.rows[0][0].n, second.rows[0][0].n) == (1, 1)
    assert second.name == f"{first.name}-{choice}mine"
    assert f", {choice} mine" in second.title and f"the {choice} mine" in second.words
    assert choice not in first.title + first.words


def test_another_preset_is_told_by_what_the_record_calls_its_own(make) -> None:  # type: ignore[no-untyped-def]
    usual = make("fgp", "0", 0.4, **SMALL)
    own = Own(recipe=usual.own.recipe, preset="digits")
    other = usual.model_copy(update={"own": own, "identity": "other"})
    assert run_of(usual).regimen == Regimen()
    assert run_of(other).regimen == Regimen(preset="cifar") and run_of(other).regimen.slug == "-presetcifar"


def test_a_choice_of_ones_own_is_not_the_papers_table(make) -> None:  # type: ignore[no-untyped-def]
    orders = ("0", "1", "2", "3", "4")
    usual = [run_of(make("fgp", order, dataset=name)) for name in ("cifar100", "imagenet100") for order in orders]
    other = [replace(run, regimen=Regimen(network="mine")) for run in usual]
    assert not part_of_paper(ITEMS["table1"], usual).reduced
    assert part_of_paper(ITEMS["table1"], other).reduced
    assert words(other) == "Shortened: with the network mine. Trained in float32."


def test_two_methods_of_one_name_are_two_rows(make) -> None:  # type: ignore[no-untyped-def]
    runs = [
        run_of(with_choice(make("mnemonics", order, level, **SMALL), number, value=value))
        for number, (order, level, value) in enumerate([("0", 0.4, "aaaaaaaa"), ("1", 0.6, "bbbbbbbb")])
    ]
    (table,) = own_tables(gather(runs))
    assert table.methods == ("mnemonics (aaaa)", "mnemonics (bbbb)")
    (alone,) = own_tables(gather(runs[:1]))
    assert alone.methods == ("mnemonics",)


def test_the_records_own_recipe_decides_and_no_table_of_today(make) -> None:  # type: ignore[no-untyped-def]
    """A method with 90 epochs of its own, whatever this version's recipes say: asked for 90, it is the same run."""
    record = make("fgp", "0", 0.4, **SMALL)
    long = replace(record.resolved.recipe, first=replace(record.resolved.recipe.first, epochs=90))
    long = replace(long, later=long.first)
    theirs = record.model_copy(update={"own": Own(recipe=long), "resolved": replace(record.resolved, recipe=long)})
    run = run_of(theirs)
    assert run.regimen == Regimen() and run.belongs(Regimen(epochs=90)) and not run.belongs(Regimen(epochs=70))


def test_a_name_from_a_record_never_leaves_the_reports_folder(make, write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A record of format 1 without `resolved.dataset`, whose spec names a path: once it became the name of a table."""
    runs = write([make("fgp", **SMALL)], tmp_path / "deep" / "runs")
    source = next(Path(__file__).parents[2].glob(f"results/digits/*/{RECORD_FILE}"))
    content = json.loads(source.read_text(encoding="utf-8"))
    del content["resolved"]["dataset"]
    content["spec"]["dataset"] = "../../X"
    (runs / "bad").mkdir()
    (runs / "bad" / RECORD_FILE).write_text(json.dumps(content))
    made = make_report(runs, tmp_path / "deep" / "report")
    assert made.runs == 1 and "resolved.dataset is missing" in made.problems[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep"]
    assert not [path for path in tmp_path.rglob("*X*") if path.name != "X"]


def test_many_options_make_no_name_too_long_for_a_disk(make, write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    options = {f"{'long' * 8}{number}": number + 0.123456789 for number in range(20)}
    made = make_report(write([make("fgp", options=options, **SMALL)], tmp_path / "runs"), tmp_path / "report")
    names = [path.name for path in (made.output / "tables").iterdir()]
    assert made.tables == 1 and len(names) == 3 and max(map(len, names)) < 250
    assert bounded("short") == "short"
    assert bounded("a" * 200) != bounded("a" * 199 + "b") and len(bounded("ä" * 200).encode()) <= 100


@pytest.mark.parametrize(
    ("name", "tex", "text"),
    [
        (r"\input{x}", r"\textbackslash{}input\{x\}", r"\input{x}"),
        ("$a^b~$", r"\$a\textasciicircum{}b\textasciitilde{}\$", "$a^b~$"),
        ("<script>&", r"\textless{}script\textgreater{}\&", "&lt;script>&amp;"),
        ("a|b", "a|b", r"a\|b"),
    ],
)
def test_names_cannot_become_commands(make, name: str, tex: str, text: str) -> None:  # type: ignore[no-untyped-def]
    run = replace(run_of(make("fgp", **SMALL)), method=name)
    (table,) = own_tables(gather([run]))
    assert f"\n{tex} & " in latex(table)
    assert f"| {text} | " in markdown(table)


def test_a_name_cannot_become_a_formula(make) -> None:  # type: ignore[no-untyped-def]
    run = replace(run_of(make("fgp", **SMALL)), method="=HYPERLINK(1)")
    (table,) = own_tables(gather([run]))
    assert ",'=HYPERLINK(1)," in csv_text(table) and ",=" not in csv_text(table)
    assert not paper_tables(gather([run])) and not comparison_tables(gather([run]))
