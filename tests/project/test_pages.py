"""The documentation: links hold in the repository, the guide's code runs as printed, nothing is fetched."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from classgrow.parts.classification import CrossEntropy
from classgrow.parts.selection import random_choice
from classgrow.progress import Silent

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^(<!-- not run yet -->\n)?```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_hold_in_the_repository(page: Path) -> None:
    targets = re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", page.read_text(encoding="utf-8"))
    files = [target for target in targets if not re.match(r"https?://", target)]
    if not (ROOT / "results").exists():  # a source distribution
        files = [target for target in files if "results/" not in target]
    assert [target for target in files if not (page.parent / target).exists()] == []


def run(name: str, names: dict[str, Any]) -> int:
    """Run the Python of a page from top to bottom; how many blocks there were."""
    blocks = [code for later, code in BLOCK.findall((ROOT / "docs" / "guide" / name).read_text("utf-8")) if not later]
    for code in blocks:
        exec(compile(code, name, "exec"), names)
    return len(blocks)


def test_the_guide_for_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    if not (ROOT / "results" / "digits").exists():
        pytest.skip("needs recorded runs, which a source distribution leaves out")
    shutil.copytree(ROOT / "results" / "digits", tmp_path / "runs")
    names: dict[str, Any] = {}
    assert run("python.md", names) == 11
    assert {"identity", "accuracy", "rule"} <= set(names["table"].columns)
    assert names["result"].accuracy > 0.5 and set(names["again"].classes) == {1, 2, 3, 4, 5}
    assert sorted(names["other"].classes_) == [0, 1, 2] and names["other"].method.rule.name == "discriminant"


def test_the_guide_to_own_parts_runs(patches: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    images, labels = patches([0, 1, 2])
    names: dict[str, Any] = {"images": images, "labels": np.array(labels)}
    assert run("extending.md", names) == 6
    assert sorted(names["learner"].classes) == [0, 1, 2]
    pooled, quarters = names["POOLED"], names["QUARTERS"]
    for last_relu in (False, True):
        assert pooled.build(1, last_relu)(torch.zeros(2, 1, 8, 8)).shape == (2, pooled.features)
    found = quarters.load(None, Silent(), False)
    assert (found.name, len(found.train), len(found.test)) == (quarters.name, 32, 16)
    other = names["timed"].with_selection(random_choice).with_objective(CrossEntropy())
    assert all(isinstance(step, names["Timed"]) for step in other.steps) and other.formula == str(CrossEntropy())


def test_the_site_fetches_nothing() -> None:
    """No font, script or style from elsewhere; `make docs` needs the network for none of its pages."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings and "- offline" in settings and "polyfills: [assets/iframe-worker.js" in settings
    assert "://" not in settings
    for path in (ROOT / "docs" / "assets").iterdir():
        assert "://" not in path.read_text(encoding="utf-8"), path.name


def test_the_navigation_names_every_page_of_the_guide() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"^ +- (?:\w+: )?([\w/]+\.md)$", settings, re.MULTILINE))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if not page.startswith("methods/")} <= named
    assert named - pages == {
        "index.md",
        "tutorial.md",
        "photos_notebook.md",
        "methods/index.md",
        "reference/index.md",
        "contributing.md",
        "changelog.md",
        "security.md",
    }
