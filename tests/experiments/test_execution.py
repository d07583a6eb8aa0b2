"""How a run is executed: decided once, recorded, and repeated when it resumes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classgrow.engine.compiled import Compile
from classgrow.engine.probe import Step
from classgrow.engine.runtime import Execution, PrecisionWish
from classgrow.experiments import execution
from classgrow.experiments import resume as resuming
from classgrow.experiments.execution import decide_precision
from classgrow.experiments.plan import network_of, planned_images
from classgrow.experiments.run import Outcome, prepare, run_spec
from classgrow.progress import Silent
from classgrow.records.repeat import repeat_command
from classgrow.specs.spec import Spec

SPEC = Spec(dataset="digits", method="fgp", memory=12, classes=6, first=2, step=2, epochs=1)


def go(output: Path, spec: Spec = SPEC, **settings: Any) -> Outcome:
    return run_spec(spec, output, execution=ALONE, **settings)


ALONE = Execution(device="cpu", threads=1)
STEP = Step("small", 8, 1, 32, 1)
RESUMED: dict[str, tuple[dict[str, Any], dict[str, Any], Compile, dict[str, Any], str]] = {
    "as started": ({"compiled": True}, {}, "auto", {"compiled": True}, ""),
    "other threads": ({"threads": 1}, {"threads": 2}, "auto", {"threads": 1}, "as it started: on cpu, threads: 1."),
    "a device that is not here": (
        {"device": "xpu"},
        {},
        "auto",
        {"device": "cpu"},
        "started on xpu, which is not available",
    ),
    "more processes": (
        {"threads": 2},
        {"processes": 2},
        "auto",
        {"processes": 2},
        "started by 1 processes and resumes with 2",
    ),
    "compiling forbidden": ({"compiled": True}, {}, "off", {"compiled": False}, "without being compiled"),
    "compiling too late": ({}, {}, "on", {"compiled": False}, "as it started, not compiled"),
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_run_resumes_as_it_started_or_says_why_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, asked, wish, expected, words = RESUMED[name]
    said: list[str] = []
    monkeypatch.setattr(Silent, "say", lambda self, text: said.append(text))
    monkeypatch.setattr(resuming, "compiler_found", lambda: True)
    result = resuming.resume_execution(replace(ALONE, **begun), replace(ALONE, **asked), wish, "auto", STEP, Silent())
    assert result == replace(ALONE, **expected)
    assert len(said) == bool(words) and words in " ".join(said)


def test_a_compiled_run_goes_on_where_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "compiler_found", lambda: False)
    begun = replace(ALONE, compiled=True)
    assert resuming.resume_execution(begun, begun, "auto", "auto", STEP, Silent()) == ALONE


def resumed_in(
    monkeypatch: pytest.MonkeyPatch, begun: Execution, asked: Execution, wish: PrecisionWish, works: bool
) -> tuple[Execution, list[str]]:
    """How a run resumes whose precision is wished for, and what is said; `works`: bfloat16 on this processor."""
    said: list[str] = []
    monkeypatch.setattr(Silent, "say", lambda self, text: said.append(text))
    monkeypatch.setattr(execution, "runs_in_bfloat16", lambda step: works)
    return resuming.resume_execution(begun, asked, "auto", wish, STEP, Silent()), said


HALF = replace(ALONE, precision="bfloat16")


def test_a_run_resumes_in_its_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resumed_in(monkeypatch, HALF, ALONE, "auto", works=True) == (HALF, [])
    assert resumed_in(monkeypatch, ALONE, HALF, "auto", works=True) == (ALONE, [])
    result, said = resumed_in(monkeypatch, HALF, ALONE, "float32", works=True)
    assert (result, said) == (HALF, ["The run resumes as it started, in bfloat16."])
    result, said = resumed_in(monkeypatch, ALONE, ALONE, "bfloat16", works=True)
    assert (result, said) == (ALONE, ["The run resumes as it started, in float32."])
    two = replace(ALONE, processes=2)
    result, said = resumed_in(monkeypatch, HALF, two, "auto", works=True)
    assert (result, len(said)) == (replace(two, precision="bfloat16"), 1)


def test_a_run_resumes_where_there_is_no_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    result, said = resumed_in(monkeypatch, HALF, ALONE, "auto", works=False)
    assert (result, said) == (ALONE, ["This machine does not compute in bfloat16: the run resumes in float32."])
    lost = replace(HALF, device="xpu")
    result, said = resumed_in(monkeypatch, lost, ALONE, "auto", works=False)
    assert result == ALONE and len(said) == 2


@pytest.mark.usefixtures("bfloat16")
def test_the_precision_is_asked_for_once_and_recorded(tmp_path: Path) -> None:
    begun = go(tmp_path, SPEC.model_copy(update={"phases": 1}), precision="bfloat16").record
    assert begun.execution.precision == "bfloat16"
    assert " --precision bfloat16" in (repeat_command(begun) or "")
    whole = go(tmp_path, resume=True).record
    assert (whole.execution.precision, len(whole.phases)) == ("bfloat16", 3)


def test_asked_for_bfloat16_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Silent, "say", lambda self, text: said.append(text))
    monkeypatch.setattr(execution, "runs_in_bfloat16", lambda step: False)
    record = go(tmp_path, SPEC.model_copy(update={"phases": 1}), precision="bfloat16").record
    assert record.execution.precision == "float32"
    assert said == ["This machine does not compute in bfloat16: the run computes in float32."]


def test_a_short_training_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a wish for bfloat16 starts a child process; a long training does."""
    asked: list[Step] = []
    monkeypatch.setattr(execution, "faster_precision", lambda step: (asked.append(step), "bfloat16")[1])
    assert decide_precision("auto", ALONE, STEP, is_long=False) == "float32"
    assert decide_precision("float32", HALF, STEP, is_long=True) == "float32"
    assert decide_precision("auto", HALF, STEP, is_long=True) == "bfloat16"  # whoever made it said so
    assert asked == []
    assert decide_precision("auto", ALONE, STEP, is_long=True) == "bfloat16" and asked == [STEP]
    assert decide_precision("bfloat16", replace(ALONE, device="mps"), STEP, is_long=True) == "float32"


def test_a_long_training_is_measured_as_it_will_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the threads, the share of a batch and the planned images of the run; digits are never worth it."""
    run = prepare(SPEC, tmp_path)
    seen: list[object] = []
    monkeypatch.setattr(execution, "faster_precision", lambda step: (seen.append(step), "bfloat16")[1])
    monkeypatch.setattr(execution, "compiling_saves", lambda *words: (seen.append(words), True)[1])
    monkeypatch.setattr("classgrow.engine.compiled.compiler_found", lambda: True)
    two = replace(ALONE, processes=2, threads=3)
    assert execution.chosen_execution(run, two, "auto", "auto", Silent()) == two
    facts = replace(network_of(run.resolved), repaid_after=100)
    monkeypatch.setattr(execution, "network_of", lambda resolved: facts)
    said: list[str] = []
    monkeypatch.setattr(Silent, "say", lambda self, text: said.append(text))
    monkeypatch.setattr(execution, "is_measured", lambda step: bool(said))
    for _ in range(2):
        chosen = execution.chosen_execution(run, two, "auto", "auto", Silent())
        assert chosen == replace(two, precision="bfloat16", compiled=True)
    assert len(said) == 1 and said[0].startswith("Measuring whether bfloat16 makes the training faster here")
    step = Step("small", 8, 1, 16, 3)
    assert seen == [step, (step, "bfloat16", sum(planned_images(run)))] * 2
