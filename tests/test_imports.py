"""Who may import whom: upper rooms know lower ones, never the reverse."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import classgrow

SOURCE = Path(classgrow.__file__).parent
LAYERS: tuple[set[str], ...] = (
    {"__init__", "__main__"},
    {"cli"},
    {"serve", "report"},
    {"experiments", "sklearn", "doctor"},
    {"photos", "export"},
    {"learner", "bundle", "checkpoint"},
    {"methods"},
    {"method"},
    {"steps"},
    {"parts", "engine"},
    {"state"},
    {"memory"},
    {"records"},
    {"specs"},
    {"networks", "data"},
    {
        *("views", "recipes", "schedules", "inputs", "presets", "metrics"),
        *("installed", "errors", "file_lock", "seeds", "progress", "json_values"),
        *("disk", "exchange"),
    },
)
LEAVES = LAYERS[-1]
TOGETHER = LAYERS[5]
"""One storey with open doors: a learner writes checkpoints, and a bundle holds a learner."""
WITHOUT_TORCH = ("records", "specs", "recipes", "schedules", "inputs", "presets", "installed", "metrics", "report")
FACTS_WITHOUT_TORCH = """
import sys
from classgrow.data.catalogue import DATASETS
from classgrow.networks.catalogue import NETWORKS
assert [DATASETS[name].name for name in DATASETS.names] == list(DATASETS.names) and NETWORKS.names
print("torch" in sys.modules)
"""
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}

Import = tuple[str, str, str]
"""(who imports, from which room, what from which room)"""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Full names of all modules imported anywhere in a file, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            module = (above + (node.module or "")).rstrip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imports() -> list[Import]:
    """All imports between rooms of classgrow; the package's version alone is nobody's room."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        package = ".".join(("classgrow", *path.relative_to(SOURCE).parts[:-1]))
        for name in imported(ast.parse(path.read_text(encoding="utf-8")), package):
            parts = name.split(".")
            if parts[0] != "classgrow" or name == "classgrow.__version__":
                continue
            there = parts[1] if len(parts) > 1 and parts[1] in RANK else "__init__"
            if there != room_of(path):
                found.append((str(path.relative_to(SOURCE)), room_of(path), there))
    return found


IMPORTS = imports()
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("torch" in sys.modules)
"""


def test_every_room_has_its_place() -> None:
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")}
    assert rooms <= RANK.keys(), f"give {rooms - RANK.keys()} a place in LAYERS"
    assert len(IMPORTS) > 100  # the parser sees them


def test_upper_rooms_know_lower_ones_only() -> None:
    def allowed(here: str, there: str) -> bool:
        return RANK[here] < RANK[there] or {here, there} <= TOGETHER or {here, there} <= LEAVES

    assert [one for one in IMPORTS if not allowed(one[1], one[2])] == []


def test_leaves_do_not_go_in_circles() -> None:
    edges = {(here, there) for _, here, there in IMPORTS if here in LEAVES}
    known: set[str] = set()
    while more := {room for room in LEAVES - known if all(there in known for here, there in edges if here == room)}:
        known |= more
    assert known == LEAVES, f"{LEAVES - known} import each other"


def test_parts_and_engine_do_not_know_each_other() -> None:
    assert [one for one in IMPORTS if {one[1], one[2]} == {"parts", "engine"}] == []


def test_reports_read_records_specs_and_what_is_known_of_data_sets_only() -> None:
    allowed = {"records", "specs", "data", "metrics", "recipes", "errors", "disk", "exchange"}
    assert [one for one in IMPORTS if one[1] == "report" and one[2] not in allowed] == []


def test_relative_imports_are_seen_too() -> None:
    tree = ast.parse("from . import loop\nfrom ..parts import heads\ndef f():\n    import classgrow.data.images")
    found = list(imported(tree, "classgrow.engine"))
    assert found == ["classgrow.engine.loop", "classgrow.parts.heads", "classgrow.data.images"]


@pytest.mark.parametrize("room", WITHOUT_TORCH)
def test_needs_no_torch(room: str) -> None:
    """In a process of its own, every module of the room is imported and torch is not."""
    files = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    names = [".".join(("classgrow", *path.relative_to(SOURCE).with_suffix("").parts)) for path in files]
    names = [name.removesuffix(".__init__") for name in names]
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr


def test_what_is_known_of_data_sets_and_the_names_of_networks_need_no_torch() -> None:
    """So specs, records and reports may ask the catalogues, though data and networks themselves need it."""
    done = subprocess.run([sys.executable, "-c", FACTS_WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr
