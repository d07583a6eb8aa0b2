"""The house rules that a parser can check: sizes, types, and that nobody asks which step is which."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import classgrow

SOURCE = Path(classgrow.__file__).parent
LONGEST_FUNCTION, LONGEST_FILE = 60, 300
MOST_ANYS = 59
"""Half of what there once were. What is left is another library's, which has no types."""

TREES = {
    str(path.relative_to(SOURCE)): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))
}


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every node of these kinds with the file it stands in."""
    for name, tree in TREES.items():
        yield from ((name, node) for node in ast.walk(tree) if isinstance(node, kinds))


def names_in(node: ast.AST) -> set[str]:
    """All names that an expression speaks of, with or without the module they are taken from."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def anys(tree: ast.AST) -> int:
    """How often `Any` is used; importing it is no use."""
    return sum(
        (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(tree)
    )


def steps() -> set[str]:
    """`Step`, and every class in `steps/` that runs on a state and a phase."""
    found = {"Step"}
    for name, node in nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        runs = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "run"]
        if name.startswith("steps") and runs:
            found.add(node.name)
    return found


def asks_for(tree: ast.AST, classes: set[str]) -> list[int]:
    """The lines that ask by `isinstance`, `issubclass` or a pattern whether something is one of these classes."""
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]) if names_in(kinds) & classes:
                lines.append(node.lineno)
            case ast.MatchClass(cls=kind) if names_in(kind) & classes:
                lines.append(node.lineno)
    return lines


def test_no_function_is_longer_than_two_screens() -> None:
    lengths = {}
    for name, node in nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        lengths[f"{name}: {node.name}, line {node.lineno}"] = (node.end_lineno or 0) - node.lineno + 1
    assert len(lengths) > 1000  # the parser sees them
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_no_file_is_longer_than_300_lines() -> None:
    lengths = {name: len((SOURCE / name).read_text(encoding="utf-8").splitlines()) for name in TREES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_any_is_rare() -> None:
    assert anys(ast.parse("import typing\nfrom typing import Any\nx: Any\ny: dict[str, typing.Any]")) == 2
    counts = {name: anys(tree) for name, tree in TREES.items() if anys(tree)}
    assert sum(counts.values()) <= MOST_ANYS, counts


def test_nobody_outside_the_steps_asks_which_step_it_is() -> None:
    known = steps()
    assert {"Step", "Train", "Remember", "Grow"} <= known and "SavePoint" not in known
    assert asks_for(ast.parse("isinstance(step, train.Train | Grow)\nisinstance(step, str)"), known) == [1]
    assert asks_for(ast.parse("match step:\n  case Remember(): pass"), known) == [2]
    found = {name: asks_for(tree, known) for name, tree in TREES.items() if not name.startswith("steps")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_types_are_checked_strictly() -> None:
    """Few lines are exempt, and each says which error it means and why."""
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["mypy"]["strict"] is True
    lines = [line for name in TREES for line in (SOURCE / name).read_text(encoding="utf-8").splitlines()]
    exempt = [line.partition("# type: ignore")[2] for line in lines if "# type: ignore" in line]
    assert len(exempt) <= 10
    assert [rest for rest in exempt if not (rest.startswith("[") and "] # " in rest)] == []
