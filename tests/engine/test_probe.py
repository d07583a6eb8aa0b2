"""A training step timed in a child process: whatever becomes of the child, the run goes on."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classgrow.engine import probe
from classgrow.engine.probe import PRECISIONS, Step, Timing, Way

STEP = Step("small", 8, 1, 4, 1)
FAST = {"float32": {"seconds": 1.2, "first": 3.0}, "bfloat16": {"seconds": 1.0, "first": 3.0}}
SLOW = {"float32": {"seconds": 1.19, "first": 3.0}, "bfloat16": {"seconds": 1.0, "first": 3.0}}
ILLEGAL = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
SEGMENTATION = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
LATE_DEATH = f"print({json.dumps(FAST)!r}, flush=True); {ILLEGAL}"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[dict[str, Any]]]:
    """`child(program)` lets that Python program be the child; the list it returns grows with every question."""

    def instead(program: str) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []
        monkeypatch.setattr(
            probe, "child", lambda question: (asked.append(question), [sys.executable, "-c", program])[1]
        )
        return asked

    return instead


def prints(*lines: object) -> str:
    return "; ".join(f"print({line if isinstance(line, str) else json.dumps(line)!r})" for line in lines)


def test_bfloat16_is_taken_where_it_is_a_fifth_faster(child: Callable[[str], Any]) -> None:
    asked = child(prints(FAST))
    assert probe.faster_precision(STEP) == "bfloat16"
    assert asked[0]["step"] == {"network": "small", "size": 8, "channels": 1, "images": 4, "threads": 1}
    assert asked[0]["ways"] == [
        {"precision": "float32", "compiled": False}, {"precision": "bfloat16", "compiled": False},
    ]  # fmt: skip


def test_a_little_faster_is_not_enough(child: Callable[[str], Any]) -> None:
    child(prints(SLOW))
    assert probe.faster_precision(STEP) == "float32" and probe.runs_in_bfloat16(STEP)


def test_an_answer_is_kept_for_the_same_question(child: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = child(prints(FAST))
    assert not probe.is_measured(STEP)
    assert [probe.faster_precision(STEP) for _ in range(3)] == ["bfloat16"] * 3 and len(asked) == 1
    assert probe.is_measured(STEP)
    assert probe.faster_precision(Step("small", 8, 1, 4, 2)) == "bfloat16" and len(asked) == 2
    monkeypatch.setattr(probe, "processor", lambda: "Another One @ 2 GHz 12ab")
    assert probe.faster_precision(STEP) == "bfloat16" and len(asked) == 3
    assert probe.answer_file(asked[2]).name.startswith("another-one-2-ghz-12ab-")


BAD_CHILDREN = {
    "an illegal instruction": ILLEGAL,
    "one after the answer": LATE_DEATH,
    "another signal": SEGMENTATION,
    "an error": "raise SystemExit(3)",
    "an answer with an error": prints(FAST) + "; raise SystemExit(1)",
    "silence": "pass",
    "rubbish": "print('\\x00\\ufffd{ not JSON')",
    "bytes that are no text": "import sys; sys.stdout.buffer.write(bytes([255, 254, 10]))",
    "a list": prints([1, 2]),
    "half an answer": prints({"float32": FAST["float32"]}),
    "no numbers": prints({"float32": {"seconds": "fast", "first": 1}, "bfloat16": FAST["bfloat16"]}),
    "no times": prints({"float32": {"seconds": -1.0, "first": 1.0}, "bfloat16": FAST["bfloat16"]}),
    "not a number": prints("'" + json.dumps(FAST).replace("1.2", "NaN") + "'"),
}


@pytest.mark.parametrize("name", BAD_CHILDREN)
def test_a_child_that_fails_means_float32(name: str, child: Callable[[str], Any]) -> None:
    child(BAD_CHILDREN[name])
    assert probe.faster_precision(STEP) == "float32"
    assert not probe.runs_in_bfloat16(STEP)
    assert not probe.compiling_saves(STEP, "float32", 10**9)


def test_a_child_that_hangs_is_ended(child: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    child("import time; time.sleep(600)")
    monkeypatch.setattr(probe, "EAGER_LIMIT", 1.0)
    started = time.monotonic()
    assert probe.faster_precision(STEP) == "float32"
    assert time.monotonic() - started < 60


def test_a_child_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(probe, "child", lambda question: [str(tmp_path / "nobody")])
    assert probe.faster_precision(STEP) == "float32"


def test_only_an_illegal_instruction_is_remembered(child: Callable[[str], Any]) -> None:
    """It comes back every time; a machine that was too busy may do better tomorrow."""
    asked = child(ILLEGAL)
    assert [probe.faster_precision(STEP) for _ in range(2)] == ["float32"] * 2 and len(asked) == 1
    other = Step("small", 8, 1, 4, 7)
    asked = child("raise SystemExit(1)")
    assert [probe.faster_precision(other) for _ in range(2)] == ["float32"] * 2 and len(asked) == 2


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "null", '{"timings": {}}', '{"question": 1, "timings": {}}', "\x00" * 10, "[" * 100_000],
)
def test_a_damaged_file_is_measured_again(text: str, child: Callable[[str], Any]) -> None:
    asked = child(prints(FAST))
    path = probe.answer_file(probe.asked(STEP, PRECISIONS))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert probe.faster_precision(STEP) == "bfloat16" and len(asked) == 1
    content = json.loads(path.read_text())
    assert content == {"question": asked[0], "timings": FAST}
    for timings in (None, 0, [], {"float32": {}}, {**FAST, "float32": {"seconds": 0, "first": 1}}):
        path.write_text(json.dumps(content | {"timings": timings}))
        assert probe.faster_precision(STEP) == "bfloat16"
    assert len(asked) == 6


def test_a_cache_that_cannot_be_written_is_done_without(
    child: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "file"))
    asked = child(prints(FAST))
    assert [probe.faster_precision(STEP) for _ in range(2)] == ["bfloat16"] * 2 and len(asked) == 2


def test_compiling_must_save_twice_its_own_time(child: Callable[[str], Any]) -> None:
    """4 images a step and 0.1 s saved in each: 40 s of compiling are repaid twice after 800 steps, 3,200 images."""
    child(prints({"bfloat16": {"seconds": 0.5, "first": 1.0}, "bfloat16, compiled": {"seconds": 0.4, "first": 40.0}}))
    assert not probe.compiling_saves(STEP, "bfloat16", 3_180)
    assert probe.compiling_saves(STEP, "bfloat16", 3_220)


def test_compiling_that_makes_it_slower_never_pays(child: Callable[[str], Any]) -> None:
    child(prints({"float32": {"seconds": 0.5, "first": 1.0}, "float32, compiled": {"seconds": 0.6, "first": 40.0}}))
    assert not probe.compiling_saves(STEP, "float32", 10**9)


def test_of_large_images_only_some_are_timed() -> None:
    assert Step("resnet32", 32, 3, 128, 2).part() == Step("resnet32", 32, 3, 128, 2)
    assert Step("resnet18", 224, 3, 128, 2).part().images == 19


def test_a_real_child_answers(own_cache: Path) -> None:
    """In float32 alone, which every processor can do."""
    found = probe.timings(STEP, [Way("float32")])
    assert list(found) == ["float32"] and isinstance(found["float32"], Timing)
    assert 0 < found["float32"].seconds < 60
    (file,) = (own_cache / "steps").iterdir()
    assert json.loads(file.read_text())["timings"]["float32"]["seconds"] == found["float32"].seconds
