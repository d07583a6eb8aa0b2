"""Python speaks of arguments, the command line of its flags, in the same sentences."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import classgrow as package
from classgrow.cli.flags import name_flags, with_flags
from classgrow.data.place import given_folder
from classgrow.engine.runtime import decide
from classgrow.errors import ClassgrowError
from classgrow.specs.spec import Spec, resolve

FLAG = re.compile(r"(?<![-\w])--[a-z]")
PRINT_COMMANDS = {
    "specs/spec.py": "the shell command that repeats a run",
    "records/repeat.py": "the same with device, threads and processes",
    "records/environment.py": "flags of git",
    "networks/pretrained.py": "a flag of pip",
}
"""Files outside cli/ that may name flags, and why."""


def test_options_become_flags_and_other_names_stay() -> None:
    flags = {"memory_per_class": "--memory-per-class", "folder": "--from", "dataset": "DATASET", "device": "--device"}
    text = "Give `memory_per_class`, `folder`, `dataset`, `features` or `device` = cpu."
    assert name_flags(text, flags) == "Give --memory-per-class, --from, DATASET, `features` or --device cpu."


def test_without_a_command_nothing_is_translated() -> None:
    assert with_flags("Raise `memory`.") == "Raise `memory`."


def test_python_names_arguments() -> None:
    with pytest.raises(ClassgrowError, match="raise `memory` to at least 10") as memory:
        resolve(Spec(dataset="digits", memory=7), 10, "fgp", (8, 8, 1))
    with pytest.raises(ClassgrowError, match="choose `device` = auto or cpu") as device:
        decide("abacus")
    with pytest.raises(ClassgrowError, match="point `data_dir` elsewhere") as data:
        given_folder(Path("no/such/folder"))
    assert not any("--" in str(error.value) for error in (memory, device, data))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "--dataset", "digits", "--memory", "7"), "raise --memory to at least 10"),
        (("run", "--dataset", "digits", "--device", "abacus"), "choose --device auto or cpu"),
        (("run", "--data", "no/such/folder"), "point --data elsewhere"),
        (("toy", "mnist", "--data", "no/such/folder", "--output", "{tmp}"), "point --data elsewhere"),
        (("data", "folder", "--from", "no/such/folder"), "check --from"),
        (("run", "--dataset", "digits", "--resume", "--again"), "--resume goes on with a run and --again"),
        (("run", "--dataset", "digits", "--method", "finetune", "--rule", "nearest"), "choose another --rule"),
    ],
)
def test_the_command_line_names_its_flags(
    classgrow, check_refused, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:  # type: ignore[no-untyped-def]
    done = classgrow(*(word.format(tmp=tmp_path) for word in arguments))
    check_refused(done, sentence)
    assert "`" not in done.stderr


def test_no_text_outside_the_command_line_names_a_flag() -> None:
    root = Path(package.__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith("cli/") or name in PRINT_COMMANDS:
            continue
        texts = [node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)]
        named = [text for text in texts if isinstance(text, str) and FLAG.search(text)]
        if named:
            found[name] = named
    assert found == {}
