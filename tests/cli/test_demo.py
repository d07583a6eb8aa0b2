"""`classgrow demo`: two methods side by side, and a model to try; a second call reuses what is there."""

from __future__ import annotations

import shlex
import shutil
import struct
from pathlib import Path

import pytest
from PIL import Image

import classgrow as package
from classgrow.records.folder import find_records
from classgrow.records.summary import summary


@pytest.fixture(scope="module")
def first(classgrow, tmp_path_factory) -> tuple[Path, str]:  # type: ignore[no-untyped-def]
    """A demonstration in a folder that needs quotes, and what it printed."""
    output = tmp_path_factory.mktemp("first") / "a demo"
    done = classgrow("demo", "--epochs", "1", "--threads", "1", "--output", output)
    assert done.returncode == 0, done.stderr
    return output, done.stdout


def test_demo_and_demo_again(classgrow, first: tuple[Path, str]) -> None:  # type: ignore[no-untyped-def]
    output, printed = first
    records = {record.method.name: record for record in find_records(output)}
    assert sorted(records) == ["fgp", "finetune"]
    for name, record in records.items():
        numbers = summary(record)
        (row,) = [line.split() for line in printed.splitlines() if line.startswith(f"  {name} ")]
        expected = [*numbers.curve, numbers.average, numbers.forgetting, numbers.mad]
        assert row[1:] == [f"{100 * value:.1f}" for value in expected if value is not None]
    assert "2 classes, head " in printed  # fine-tuning keeps no memory: by nearest means it has no answer
    assert "2 classes, nearest class mean " in printed and "unnormalised" not in printed

    picture = (output / "curves.png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert picture.startswith(b"\x89PNG") and (width, height) == (1216, 672)
    assert (output / "curves.svg").read_text().startswith("<?xml")

    again = classgrow("demo", "--epochs", "1", "--threads", "1", "--output", output)
    assert again.returncode == 0, again.stderr
    assert "2 of 2 runs were finished before" in again.stdout
    assert "phase 1/5" not in again.stdout
    assert [line for line in again.stdout.splitlines() if "  fgp " in line] == [
        line for line in printed.splitlines() if line.startswith("  fgp ")
    ]
    assert (output / "curves.png").read_bytes() == picture
    assert commands(again.stdout) == commands(printed)


def commands(printed: str) -> list[str]:
    """The lines after "Go on with:"."""
    _, after = printed.split("Go on with:\n")
    return [line.strip() for line in after.splitlines()]


def carried_out(classgrow, lines: list[str]) -> list[str]:  # type: ignore[no-untyped-def]
    """What the printed commands print."""
    printed = []
    for line in lines:
        name, *words = shlex.split(line)
        assert name == "classgrow"
        done = classgrow(*words)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    return printed


def test_what_is_printed_as_next_works(classgrow, first: tuple[Path, str]) -> None:  # type: ignore[no-untyped-def]
    """A dozen pictures of every digit, as the network sees them; each is answered for, and all are measured."""
    output, lines = first[0], commands(first[1])
    assert [line.split()[1] for line in lines] == ["predict", "inspect", "evaluate"]
    pictures = sorted(path.relative_to(output / "photos").as_posix() for path in output.glob("photos/*/*"))
    assert pictures == [f"{digit}/{number:02}.png" for digit in range(10) for number in range(1, 13)]
    with Image.open(output / "photos" / "7" / "01.png") as picture:
        assert (picture.size, picture.mode) == ((8, 8), "L")
    predicted, inspected, evaluated = carried_out(classgrow, lines)
    assert sum(f"{output / 'photos' / '7'}/" in line for line in predicted.splitlines()) == 12
    rows = [line.split() for line in inspected.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert [row[:4] for row in rows] == [[str(digit), "1", "–", "5"] for digit in range(10)]
    (total,) = [line.split() for line in evaluated.splitlines() if line.split()[:1] == ["all"]]
    assert total[1] == "120"


def test_a_changed_model_stays_and_what_is_lost_comes_back(  # type: ignore[no-untyped-def]
    classgrow, first: tuple[Path, str], tmp_path: Path
) -> None:
    """Whatever is there when the demonstration is run again, what it prints works; nothing is removed."""
    output = shutil.copytree(first[0], tmp_path / "demo")
    model, again = output / "model", ("demo", "--epochs", "1", "--output", output)
    assert classgrow("forget", model, "3").returncode == 0
    (output / "photos" / "7" / "01.png").write_bytes(b"cut off")
    done = classgrow(*again)
    assert done.returncode == 0, done.stderr
    carried_out(classgrow, commands(done.stdout)[:1])
    assert package.load(model).classes == list("012456789")

    (model / "model.safetensors").write_bytes(b"damaged")
    for checkpoint in output.glob("*/checkpoint.safetensors"):
        checkpoint.unlink()
    done = classgrow(*again)
    assert done.returncode == 0, done.stderr
    assert f"{model} is not of this run: it is now {output / 'model-1'}." in " ".join(
        (done.stdout + done.stderr).split()
    )
    carried_out(classgrow, commands(done.stdout)[:1])
    assert package.load(model).classes == list("0123456789")
    assert (output / "model-1" / "model.safetensors").read_bytes() == b"damaged"
