"""Numbers in README and docs against the records they link to, and the figures that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import matplotlib
import pytest

from classgrow.cli.tables import mean_of
from classgrow.records.folder import find_record_files, find_records
from classgrow.records.official import official_records
from classgrow.records.record import RECORD_FILE, Record, read_record
from classgrow.records.repeat import repeat_command
from classgrow.records.summary import RunSummary, summary
from classgrow.report.claims import table_of
from classgrow.report.figures import write_figure
from classgrow.report.gather import gather
from classgrow.report.headline import headline
from classgrow.report.make import MOST_OWN_FIGURES, write_runs
from classgrow.report.panels import own_figures
from classgrow.report.runs import run_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md", ROOT / "docs" / "fidelity.md")
LINK = re.compile(r"\]\(((?:\.\./)?results/[^)]+record\.json)\)")


def rows_with_records(page: Path) -> Iterator[tuple[Record, dict[str, str]]]:
    """(record, {heading: cell}) for each table row of a method that links to a record."""
    heading: list[str] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            heading = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        heading = heading or cells
        if "method" in heading and (found := LINK.search(line)):
            yield read_record(page.parent / found[1]), dict(zip(heading, cells, strict=True))


def percent(fraction: float | None) -> str:
    assert fraction is not None
    return f"{100 * fraction:.1f}"


def expected(record: Record, heading: str) -> str | None:
    """What a cell below a heading must say; None for headings that are not numbers of a record."""
    numbers: RunSummary = summary(record)
    named = {"average": numbers.average, "forgetting": numbers.forgetting, "MAD": numbers.mad}
    if heading in named:
        return percent(named[heading])
    if found := re.fullmatch(r"(\d+)(?: classes)?", heading):
        seen = [phase.classes_seen for phase in record.phases].index(int(found[1]))
        return percent(numbers.curve[seen])
    if heading == "head":
        return percent(summary(record, "head").final)
    if found := re.fullmatch(r"loss, phase (\d)", heading):
        return f"{record.phases[int(found[1]) - 1].loss:.3f}"
    if heading == "minutes":
        parts = (sum((one.train, one.remember, one.evaluate)) for one in (phase.seconds for phase in record.phases))
        return f"{sum(parts) / 60:.0f}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_number_of_a_row_is_that_of_the_record_it_links_to(page: Path) -> None:
    checked = 0
    for record, cells in rows_with_records(page):
        assert record.status == "finished"
        assert cells["method"] == record.method.name
        assert cells.get("with", "").strip("`") in (repeat_command(record) or "")
        for heading, cell in cells.items():
            if (number := expected(record, heading)) is not None:
                assert cell == number, f"{page.name}, {record.method.name}, {heading}"
                checked += 1
    assert checked >= 12


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda page: page.name)
def test_the_printed_command_repeats_every_row(page: Path) -> None:
    """Every flag of the one command for all rows is in the command that a row's record gives."""
    text = " ".join(page.read_text(encoding="utf-8").replace("\\\n", " ").split())
    (flags,) = re.findall(
        r"classgrow run --dataset cifar100 --method METHOD ((?:--[a-z]+ [a-z0-9]+ ?)+--compile on)", text
    )
    pairs = [f"--{pair.strip()}" for pair in f" {flags}".split(" --")[1:]]
    assert len(pairs) == 9
    for record, _ in rows_with_records(page):
        command = repeat_command(record)
        assert command is not None
        assert all(f"{pair} " in f"{command} " for pair in [*pairs, f"--method {record.method.name}"])


def test_the_table_of_the_papers_claims_is_what_the_records_give() -> None:
    """Every number, every verdict and every link: `python -m classgrow.report.claims results` prints them."""
    text = PAGES[1].read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- claims: [^>]+ -->\n(.+?)<!-- end of claims -->", text, flags=re.DOTALL)
    assert table == table_of(RESULTS)


def test_every_finished_run_of_the_comparison_is_in_the_table() -> None:
    linked = {page: {record.identity for record, _ in rows_with_records(page)} for page in PAGES[1:]}
    probes = {record.identity for record in find_records(RESULTS / "probes")}
    assert {record.identity for record in find_records(RESULTS / "comparison")} == linked[PAGES[1]] - probes
    assert probes == set.union(*linked.values()) & probes


NAMED = {
    "FGP": "fgp", "iCaRL": "icarl", "End-to-End": "eeil", "BiC": "bic", "LUCIR": "lucir", "Mnemonics": "mnemonics",
    "fine-tuning": "finetune", "joint training": "joint",
}  # fmt: skip
THEIRS = {"72.0", "81.0", "2.5", "44.7", "30.7"}
"""Of the paper (iCaRL and FGP after 10 classes; the MAD of joint training) and of its authors' files (FGP after 100
classes: nearest mean and head)."""
FORMULA = {"0.1"} | {percent(0.1 * (old / seen) ** 0.5 * seen / 100) for old, seen in ((16, 20), (90, 100))}
"""λ, and what an edge of the graph weighs beside an output."""


def numbers_of(record: Record) -> list[float | None]:
    """Every accuracy, average, forgetting and deviation of a record, by its own rule and then by every one."""
    every = (summary(record, rule) for rule in (record.headline, "nearest", "raw_nearest", "head"))
    found: list[float | None] = []
    for one in every:
        phases = one.phase_accuracies or (None,) * len(record.phase_sizes)
        found += [*one.curve, *phases, one.average, one.forgetting, one.mad]
    return [None if value is None else 100 * value for value in found]


def given_in(record: Record) -> list[str]:
    """The flags by which a run departs from its method's own numbers."""
    return re.findall(r"--(?:lr|option) \S+", repeat_command(record) or "")


