"""The folder that `classgrow report` writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.records.record import RECORD_FILE
from classgrow.records.seal import SEAL
from classgrow.report.make import MARKER, make_report


@pytest.fixture
def runs(make, write, tmp_path: Path) -> Path:
    return write([make("fgp", "0", 0.4), make("icarl", "0", 0.3)], tmp_path / "runs")


def test_every_part_is_there(runs: Path, tmp_path: Path) -> None:
    made = make_report(runs, tmp_path / "report")
    assert (made.runs, made.complete, made.problems) == (2, 2, ())
    assert made.index.is_file()
    assert len(list((made.output / "runs").iterdir())) == 2
    assert len(list((made.output / "tables").iterdir())) == 3 * made.tables
    assert len(list((made.output / "figures").iterdir())) == 2 * made.figures
    assert {"table1.md", "table1.csv", "table1.tex"} <= {path.name for path in (made.output / "tables").iterdir()}


def test_a_report_is_replaced_and_what_a_person_added_stays(runs: Path, tmp_path: Path, make, write) -> None:
    output = tmp_path / "report"
    make_report(runs, output)
    (output / "notes.txt").write_text("mine")
    write([make("bic", "0", 0.2)], runs)
    assert make_report(runs, output).runs == 3
    assert (output / "notes.txt").read_text() == "mine"
    assert len(list((output / "runs").iterdir())) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_same_records_give_the_same_report(runs: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_report(runs, tmp_path / name)
    files = [path for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()


def test_anything_else_is_never_overwritten(runs: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(ClassgrowError, match="not a report"):
        make_report(runs, mine)
    with pytest.raises(ClassgrowError, match="not a report"):
        make_report(runs, runs)
    with pytest.raises(ClassgrowError, match="is a file"):
        make_report(runs, mine / "thesis.tex")
    assert [path.name for path in mine.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_may_become_a_report(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    assert (make_report(runs, tmp_path / "report").output / MARKER).is_file()


def test_a_broken_record_is_named_and_stops_nothing(runs: Path, tmp_path: Path) -> None:
    (runs / "broken").mkdir()
    (runs / "broken" / RECORD_FILE).write_text("{")
    made = make_report(runs, tmp_path / "report")
    assert made.runs == 2
    assert "broken" in made.problems[0]
    assert "broken" in made.index.read_text()


def test_only_broken_records_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / RECORD_FILE).write_text("{")
    with pytest.raises(ClassgrowError, match="broken"):
        make_report(tmp_path, tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_an_identity_cannot_leave_the_folder(make, write, tmp_path: Path) -> None:
    write([make("fgp"), make("icarl").model_copy(update={"identity": "ok"})], tmp_path / "runs")
    path = tmp_path / "runs" / "ok" / RECORD_FILE
    content = {name: value for name, value in json.loads(path.read_text()).items() if name != SEAL}
    path.write_text(json.dumps(content | {"identity": "../../escaped"}))
    made = make_report(tmp_path / "runs", tmp_path / "report")
    assert made.runs == 1
    assert "escaped" in made.problems[0]
    assert not list(tmp_path.rglob("escaped*"))


def test_failed_and_unfinished_runs_are_shown_as_such(make, write, tmp_path: Path) -> None:
    records = [
        make("fgp", "0", 0.4),
        make("fgp", "1", 0.4, phases=3, status="failed", error="loss <b>is</b> not finite"),
        make("fgp", "2", 0.4, phases=0, status="running"),
    ]
    made = make_report(write(records, tmp_path / "runs"), tmp_path / "report")
    assert (made.runs, made.complete) == (3, 1)
    text = made.index.read_text()
    assert "loss &lt;b&gt;is&lt;/b&gt; not finite" in text
    assert "failed, 3 of 10 phases" in text
    assert "running, 0 of 10 phases" in text


def test_a_run_without_any_finished_one_still_gives_a_report(make, write, tmp_path: Path) -> None:
    made = make_report(write([make("fgp", phases=2, status="running")], tmp_path / "runs"), tmp_path / "report")
    assert (made.complete, made.tables, made.figures) == (0, 0, 0)


def test_the_page_of_a_run_holds_matrix_formula_times_and_command(runs: Path, tmp_path: Path, make) -> None:
    made = make_report(runs, tmp_path / "report")
    text = (made.output / "runs" / f"{make('fgp', '0', 0.4).identity}.html").read_text()
    command = "classgrow run --dataset cifar100 --method fgp --memory 1000 --first 10 --step 10 --order 0 --seed 1"
    command += " --threads 1 --device cpu --compile off --precision float32"
    assert f"<pre>{command}</pre>" in text
    assert "BCE(σ(<i>a</i>), <i>y</i>) &amp; &lt;more&gt;" in text
    assert len(re.findall(r"--share:", text)) == 55  # 10 phases: 1 + 2 + ... + 10 groups
    assert "data:image/png;base64," in text
    assert "60 of 100" in text
    assert "a processor, 2 cores" in text


def test_a_few_classes_show_their_counts(make, write, tmp_path: Path) -> None:
    record = make("fgp", level=0.7, classes=4, first=2, step=2, memory=100)
    made = make_report(write([record], tmp_path / "runs"), tmp_path / "report")
    text = (made.output / "runs" / f"{record.identity}.html").read_text()
    assert text.count(">30</td>") == 4
    assert "data:image/png" not in text


def test_no_torch_is_needed(runs: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from classgrow.report.make import make_report\n"
        f"make_report({str(runs)!r}, {str(tmp_path / 'report')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_authors_results_stand_beside_ours(make, write, tmp_path: Path) -> None:
    made = make_report(write([make("fgp", "0", 0.4)], tmp_path / "runs"), tmp_path / "report", authors=True)
    assert (made.runs, made.complete) == (41, 41)
    assert "the authors' published result files" in (made.output / "tables" / "table1-authors.md").read_text()


def test_a_run_that_was_to_stop_early_says_how_far_it_came(make, write, tmp_path: Path) -> None:
    record = make("fgp", "0", 0.4, phases=2)
    made = make_report(write([record, make("icarl", "0", 0.3)], tmp_path / "runs"), tmp_path / "report")
    page = made.index.read_text()
    assert ">2 of 10 phases</td>" in page
    assert "2 of 10 phases." in (made.output / "runs" / f"{record.identity}.html").read_text()
