"""The version stands in one place; what repeats it for readers agrees."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import classgrow

ROOT = Path(__file__).parents[2]


def test_pyproject_reads_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "classgrow.__version__"}


def test_a_checkout_knows_its_version_without_installation() -> None:
    """-I -S: neither the environment nor site-packages, so nothing installed can answer."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import classgrow; print(classgrow.__version__)"
    asked = [sys.executable, "-I", "-S", "-c", code, str(ROOT / "src")]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == classgrow.__version__


def test_the_changelog_has_releases_newest_first() -> None:
    titles = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert titles[0] == "Unreleased"
    releases = [re.fullmatch(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)", title) for title in titles[1:]]
    assert all(releases), titles
    versions = [tuple(map(int, release[1].split("."))) for release in releases if release]
    assert versions == sorted(versions, reverse=True)
    assert ".".join(map(str, versions[0])) == classgrow.__version__


def test_the_citation_names_the_newest_release() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    values = dict(re.findall(r"^([a-z-]+): (.+)$", citation, re.MULTILINE))
    newest = f"## {values['version']} - {values['date-released']}"
    assert values["version"] == classgrow.__version__
    assert newest in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    license_name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    assert values["license"] == license_name
