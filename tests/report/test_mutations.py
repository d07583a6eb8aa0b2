"""Real records with one to three values deleted, retyped, nested or replaced: whoever reads one gets a record that
everything can show, or a ClassgrowError."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classgrow.cli.show import as_json_values, facts
from classgrow.cli.tables import detail_table, runs_table
from classgrow.errors import ClassgrowError
from classgrow.records.export import rows
from classgrow.records.record import RECORD_FILE, Record, read_record, to_json
from classgrow.records.summary import summary
from classgrow.report.comparisons import comparison_tables
from classgrow.report.gather import gather
from classgrow.report.page import run_html
from classgrow.report.panels import own_figures, paper_figures
from classgrow.report.runs import Run, run_of
from classgrow.report.tables import own_tables, paper_tables
from classgrow.report.trade_offs import trade_off_figures
from classgrow.report.writers import csv_text, latex, markdown

RESULTS = Path(__file__).parents[2] / "results"
ROUNDS = 2000
DEEP: Any = 1
for _ in range(60):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 0.5, -0.5, 1e308, 5e-324, float("nan"), float("inf"), 2**53, 2**63, 10**30,
    "", "x", "..", "../../X", "/etc/passwd", "a/b", "a b", "x" * 5000, "ä" * 64, "0", "nearest", "head", "natural",
    "\x1b[2J\x1b]0;mine\x07", "[/bold]", "[link=x]", "=HYPERLINK(1)", "\\input{x}", "<script>x</script>", "{{ 7 }}",
    "\ud800", "\u202eabc", "a\nb", "|", "official", "matched", "cifar100", "imagenet100", "joint", "fgp", "icarl",
    [], {}, [None], [[]], {"x": 1}, {"../x": 1}, {"": {}}, [1, 2, 3], DEEP, "finished", "failed",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a record."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def mutate(content: Any, draw: random.Random, ways: list[tuple[Any, ...]]) -> None:
    """Change one value where it is found; long lists of numbers are met no more often than single values."""
    depth = draw.choice((1, 1, 2, 2, 3, 3, 4, 5))
    path = draw.choice([way for way in ways if len(way) <= depth])
    parent = content
    try:
        for key in path[:-1]:
            parent = parent[key]
        key, old = path[-1], parent[path[-1]]
        parent[key] = old
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took it away
    match draw.randrange(8):
        case 0:
            del parent[key]
        case 1:
            parent[key] = [old]
        case 2:
            parent[key] = {"x": old}
        case 3:
            parent[key] = str(old)
        case 4 if isinstance(old, int | float):
            parent[key] = (
                draw.choice((old + 1, -old, old * 1000, old + 0.5, old / 3, old ^ 1 << draw.randrange(40)))
                if isinstance(old, int)
                else draw.choice((old + 0.01, -old, old * 1e6, int(old)))
            )
        case 5 if isinstance(parent, dict):
            parent[draw.choice(("x", "../x", "rule", "", "network", str(key).upper()))] = parent.pop(key)
        case 6 if isinstance(old, list) and old:
            draw.choice((lambda: old.append(old[0]), lambda: old.pop(), lambda: old.reverse()))()
        case _:
            parent[key] = copy.deepcopy(draw.choice(HOSTILE))


def show_everything(record: Record, folder: Path) -> None:
    """Every table and page that is made of a record."""
    for rule in record.method.rules:
        summary(record, rule.name)
    run = run_of(record)
    json.dumps(as_json_values(folder, record), allow_nan=False).encode()
    shown = [run_html(record, run), detail_table(record).markdown(), runs_table([(folder, record)]).markdown()]
    shown += [text for pair in facts(folder, record) for text in pair]
    shown += [str(row) for row in rows([record])]
    shown += show_together([run])
    for text in shown:
        assert "\x1b" not in text
        text.encode()


def show_together(runs: list[Run]) -> list[str]:
    """Every table and figure of a report; their names are names of files."""
    results = gather(runs)
    tables = [*paper_tables(results), *own_tables(results), *comparison_tables(results)]
    figures = [*paper_figures(results), *own_figures(results, 4)[0], *trade_off_figures(results)]
    for name in [*(run.identity for run in runs), *(one.name for one in (*tables, *figures))]:
        assert "/" not in name and not name.startswith(".") and len(name.encode()) <= 240
    return [text for table in tables for text in (markdown(table), latex(table), csv_text(table))]


def originals() -> list[dict[str, Any]]:
    """Of either format, with and without memory, small ones for speed and one of a hundred classes."""
    files = sorted((RESULTS / "digits").glob(f"*/{RECORD_FILE}"))[:40:8] + sorted(
        RESULTS.glob(f"probes/*/{RECORD_FILE}")
    )
    old = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return old + [to_json(read_record(file)) for file in files]


@pytest.mark.parametrize("seed", range(2))
def test_a_changed_record_is_shown_or_refused(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    models = [(json.dumps(content), list(places(content))) for content in originals()]
    path = tmp_path / RECORD_FILE
    shown: list[Run] = []
    refused = 0
    for _ in range(ROUNDS // 2):
        text, ways = draw.choice(models)
        content = json.loads(text)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            mutate(content, draw, ways)
        path.write_text(json.dumps(content))
        try:
            record = read_record(path)
        except ClassgrowError as error:
            assert str(path) in str(error) and "\x1b" not in str(error)
            refused += 1
            continue
        show_everything(record, tmp_path)
        shown.append(replace(run_of(record), identity=str(len(shown))))
    assert len(shown) > ROUNDS // 50 and refused > ROUNDS // 50
    show_together(shown)


def test_a_flipped_bit_in_an_accuracy_is_noticed(tmp_path: Path) -> None:
    """Any change of more than a millionth in an accuracy, of all classes or of one, or of any count of test images."""
    content = json.loads((RESULTS / "digits" / "52acf0657120" / RECORD_FILE).read_text(encoding="utf-8"))
    path = tmp_path / RECORD_FILE
    tried = 0
    for way in places(content):
        numbers = way[0] == "confusion" or (way[0] == "phases" and set(way) & {"accuracy", "per_class", "test_counts"})
        holder = content
        for key in way[:-1]:
            holder = holder[key]
        old = holder[way[-1]]
        if not numbers or not isinstance(old, int | float):
            continue
        for changed in (old + 1, old - 0.001, 0.999 * old + 0.0005):
            if isinstance(old, float) and abs(changed - old) > 1e-5:
                holder[way[-1]] = changed
            elif isinstance(old, int):
                holder[way[-1]] = old + 1
            path.write_text(json.dumps(content))
            if holder[way[-1]] != old:
                tried += 1
                with pytest.raises(ClassgrowError, match=r"agree|other test images"):
                    read_record(path)
            holder[way[-1]] = old
    assert tried > 500
