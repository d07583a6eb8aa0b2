"""What the paper claims against what was run: hand-made runs with known differences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from classgrow.records.record import Record, RuleResult
from classgrow.report.claims import CLAIMS, Row, claim_rows, markdown_table, verdict
from classgrow.report.gather import Results, gather
from classgrow.report.runs import run_of


def results_of(*records: Record) -> Results:
    return gather(map(run_of, records))


def row(results: Results, words: str) -> Row:
    (found,) = [one for one in claim_rows(results) if words in one.claim]
    return found


def fast(record: Record) -> Record:
    assert record.spec is not None
    spec, resolved = record.spec.model_copy(update={"profile": "fast"}), replace(record.resolved, profile="fast")
    return record.model_copy(update={"resolved": resolved, "spec": spec})


def test_without_runs_every_claim_is_open_and_says_what_the_paper_has() -> None:
    rows = claim_rows(results_of())
    assert len(rows) == len(CLAIMS) >= 15
    assert {one.verdict for one in rows} == {"open"} and {one.ran for one in rows} == {"not yet"}
    theirs = {one.claim: one.theirs for one in rows}
    assert theirs["From scratch, 2,000 images: FGP ends ahead of End-to-End (table 1)"] == "47.2 against 46.0"
    assert theirs["From scratch, 2,000 images: iCaRL forgets less than FGP (table A2)"] == "20.6 against 22.3"
    assert theirs["From 50 classes, 2,000 images: Hou19 ends ahead of FGP (table 1)"] == "54.5 against 54.0"


def test_a_claim_is_settled_by_runs_of_the_same_kind_and_order(make) -> None:  # type: ignore[no-untyped-def]
    """45 against 41 and 48: confirmed, refuted. Hou19 with another length of training is no opponent."""
    levels = {"fgp": 0.45, "icarl": 0.41, "eeil": 0.48}
    runs = [fast(make(name, "0", level, memory=2000)) for name, level in levels.items()]
    results = results_of(*runs, fast(make("icarl", "1", 0.9, memory=2000)), make("lucir", "0", 0.1, memory=2000))
    icarl = row(results, "From scratch, 2,000 images: FGP ends ahead of iCaRL")
    assert (icarl.ours, icarl.verdict, icarl.ran) == (
        "45.0 against 41.0",
        "confirmed (n = 1)",
        "order 0, 0 % of the image-steps",
    )
    assert {run.method for run in icarl.runs} == {"fgp", "icarl"}
    assert row(results, "From scratch, 2,000 images: FGP ends ahead of End-to-End").verdict == "refuted (n = 1)"
    assert row(results, "From scratch, 2,000 images: FGP ends ahead of Hou19").verdict == "open"


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (2.6, "confirmed (n = 3)"),
        (-2.6, "refuted (n = 3)"),
        (2.4, "open: within 2.5 points (n = 3)"),
        (-2.4, "open: within 2.5 points (n = 3)"),
    ],
)
def test_small_differences_settle_nothing(ahead: float, said: str) -> None:
    assert verdict(ahead, 3) == said


def test_lower_is_better_for_forgetting(make) -> None:  # type: ignore[no-untyped-def]
    """Accuracy falls by 30 points whatever the level, so both forget 50/3 points."""
    found = row(results_of(*(make(one, "0", 0.4, memory=2000) for one in ("fgp", "icarl"))), "iCaRL forgets less")
    assert (found.ours, found.verdict) == ("16.7 against 16.7", "open: within 2.5 points (n = 1)")


def near(record: Record, change: float) -> Record:
    """FGP's run with the accuracies of the authors' order 0 by nearest means, moved by `change` points."""
    theirs = (85.0, 74.8, 72.1, 66.2, 62.9, 59.8, 55.4, 52.8, 49.4, 47.4)
    phases = []
    for phase, accuracy in zip(record.phases, theirs, strict=False):
        values = [(accuracy + change) / 100] * phase.classes_seen
        phases.append(
            phase.model_copy(update={"rules": {**phase.rules, "nearest": RuleResult(accuracy=None, per_class=values)}})
        )
    return record.model_copy(update={"phases": phases, "confusion": None})


@pytest.mark.parametrize(("change", "said"), [(2.0, "confirmed (n = 1)"), (-4.0, "refuted (n = 1)")])
def test_the_curve_is_held_against_the_authors_phase_by_phase(make, change: float, said: str) -> None:  # type: ignore[no-untyped-def]
    found = row(results_of(near(make("fgp", "0", memory=2000), change)), "FGP's curve")
    assert found.verdict == said and f"{abs(change):.1f} points off at most" in found.ran
    assert (found.ours, found.theirs) == (f"{47.4 + change:.1f} after 100 classes", "47.4 after 100 classes")


def test_a_curve_that_is_not_complete_stays_open(make) -> None:  # type: ignore[no-untyped-def]
    found = row(results_of(near(make("fgp", "0", memory=2000, phases=2), 0.5)), "FGP's curve")
    assert (found.verdict, found.ours, found.theirs) == ("open", "75.3 after 20 classes", "74.8 after 20 classes")


def test_the_head_is_held_against_nearest_means(make) -> None:  # type: ignore[no-untyped-def]
    """The made-up head has 10 % of everything right."""
    found = row(results_of(make("fgp", "0", 0.47, memory=2000)), "own head")
    assert (found.ours, found.theirs, found.verdict) == ("47.0 against 10.0", "47.4 against 38.3", "confirmed (n = 1)")


def test_the_table_links_each_run_to_its_record(make) -> None:  # type: ignore[no-untyped-def]
    results = results_of(make("fgp", "0", 0.47, memory=2000), make("icarl", "0", 0.4, memory=2000))
    text = markdown_table(claim_rows(results), lambda run: f"here/{run.method}")
    (line,) = [one for one in text.splitlines() if "scratch, 2,000 images: FGP ends ahead of iCaRL" in one]
    assert "](here/fgp)" in line and "](here/icarl)" in line and "| 47.0 against 40.0 | 47.2 against 43.1 |" in line
