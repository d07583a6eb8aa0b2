"""Bad input: exit 2, one sentence with the way out, no traceback, nothing overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

SMALL = ("--dataset", "digits", "--classes", "6", "--phases", "2", "--epochs", "4", "--threads", "1")


def test_unknown_key_in_a_file_names_the_nearest(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    spec = tmp_path / "spec.toml"
    spec.write_text('dataset = "digits"\nmemmory = 20\n')
    check_refused(classgrow("run", spec, "--output", tmp_path / "runs"), "'memmory'", "Did you mean 'memory'?")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset = ", ("not valid TOML",)),
        ('epochs = "ten"\n', ("--epochs 'ten'", "a whole number")),
        ('profile = "oficial"\n', ("--profile 'oficial'", "official")),
    ],
)
def test_bad_files(classgrow, check_refused, tmp_path: Path, text: str, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    spec = tmp_path / "spec.toml"
    spec.write_text(text)
    check_refused(classgrow("run", spec), *words)


def test_missing_file(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    check_refused(classgrow("run", tmp_path / "absent.toml"), "absent.toml", "check the path")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dataset", "digits", "--method", "fpg"), ("'fpg'", "Did you mean 'fgp'?")),
        (("--dataset", "digit"), ("'digit'", "Did you mean 'digits'?")),
        (("--dataset", "digits", "--memory", "7"), ("7 exemplars cannot cover 10 classes", "--memory to at least 10")),
        (("--dataset", "digits", "--device", "abacus"), ("'abacus'", "--device auto or cpu")),
        (("--data", "no/such/folder"), ("no/such/folder", "--data")),
        (("--dataset", "digits", "--option", "strenght=1"), ("'strenght'", "Did you mean 'strength'?")),
        (("--dataset", "digits", "--option", "strength"), ("not NAME=NUMBER", "--option strength=0.5")),
        (("--dataset", "digits", "--lr", "-1"), ("--lr -1.0", "a number above 0")),
    ],
)
def test_bad_settings(
    classgrow, check_refused, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:  # type: ignore[no-untyped-def]
    check_refused(classgrow("run", *arguments, "--output", tmp_path / "runs"), *words)
    assert not (tmp_path / "runs").exists()


def test_corrupt_cifar_file(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for name in ("train", "test", "meta"):
        (folder / name).write_bytes(b"not the canonical bytes")
    done = classgrow("run", "--dataset", "cifar100", "--output", tmp_path / "runs", CLASSGROW_DATA=str(tmp_path))
    check_refused(done, "SHA-256", "unpack it elsewhere")
    assert not (tmp_path / "runs").exists()


def test_output_is_a_file(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    output = tmp_path / "runs"
    output.write_text("precious")
    check_refused(classgrow("run", *SMALL, "--output", output), str(output), "choose another --output")
    assert output.read_text() == "precious"


def test_output_holds_something_else(classgrow, check_refused, finished: tuple[Path, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The run's own folder name is taken by somebody else's things."""
    taken = tmp_path / finished[0].name
    taken.mkdir()
    (taken / "precious.txt").write_text("mine")
    check_refused(classgrow("run", *SMALL, "--output", tmp_path), "precious.txt", "choose another --output")
    assert [path.name for path in taken.iterdir()] == ["precious.txt"]
    assert (taken / "precious.txt").read_text() == "mine"


def test_show_of_nothing(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    check_refused(classgrow("show", tmp_path), "holds no record")
    check_refused(classgrow("show", tmp_path / "absent", "--json"), "absent", "check the path")


@pytest.mark.parametrize("dataset", ["bogus", "cifar100"])
def test_only_folders_of_images_are_looked_through(classgrow, check_refused, tmp_path: Path, dataset: str) -> None:  # type: ignore[no-untyped-def]
    check_refused(classgrow("data", dataset, "--from", tmp_path), dataset, "imagenet100, mini-imagenet, folder")


def test_clearing_is_for_everything(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    check_refused(classgrow("data", "folder", "--from", tmp_path, "--clear"), "whole image cache", "give it alone")


def test_a_folder_with_strange_files(classgrow, check_refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Five files that are no images: named in part, all of them on demand, refused by `--strict`."""
    for split in ("train", "val"):
        for name in ("ant", "bee"):
            folder = tmp_path / "photos" / split / name
            folder.mkdir(parents=True)
            Image.new("RGB", (20, 20), "red" if name == "ant" else "blue").save(folder / "one.png")
    for number in range(5):
        (tmp_path / "photos" / "train" / "ant" / f"note{number}.txt").write_text("not a picture")
    few, every = (classgrow("data", "folder", "--from", tmp_path / "photos", *more).stdout for more in ([], ["--all"]))
    assert "note2.txt and 2 more" in few and "note4.txt" not in few
    assert "note4.txt" in every and "more" not in every
    settings = ("--dataset", "folder", "--data", tmp_path / "photos", "--memory", "2", "--output", tmp_path / "runs")
    check_refused(
        classgrow("run", *settings, "--strict", CLASSGROW_CACHE=str(tmp_path / "cache")),
        "5 files that are not images of a class", "note0.txt", "leave out --strict",
    )  # fmt: skip
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("toy", ["simulation", "mnist", "drawings"])
def test_toys_look_at_their_folder_first(classgrow, check_refused, tmp_path: Path, toy: str) -> None:  # type: ignore[no-untyped-def]
    taken = tmp_path / "taken"
    taken.write_text("precious")
    done = classgrow("toy", toy, "--output", taken)
    check_refused(done, f"Cannot write to {taken}", "choose another --output")
    assert done.stdout == "" and taken.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--output", "{taken}"), ("Cannot write to {taken}", "choose another --output")),
        (("--output", "{free}", "--device", "abacus"), ("'abacus'", "--device auto or cpu")),
        (("--classes", "4", "--first", "6", "--step", "2"), ("starts from 6 classes", "lower --first")),
    ],
)
def test_what_is_wrong_for_all_runs_is_said_once(
    classgrow, check_refused, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:  # type: ignore[no-untyped-def]
    places = {"taken": str(tmp_path / "taken"), "free": str(tmp_path / "free")}
    (tmp_path / "taken").write_text("precious")
    given = [word.format(**places) for word in arguments]
    done = classgrow("paper", "figure6", "--dataset", "cifar100", *given)
    check_refused(done, *(word.format(**places) for word in words))
    assert not list((tmp_path / "free").glob("*"))
    assert (tmp_path / "taken").read_text() == "precious"


def test_two_questions_at_once(classgrow) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("paper", "--list", "--estimate")
    assert done.returncode == 2 and "ask one at a time" in done.stderr
