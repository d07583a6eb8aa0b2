"""The doctor tells what is here, and never fails itself."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from classgrow import doctor
from classgrow.doctor import Fact, Findings, Look, all_looks, examine
from classgrow.engine import probe

ROOT = Path(__file__).parents[1]


def facts(found: Findings) -> dict[str, str]:
    return {fact.name: fact.value for fact in found.facts}


def test_every_extra_of_the_project_is_explained() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(content["project"]["optional-dependencies"]) - {"dev", "docs"}
    assert extras <= {extra.name for extra in doctor.EXTRAS}


def test_what_is_installed_and_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    here = doctor.Extra("here", "PIL", "Pillow", "pictures")
    gone = doctor.Extra("gone", "no_such_module", "no-such-package", "nothing")
    monkeypatch.setattr(doctor, "EXTRAS", (here, gone))
    assert facts(doctor.extras()) == {
        "here": f"Pillow {version('Pillow')}: pictures",
        "gone": "missing; would give nothing: pip install 'classgrow[gone]'",
    }


def test_a_look_that_fails_is_a_problem_and_stops_no_other() -> None:
    def broken() -> Findings:
        raise OSError("libgomp.so.1:\ncannot open")

    found = examine([Look("speed", broken), Look("disk", lambda: Findings((Fact("a", "b"),)))])
    reason = "The speed could not be looked at (OSError: libgomp.so.1: cannot open)"
    assert found.problems == (f"{reason}: reinstall classgrow in a new environment.",)
    assert found.as_json() == {"ok": False, "problems": [*found.problems], "facts": {"speed": {}, "disk": {"a": "b"}}}


def test_the_precision_is_what_the_probe_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """128 images in 0.5 s are 256/s, in 0.25 s 512/s: bfloat16 is twice as fast, and taken."""
    times = {"float32": probe.Timing(0.5, 1.0), "bfloat16": probe.Timing(0.25, 1.0)}
    monkeypatch.setattr(probe, "timings", lambda step, ways: times)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    found = facts(doctor.steps_a_second())
    assert found == {
        "resnet32, float32": "256 images/s",
        "resnet32, bfloat16": "512 images/s",
        "precision chosen": "bfloat16",
    }
    monkeypatch.setattr(probe, "timings", lambda step, ways: {})
    (problem,) = doctor.steps_a_second().problems
    assert "could be timed: close other programs" in problem


@pytest.mark.parametrize(
    ("prepare", "look", "words"),
    [
        (lambda patch: patch.setattr(doctor, "free_memory", lambda: 0.25), doctor.machine, "Only 0.2 GB of memory"),
        (lambda patch: patch.setattr(doctor, "is_writable", lambda folder: False), doctor.disk, "set CLASSGROW_CACHE"),
        (lambda patch: patch.setattr(doctor, "SHORT_DISK", 1e9), doctor.disk, "make room"),
        (lambda patch: patch.setenv("CLASSGROW_DATA", "/no/such/place"), doctor.caches, "is not a folder: create it"),
        (lambda patch: patch.setattr(doctor, "installed", lambda name: None), doctor.versions, "pip install torch"),
    ],
)
def test_problems_come_with_their_way_out(
    prepare: Callable[[pytest.MonkeyPatch], None],
    look: Callable[[], Findings],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepare(monkeypatch)
    problems = look().problems
    assert any(words in problem for problem in problems), problems
    assert all(problem.endswith(".") and ":" in problem for problem in problems)


def test_sizes_of_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images" / "deep").mkdir(parents=True)
    (tmp_path / "images" / "one").write_bytes(b"0" * 1_500_000)
    (tmp_path / "images" / "deep" / "two").write_bytes(b"0" * 500_000)
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path))
    monkeypatch.delenv("CLASSGROW_DATA", raising=False)
    found = facts(doctor.caches())
    assert found["decoded images"] == "2 files, 2.0 MB" and found["compiled kernels"] == "none"


def test_it_looks_without_torch() -> None:
    """Torch missing or broken is what somebody calls the doctor for."""
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from classgrow.doctor import all_looks, examine\n"
        "found = examine(all_looks())\n"
        "print(len(found.groups), len(found.problems))\n"
        "print(*found.problems, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    count, *problems = done.stdout.splitlines()
    assert count == "6 2"
    assert problems[0].startswith("The machine could not be looked at (ModuleNotFoundError")


def test_every_group_has_facts_here() -> None:
    found = examine(all_looks(timed=False))
    assert [title for title, _ in found.groups] == ["versions", "machine", "extras", "disk", "caches"]
    assert all(group.facts for _, group in found.groups), found
