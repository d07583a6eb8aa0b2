"""Help is instant: nothing heavy is imported for it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

LOOK = """
import sys
sys.argv = ["classgrow", *{arguments!r}]
from classgrow.cli import main
try:
    main()
except SystemExit as leaving:
    assert not leaving.code, leaving.code
print("imported:", sorted({{"torch", "numpy", "sklearn", "matplotlib", "PIL", {more}}} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (["--help"], "'pydantic'"),
        (["--version"], "'pydantic'"),
        (["run", "--help"], ""),
        (["paper", "--help"], ""),
    ],  # typer's own: pydantic
)
def test_help_imports_nothing_heavy(arguments: list[str], more: str) -> None:
    code = LOOK.format(arguments=arguments, more=more)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "imported: []"


def test_help_names_every_command(classgrow) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("--help")
    assert done.returncode == 0
    for command in ("run", "show", "methods", "demo", "paper", "report", "toy", "data", "export"):
        assert f" {command} " in done.stdout


def test_the_package_has_its_public_names_without_importing_torch() -> None:
    code = (
        "import classgrow, sys; print(dir(classgrow), 'torch' in sys.modules);"
        "classgrow.Learner; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    first, second = done.stdout.splitlines()
    assert "'Learner'" in first and first.endswith("False")
    assert second == "True"


def test_unknown_option_and_command_suggest_the_nearest(classgrow) -> None:  # type: ignore[no-untyped-def]
    option = classgrow("run", "--memry", "5")
    assert option.returncode == 2
    assert "--memry" in option.stderr and "--memory" in option.stderr
    command = classgrow("shwo")
    assert command.returncode == 2
    assert "shwo" in command.stderr and "show" in command.stderr
    assert "Traceback" not in option.stderr + command.stderr


def test_a_word_where_a_number_belongs(classgrow) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("run", "--epochs", "many")
    assert done.returncode == 2
    assert "--epochs" in done.stderr and "Traceback" not in done.stderr


def test_module_and_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "classgrow", "--version"], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == f"classgrow {version('classgrow')}\n"
