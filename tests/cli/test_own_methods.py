"""Methods of other packages in real processes: an edited one is another run, a broken one hides no other."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from classgrow.methods import METHODS
from classgrow.records.record import RECORD_FILE, read_record

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_method.md"
SETTINGS = ("--dataset", "digits", "--method", "steady", "--classes", "4", "--epochs", "1", "--threads", "1")
HELPER = "POWER = 2\n\n\ndef moved(change):\n    return (change.abs() ** POWER).sum()\n"
Install = Callable[..., dict[str, str]]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Puts a package with these entry points and modules in a folder; returns the environment that has it."""

    def install(points: dict[str, str], **modules: str) -> dict[str, str]:
        folder = tmp_path / "site"
        facts = folder / "steady_features-1.0.dist-info"
        facts.mkdir(parents=True, exist_ok=True)
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: steady-features\nVersion: 1.0\n")
        lines = "\n".join(f"{name} = {place}" for name, place in points.items())
        (facts / "entry_points.txt").write_text(f"[classgrow.methods]\n{lines}\n")
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        before = os.environ.get("PYTHONPATH")
        # An edit within a second that keeps the file's size would escape Python's own cache of compiled modules.
        return {"PYTHONPATH": os.pathsep.join((str(folder), *filter(None, [before]))), "PYTHONDONTWRITEBYTECODE": "1"}

    return install


def documented() -> str:
    """The method on the page, with its measure in a module of its own."""
    text = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    line = "moved = (student.features - teacher.features.detach()).square().sum()"
    assert line in text
    changed = text.replace(line, "moved = steady_measure.moved(student.features - teacher.features.detach())")
    return f"import steady_measure\n{changed}"


def test_an_edited_method_is_a_new_run(classgrow, install: Install, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    method, points, output = documented(), {"steady": "steady_features:steady"}, tmp_path / "runs"

    def run(method: str, helper: str) -> str:
        """What was printed, with the package as it is now."""
        changes = install(points, steady_features=method, steady_measure=helper)
        done = classgrow("run", *SETTINGS, "--output", output, **changes)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert "Recorded in" in run(method, HELPER)
    assert "already finished" in run(method.replace("mean over the batch", "a mean"), f"# a comment\n{HELPER}")
    assert len(list(output.iterdir())) == 1
    assert "Recorded in" in run(method.replace("strength: float = 0.5", "strength: float = 3.0"), HELPER)
    assert "Recorded in" in run(method, HELPER.replace("POWER = 2", "POWER = 4"))
    records = [read_record(folder / RECORD_FILE) for folder in output.iterdir()]
    assert len({record.resolved.value for record in records}) == len(records) == 3
    assert len({record.phases[-1].loss for record in records}) == 3


def test_a_broken_package_hides_no_other_method(classgrow, check_refused, install: Install) -> None:  # type: ignore[no-untyped-def]
    points = {
        "steady": "steady_features:steady",
        "missing": "nowhere:method",
        "failing": "broken:failing",
        "leaving": "leaving:method",
        "number": "broken:number",
        "silent": "broken:silent",
    }
    broken = (
        "from classgrow.methods.fgp import fgp\nfrom classgrow.method import Method\n"
        "def failing():\n    raise ValueError('no such\\nthing')\n"
        "def number():\n    return 7\n"
        "class Silent(Method):\n    formula = property(lambda self: 1 / 0)\n"
        "def silent():\n    return Silent(*(getattr(fgp(), name) for name in ('name', 'head', 'steps', 'rule')))\n"
    )
    modules = {
        "steady_features": documented(),
        "steady_measure": HELPER,
        "broken": broken,
        "leaving": "raise SystemExit(3)\n",
    }
    changes = install(points, **modules)
    done = classgrow("methods", **changes)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert {line for line in done.stdout.splitlines() if not line.startswith(" ")} == {"steady", *METHODS}
    lines = sorted(done.stderr.splitlines())
    package = "of an installed package"
    assert lines == [
        f"Left out: The method 'failing' {package} cannot be built (no such thing): fix or uninstall that package.",
        f"Left out: The method 'leaving' {package} cannot be loaded (3): fix or uninstall that package.",
        f"Left out: The method 'missing' {package} cannot be loaded (No module named 'nowhere'): "
        "fix or uninstall that package.",
        f"Left out: The method 'number' {package} is a int and not a Method: fix or uninstall that package.",
        "Left out: The method 'silent' cannot be described (ZeroDivisionError('division by zero')): "
        "fix or uninstall its package.",
    ]
    check_refused(classgrow("methods", "missing", **changes), "'missing'", "No module named 'nowhere'")
    check_refused(classgrow("run", "--dataset", "digits", "--method", "failing", **changes), "'failing'", "uninstall")
