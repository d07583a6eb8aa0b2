"""The source distribution holds all that is needed to test, document and change classgrow."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import classgrow

ROOT = Path(__file__).parents[2]
COPIED = (".ci", ".github", "benchmarks", "docs", "examples", "results", "src", "tests", "torture")
NEEDED = (
    ".ci/run",
    ".github/workflows/ci.yml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "benchmarks/__main__.py",
    "docs/architecture.md",
    "docs/assets/iframe-worker.js",
    "docs/images/demo.svg",
    "docs/methods/fgp.md",
    "examples/own_photos.py",
    "examples/photos.ipynb",
    "examples/tutorial.ipynb",
    "mkdocs.yml",
    "mkdocs_hooks.py",
    "pyproject.toml",
    "src/classgrow/engine/weight_gradient.cpp",
    "src/classgrow/py.typed",
    "src/classgrow/report/templates/index.html",
    "src/classgrow/specs/data/class_orders.json",
    "tests/conftest.py",
    "tests/contract/conftest.py",
    "tests/project/test_sdist.py",
)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of a source distribution, built from a copy: what lies about from earlier builds does not count."""
    home = tmp_path_factory.mktemp("sdist")
    for folder in filter(Path.exists, (ROOT / name for name in COPIED)):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(folder, home / "copy" / folder.name, ignore=ignored)
    for file in filter(Path.is_file, ROOT.iterdir()):
        shutil.copy(file, home / "copy")
    (home / "copy" / "report").mkdir()
    (home / "copy" / "report" / "index.html").touch()
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(home / "dist")]
    done = subprocess.run([*build, str(home / "copy")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    top = f"classgrow-{classgrow.__version__}"
    with tarfile.open(home / "dist" / f"{top}.tar.gz") as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    assert all(name.startswith(f"{top}/") for name in files)
    return {name.removeprefix(f"{top}/") for name in files}


def test_all_that_is_needed_is_there(content: set[str]) -> None:
    assert [name for name in NEEDED if name not in content] == []


def test_every_source_and_test_is_there(content: set[str]) -> None:
    expected = {str(path.relative_to(ROOT)) for room in ("src", "tests") for path in (ROOT / room).rglob("*.py")}
    assert expected - content == set()


def test_what_was_measured_or_made_is_not(content: set[str]) -> None:
    assert [name for name in content if name.startswith(("results/", "report/", "runs/", "site/"))] == []
    assert [name for name in content if name.endswith(".pyc")] == []