def test_every_number_in_the_prose_is_of_a_method_it_names() -> None:
    """A bullet's decimals are values of the runs that it names, or differences of one value between two of them."""
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    part = text[text.index("## A reduced protocol") : text.index("## Every method, very short")]
    bullets = re.findall(r"^- (.+(?:\n  .+)*)", part, flags=re.MULTILINE)
    runs = {record.method.name: numbers_of(record) for record in find_records(RESULTS / "comparison")}
    probes = {tuple(given_in(record)): numbers_of(record) for record in find_records(RESULTS / "probes")}
    checked = 0
    for bullet in bullets:
        words = {*(NAMED[name] for name in NAMED if name in bullet), *re.findall(r"`([a-z-]+)`", bullet)}
        named = [runs[name] for name in sorted(words & set(runs))]
        named += [numbers for given, numbers in probes.items() if all(f"`{flag}`" in bullet for flag in given)]
        allowed = {f"{number:.1f}" for numbers in named for number in numbers if number is not None} | THEIRS | FORMULA
        for one, other in combinations(named, 2):
            pairs = zip(one, other, strict=True)
            allowed |= {f"{abs(a - b):.1f}" for a, b in pairs if a is not None and b is not None}
        found = re.findall(r"\b\d+\.\d\b", re.sub(r"`[^`]*`", "", bullet))
        assert set(found) <= allowed, f"{sorted(set(found) - allowed)} in: {bullet}"
        checked += len(found)
    assert len(bullets) >= 8 and checked >= 25


def test_the_table_of_the_digits_is_the_mean_of_its_records() -> None:
    """Three seeds of every method; the pair in the README is the first seed."""
    runs: dict[str, list[Record]] = {}
    for record in find_records(RESULTS / "digits"):
        runs.setdefault(record.method.name, []).append(record)
    results, readme = (page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "results.md", ROOT / "README.md"))
    assert set(runs) >= {"fgp", "icarl", "eeil", "bic", "lucir", "mnemonics", "finetune", "joint"}
    for method, records in runs.items():
        assert sorted(record.seed for record in records) == [1, 2, 3]
        assert row(method, records) in results
    for method in ("fgp", "finetune"):
        assert row(method, [record for record in runs[method] if record.seed == 1]) in readme


def row(method: str, records: list[Record]) -> str:
    """A row of means over records; the deviation is that of the phase accuracies averaged over seeds."""
    mean = mean_of(records)
    return f"| {method} | " + " | ".join(map(percent, (*mean.curve, mean.average, mean.forgetting, mean.mad))) + " |"


def test_every_record_of_the_project_gets_a_page(tmp_path: Path) -> None:
    """What `make report` starts with; the report itself is not kept in the repository."""
    files = find_record_files(RESULTS)
    runs, problems = write_runs(files, [], tmp_path)
    assert problems == []
    assert {file.stem for file in tmp_path.glob("*.html")} == {run.identity for run in runs} == {
        file.parent.name for file in files
    }  # fmt: skip


IMAGES = {
    "fgp-curve.svg": "headline",
    "reduced-protocol.svg": "curves-cifar100-20classes-4plus4-m200-matched-30epochs",
}
"""The figures that README and docs show (`make images`), by their names in the report."""
DRAWN_WITH = "3.11"
"""The release of matplotlib that drew them: another one draws other text and ticks."""


@pytest.mark.parametrize("image", IMAGES)
def test_the_figures_that_the_pages_show_are_those_of_the_records(image: str, tmp_path: Path) -> None:
    if not matplotlib.__version__.startswith(f"{DRAWN_WITH}."):
        pytest.skip(f"the figures were drawn with matplotlib {DRAWN_WITH}")
    results = gather(run_of(record) for record in find_records(RESULTS))
    figures = [headline(results).figure, *own_figures(results, MOST_OWN_FIGURES)[0]]
    (data,) = [figure for figure in figures if figure is not None and figure.name == IMAGES[image]]
    drawn, _ = write_figure(data, tmp_path)
    assert (ROOT / "docs" / "images" / image).read_text(encoding="utf-8") == drawn.read_text(encoding="utf-8"), (
        "run `make images`"
    )


def test_the_authors_settings_gave_what_the_fidelity_page_says() -> None:
    record = read_record(RESULTS / "fidelity" / "fadbe3171c7b" / RECORD_FILE)
    text = PAGES[2].read_text(encoding="utf-8")
    for phase, theirs in enumerate([("85.0", "85.5"), ("74.8", "74.9")]):
        nearest, head, raw = (
            percent(summary(record, rule).curve[phase]) for rule in ("nearest", "head", "raw_nearest")
        )
        assert f"| {10 * (phase + 1)} | {theirs[0]} | {nearest} | {theirs[1]} | {head} | {raw} |" in text


def test_the_whole_curve_on_the_pages_is_that_of_its_record_and_of_the_authors() -> None:
    ours = read_record(RESULTS / "fast" / "4314f37a82ec" / RECORD_FILE)
    (theirs,) = (
        one
        for one in official_records()
        if one.resolved.dataset == "cifar100" and one.resolved.sizes == (10,) * 10
        if one.resolved.memory == 2000 and one.resolved.order == ours.resolved.order
    )
    for page, rules in (("docs/performance.md", ("nearest", "head")), ("README.md", ("nearest",))):
        text = (ROOT / page).read_text(encoding="utf-8")
        for rule in rules:
            words = {"nearest": "nearest mean", "head": "head"}[rule]
            for whose, record in (("fast", ours), ("authors", theirs)):
                numbers = " | ".join(percent(accuracy) for accuracy in summary(record, rule).curve)
                assert f"| {words}, {whose} | {numbers} |" in text
