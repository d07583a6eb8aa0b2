"""`classgrow predict`, `check` and `evaluate`: what a user types, what comes back."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest
from typer.testing import CliRunner

from classgrow.cli import app
from classgrow.cli.models import accuracy_table
from classgrow.errors import ClassgrowError
from classgrow.photos.history import Version
from tests.cli.conftest import Command
from tests.photos.painted import painted, small_model


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model`, and photos in `new/`: two red, a blue, one broken."""
    folder = tmp_path_factory.mktemp("looking")
    small_model(folder)
    painted(folder / "new", {"red": 2, "blue": 1}, seed=3)
    (folder / "new" / "bad.png").write_text("no photo")
    return folder


def typed(*words: str | Path) -> tuple[str, str]:
    """Standard output and error of a command that ends well."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None:
        raise done.exception
    return done.stdout, done.stderr


def test_predict_in_a_process(classgrow: Command, place: Path) -> None:
    photo = place / "new" / "red" / "3-0.png"
    done = classgrow("predict", place / "model", photo)
    assert done.returncode == 0, done.stderr
    first, best, *_ = done.stdout.splitlines()
    assert first.startswith(f"{photo}: red, ") and best.split()[0] == "red" and "Most like these" in done.stdout


def test_predict_makes_a_table_and_names_what_it_cannot_read(place: Path) -> None:
    shown, said = typed("predict", place / "model", place / "new")
    assert said.startswith("Not read: 1 of 4 (") and "bad.png: not an image" in said
    assert [line.split()[1] for line in shown.splitlines() if "3-" in line] == ["blue", "red", "red"]
    assert "otherwise" in shown
    assert "otherwise" not in typed("predict", place / "model", place / "new", "--top", "1")[0]


def test_json_is_an_object_a_line(place: Path) -> None:
    lines = [json.loads(line) for line in typed("predict", place / "model", place / "new", "--json")[0].splitlines()]
    bad, *good = lines
    assert bad == {"photo": str(place / "new" / "bad.png"), "error": "not an image"}
    assert [one["class"] for one in good] == ["blue", "red", "red"]
    assert all(sum(rank["probability"] for rank in one["ranking"]) == pytest.approx(1) for one in good)
    assert good[0]["unknown"] is False and Path(good[0]["nearest"][0]["file"]).is_file()


def test_csv_holds_no_formulas(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    painted(tmp_path, {"red": 1})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "red" / "0-0.png").rename(tmp_path / "=cmd|x.png")
    shown, _ = typed("predict", place / "model", "=cmd|x.png", place / "new" / "bad.png", "--csv", "--top", "2")
    first, second = csv.DictReader(io.StringIO(shown))
    assert first["photo"] == "'=cmd|x.png" and (first["class"], first["class_1"]) == ("red", "red")
    assert float(first["probability_1"]) + float(first["probability_2"]) <= 1
    assert (second["class"], second["error"]) == ("", "not an image")


def test_sort_into_copies_by_class(place: Path, tmp_path: Path) -> None:
    typed("predict", place / "model", place / "new", "--sort-into", tmp_path / "sorted")
    copies = sorted(path.relative_to(tmp_path / "sorted").as_posix() for path in (tmp_path / "sorted").rglob("*.png"))
    assert copies == ["blue/3-0.png", "red/3-0.png", "red/3-1.png"]
    assert (place / "new" / "red" / "3-0.png").is_file()


def test_what_is_unknown_is_said_and_sorted_apart(place: Path, tmp_path: Path) -> None:
    """Pixels of chance are far from any colour on a dark ground."""
    import numpy as np
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 256, (30, 30, 3), dtype=np.uint8)
    Image.fromarray(255 - noise // 8).save(tmp_path / "noise.png")
    shown, _ = typed("predict", place / "model", tmp_path / "noise.png", "--sort-into", tmp_path / "sorted")
    assert f"{tmp_path / 'noise.png'}: none of the known classes" in shown.splitlines()[0]
    assert (tmp_path / "sorted" / "unknown" / "noise.png").is_file()


def test_names_are_neither_markup_nor_commands_to_the_terminal(place: Path, tmp_path: Path) -> None:
    painted(tmp_path, {"red": 2})
    (tmp_path / "red" / "0-0.png").rename(tmp_path / "red" / "[bold]\x1b]0;mine\x07.png")
    for words in ((tmp_path,), (tmp_path / "red" / "[bold]\x1b]0;mine\x07.png",), (tmp_path, "--csv")):
        shown, _ = typed("predict", place / "model", *words)
        assert r"[bold]\x1b]0;mine\x07.png" in shown and "\x1b" not in shown
    shown, _ = typed("check", tmp_path, "--quick")
    assert "\x1b" not in shown


def test_refusals_are_one_sentence(
    classgrow: Command, place: Path, tmp_path: Path, check_refused: Callable[..., None]
) -> None:
    check_refused(classgrow("predict", place / "model", place / "new" / "bad.png"), "None of 1", "not an image")
    check_refused(classgrow("evaluate", place / "model", tmp_path / "gone"), "There is no folder")
    for words, text in (
        (("predict", place / "model", tmp_path), "There is no photo in"),
        (("predict", tmp_path / "no", place / "new"), "There is no model"),
        (("predict", place / "model", place / "new", "--csv", "--json"), "--csv and --json are two answers"),
        (("check", tmp_path / "gone"), "There is no folder"),
        (("check", place / "new", "--quick", "--output", place / "new"), "give another file as --output"),
    ):
        with pytest.raises(ClassgrowError, match=text):
            typed(*words)


def test_watch_answers_for_what_arrives_and_ends_well(
    start: Callable[..., Popen[str]], place: Path, tmp_path: Path
) -> None:
    painted(tmp_path / "other", {"red": 1, "blue": 1})
    process = start("predict", place / "model", tmp_path / "inbox", "--watch", "--json")
    (tmp_path / "inbox").mkdir()
    (tmp_path / "other" / "red" / "0-0.png").rename(tmp_path / "inbox" / "a.png")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["class"] == "red"
    (tmp_path / "other" / "blue" / "0-0.png").rename(tmp_path / "inbox" / "b.png")
    assert json.loads(process.stdout.readline())["photo"] == str(tmp_path / "inbox" / "b.png")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0 and out == "" and error == "Watching; Ctrl-C ends it.\n"


def test_check_shows_a_summary_json_and_a_page(place: Path, tmp_path: Path) -> None:
    photos = painted(tmp_path / "photos", {"red": 10, "blue": 2})
    page = tmp_path / "pages" / "check.html"
    shown, _ = typed("check", photos, "--quick", "--output", page)
    assert shown.startswith("12 photos in 2 classes.") and "Classes with few photos: 1." in shown
    assert "blue: 2 photos" in shown and shown.endswith(f"Look at them: {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    content = json.loads(typed("check", photos, "--quick", "--json")[0])
    assert content["photos"] == 12 and [one["kind"] for one in content["findings"]][-1] == "scarce"


def test_evaluate_shows_a_table_json_and_a_page(place: Path, tmp_path: Path) -> None:
    photos = painted(tmp_path / "photos", {"red": 3, "blue": 2, "stranger": 2}, seed=9)
    written = ("--output", tmp_path / "page.html", "--picture", tmp_path / "p.png")
    shown, _ = typed("evaluate", place / "model", photos, *written)
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.startswith("  ") and line.split()}
    assert rows["red"][:3] == ["1", "3", "100.0"] and rows["blue"][:3] == ["2", "2", "100.0"]
    assert rows["all"][:2] == ["5", "100.0"] and "Of 2 photos of 1 class that was never learned, " in shown
    assert (tmp_path / "page.html").is_file() and f"Picture: {tmp_path / 'p.png'}" in shown
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads(typed("evaluate", place / "model", photos, "--json")[0])
    assert content["accuracy"] == 1.0 and content["strangers"] == {"stranger": 2}


def test_a_model_that_was_not_made_of_photos_counts_none() -> None:
    """That of a run: no photo was counted, which is not the same as none at all."""
    tested = Version(1, "", "import", "", ("a", "b"), {}, ("a", "b"), after={"a": 0.5}, measured="tested")
    table = accuracy_table(tested)
    assert table.rows == (("a", "–", "new", "50.0"), ("b", "–", "new", "–"))
    assert table.footer == (("mean of all", "–", "", "50.0"),)


def test_what_cannot_be_encoded_stops_no_answer(place: Path, tmp_path: Path) -> None:
    """As in a pipe on Windows, which may have 256 letters: others become question marks."""
    photo = painted(tmp_path, {"red": 1}, seed=5) / "red" / "5-0.png"
    photo.rename(tmp_path / "💜.png")
    done = subprocess.run(
        [sys.executable, "-m", "classgrow", "predict", place / "model", tmp_path / "💜.png"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path / '?.png'}: red, ")
