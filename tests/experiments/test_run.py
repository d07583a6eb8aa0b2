"""Stop a run anywhere and go on: the record is that of a run that was never stopped."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from classgrow import checkpoint
from classgrow.data.digits import load_digits
from classgrow.data.labelled import ArrayStore, ClassLabel, Dataset, LabelledImages
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.experiments import run as running
from classgrow.experiments.outline import outline
from classgrow.experiments.run import CHECKPOINT_FILE, Outcome, prepare, run_spec
from classgrow.experiments.run_folder import CHECKPOINTS
from classgrow.progress import Silent
from classgrow.records.record import RECORD_FILE, read_record, without_times, write_record
from classgrow.records.summary import summary
from classgrow.specs.spec import Spec

SPEC = Spec(dataset="digits", method="fgp", memory=12, classes=6, first=2, step=2, epochs=6)
FOR_EACH_CLASS = 20


class UnpluggedError(Exception):
    """The plug was pulled."""


class Pulled(Silent):
    """Pulls the plug once so many batches went by."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def advance(self, images: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise UnpluggedError


def few(data: LabelledImages) -> LabelledImages:
    """The first images of every class."""
    kept = [(data.labels == label).nonzero()[:FOR_EACH_CLASS, 0] for label in range(10)]
    return data.select(torch.cat(kept))


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 training and 20 test images a class."""
    digits = load_digits()
    small = Dataset("digits", few(digits.train), few(digits.test))
    monkeypatch.setattr(running, "load", lambda *_: small)


def go(output: Path, spec: Spec = SPEC, **settings: Any) -> Outcome:
    return run_spec(spec, output, execution=Execution(threads=1), **settings)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Filled by the first test that needs it."""
    return {"folder": tmp_path_factory.mktemp("uninterrupted")}


@pytest.fixture
def whole(uninterrupted: dict[str, Any]) -> dict[str, Any]:
    if "record" not in uninterrupted:
        uninterrupted["record"] = without_times(go(uninterrupted["folder"]).record)
    return uninterrupted["record"]


def test_a_published_folder_is_known_before_it_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its files are no part of the identity, yet a run does not go on with others."""
    spec = Spec(dataset="imagenet100", classes=2, first=2, step=2, memory=2)
    pixels = ArrayStore(torch.zeros((100, 256, 256, 3), dtype=torch.uint8))
    names = tuple(ClassLabel(number, str(number)) for number in range(100))
    view = LabelledImages(pixels, torch.arange(100), torch.arange(100), names)
    found = Dataset("imagenet100", view, view, "these-files")
    monkeypatch.setattr(running, "load", lambda *_: found)
    run = prepare(spec, tmp_path)
    assert run.folder == outline(spec).folder(tmp_path) and run.resolved.data == "these-files"
    run.folder.mkdir()
    write_record(running.new_record(run, Execution()), run.folder / RECORD_FILE)
    monkeypatch.setattr(running, "load", lambda *_: replace(found, fingerprint="others"))
    with pytest.raises(ClassgrowError, match=r"other images .*choose another `output`"):
        go(tmp_path, spec, resume=True)


# 40 images are 2 batches of 32, so phase 1 has 12 batches; then 40 and 12 exemplars, 2 batches an epoch again.
@pytest.mark.parametrize(
    "batches",
    [1, 12, 13, 23, 24, 36],
    ids=["at once", "end of phase 1", "phase 2 begun", "after a checkpoint in it", "end of phase 2", "last batch"],
)
def test_going_on_equals_never_stopping(tmp_path: Path, whole: dict[str, Any], batches: int) -> None:
    with pytest.raises(UnpluggedError):
        go(tmp_path, progress=Pulled(batches))
    outcome = go(tmp_path, resume=True)
    assert without_times(outcome.record) == whole
    assert not outcome.already_finished
    assert without_times(read_record(outcome.folder / RECORD_FILE)) == whole


def test_stopped_between_learning_and_recording(
    tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = running.evaluate

    def unplugged(learner: Any, *rest: Any) -> Any:
        if learner.state.phase == 2:
            raise UnpluggedError
        return evaluate(learner, *rest)

    with monkeypatch.context() as patch, pytest.raises(UnpluggedError):
        patch.setattr(running, "evaluate", unplugged)
        go(tmp_path)
    record = go(tmp_path, resume=True).record
    assert without_times(record) == whole
    for seconds in (phase.seconds for phase in record.phases):
        assert seconds.total >= seconds.train + seconds.remember + seconds.evaluate


def test_stopped_again_and_again(tmp_path: Path, whole: dict[str, Any]) -> None:
    """Each start gets 11 batches further than its last checkpoint, every fifth epoch or at the end of a step."""
    for _ in range(10):
        try:
            outcome = go(tmp_path, resume=True, progress=Pulled(11))
        except UnpluggedError:
            continue
        assert without_times(outcome.record) == whole
        return
    pytest.fail("never finished")


def test_more_phases_later(tmp_path: Path, whole: dict[str, Any]) -> None:
    two = go(tmp_path, SPEC.model_copy(update={"phases": 2}))
    assert (len(two.record.phases), two.record.status, two.record.phases_planned) == (2, "finished", 2)
    three = SPEC.model_copy(update={"phases": 3})
    with pytest.raises(ClassgrowError, match="give `resume` to go on"):
        go(tmp_path, three)
    outcome = go(tmp_path, three, resume=True)
    assert outcome.folder == two.folder
    assert without_times(outcome.record) == {**whole, "spec": three.to_json()}


def test_the_record_says_what_happened(whole: dict[str, Any]) -> None:
    assert [phase["classes_seen"] for phase in whole["phases"]] == [2, 4, 6]
    assert [phase["exemplars"] for phase in whole["phases"]] == [12, 12, 12]
    assert [phase["training_images"] for phase in whole["phases"]] == [40, 52, 52]
    assert [phase["test_counts"] for phase in whole["phases"]] == [[20] * 2, [20] * 4, [20] * 6]
    assert [sum(row) for row in whole["confusion"]] == [20] * 6
    last = whole["phases"][-1]["rules"]
    right = sum(whole["confusion"][k][k] for k in range(6))
    assert last["nearest"]["accuracy"] == right / 120 == pytest.approx(sum(last["nearest"]["per_class"]) / 6)
    assert set(last) == {"nearest", "head"}
    assert (whole["status"], whole["headline"], whole["seed"]) == ("finished", "nearest", 1)


def test_without_a_memory_nearest_means_are_missing_not_zero(tmp_path: Path) -> None:
    outcome = go(tmp_path, SPEC.model_copy(update={"method": "finetune", "epochs": 1, "memory": None}))
    rules = outcome.record.phases[-1].rules
    assert set(rules) == {"head"}
    assert summary(outcome.record, "nearest").final is None
    assert outcome.record.phases[-1].exemplars == 0


def test_a_finished_run_is_left_alone(uninterrupted: dict[str, Any], whole: dict[str, Any]) -> None:
    def contents(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    folder = next(uninterrupted["folder"].iterdir())
    before = contents(folder)
    for resume in (False, True):
        outcome = go(uninterrupted["folder"], resume=resume, progress=Pulled(1))
        assert outcome.already_finished and without_times(outcome.record) == whole
    assert contents(folder) == before


def test_a_run_started_before_asks_for_resume(tmp_path: Path) -> None:
    with pytest.raises(UnpluggedError):
        go(tmp_path, progress=Pulled(13))
    with pytest.raises(ClassgrowError, match=r"started before \(1 of 3 phases"):
        go(tmp_path)


def test_a_damaged_or_missing_checkpoint_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnpluggedError):
        go(tmp_path, progress=Pulled(13))
    paths = [next(tmp_path.iterdir()) / name for name in CHECKPOINTS]
    for path in paths:
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ClassgrowError, match="is damaged"):
        go(tmp_path, resume=True)
    for path in paths:
        path.unlink()
    with pytest.raises(ClassgrowError, match="is missing"):
        go(tmp_path, resume=True)


class Heard(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize("batches", [11, 13, 24, 30])
def test_from_the_checkpoint_before_a_run_ends_with_the_same_bits(
    tmp_path: Path, whole: dict[str, Any], batches: int
) -> None:
    """Also where the record already has the phase that the older checkpoint is in the middle of."""
    with pytest.raises(UnpluggedError):
        go(tmp_path, progress=Pulled(batches))
    (next(tmp_path.iterdir()) / CHECKPOINT_FILE).write_bytes(b"lost")
    heard = Heard()
    assert without_times(go(tmp_path, resume=True, progress=heard).record) == whole
    assert "goes on from the one before" in heard.said[0]
    assert sorted(path.name for path in next(tmp_path.iterdir()).iterdir()) == [CHECKPOINT_FILE, "lock", RECORD_FILE]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"seed": 2}, CHECKPOINTS),
        ({"order": "seed:3"}, CHECKPOINTS),
        ({"lr": 0.3}, (RECORD_FILE,)),
        ({"seed": 2}, (RECORD_FILE, *CHECKPOINTS)),
    ],
    ids=["seed", "order", "record", "both"],
)
def test_another_runs_files_are_refused(tmp_path: Path, change: dict[str, Any], names: tuple[str, ...]) -> None:
    """Seed 2's checkpoint in seed 1's folder would go on to a wrong result without a word."""
    folders = []
    for spec in (SPEC, SPEC.model_copy(update=change)):
        with pytest.raises(UnpluggedError):
            go(tmp_path, spec, progress=Pulled(13))
        folders.append(prepare(spec, tmp_path).folder)
    for name in names:
        shutil.copy(folders[1] / name, folders[0] / name)
    with pytest.raises(ClassgrowError, match="belongs to another run"):
        go(tmp_path, resume=True)


def test_a_foreign_finished_record_is_not_this_run(tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    other = SPEC.model_copy(update={"seed": 2, "phases": 1, "epochs": 1})
    folder = go(tmp_path, other).folder
    mine = prepare(SPEC.model_copy(update={"phases": 1, "epochs": 1}), tmp_path).folder
    shutil.copytree(folder, mine)
    with pytest.raises(ClassgrowError, match="belongs to another run"):
        go(tmp_path, SPEC.model_copy(update={"phases": 1, "epochs": 1}), resume=True)


def test_a_checkpoint_of_before_is_known_by_its_classes(tmp_path: Path, whole: dict[str, Any]) -> None:
    """It does not say which run it is of."""
    with pytest.raises(UnpluggedError):
        go(tmp_path, progress=Pulled(13))
    path = next(tmp_path.iterdir()) / CHECKPOINT_FILE
    tensors, plain = checkpoint.read(path)
    del plain["run"]
    plain["state"]["classes"][0][0] = 9  # type: ignore[index, call-overload]
    checkpoint.write(path, tensors, plain)
    with pytest.raises(ClassgrowError, match="belongs to another run"):
        go(tmp_path, resume=True)
    plain["state"]["classes"][0][0] = 0  # type: ignore[index, call-overload]
    checkpoint.write(path, tensors, plain)
    assert without_times(go(tmp_path, resume=True).record) == whole


HOLD = """
import sys
from pathlib import Path
from classgrow.experiments.lock import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_only_one_process_works_on_a_run(tmp_path: Path) -> None:
    with pytest.raises(UnpluggedError):
        go(tmp_path, progress=Pulled(1))
    folder = next(tmp_path.iterdir())
    before = (folder / RECORD_FILE).read_bytes()
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(ClassgrowError, match="Another process is working on"):
            go(tmp_path, resume=True)
        holder.kill()
    assert (folder / RECORD_FILE).read_bytes() == before
    with pytest.raises(UnpluggedError):  # a dead process lets go
        go(tmp_path, resume=True, progress=Pulled(1))


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    folder = running.prepare(SPEC, tmp_path).folder
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(ClassgrowError, match=r"holds something else \(thesis.txt\)"):
        go(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]
    (tmp_path / "file").touch()
    with pytest.raises(ClassgrowError, match="choose another `output`"):
        go(tmp_path / "file")


def test_a_checkpoint_without_its_record_is_not_trusted(tmp_path: Path, whole: dict[str, Any]) -> None:
    said: list[str] = []
    quiet = Silent()
    quiet.say = said.append  # type: ignore[method-assign]
    folder = go(tmp_path, SPEC.model_copy(update={"phases": 2})).folder
    (folder / RECORD_FILE).unlink()
    assert without_times(go(tmp_path, progress=quiet).record) == whole
    assert said == ["The checkpoint belongs to a record that is gone: the run starts again."]
    short = read_record(folder / RECORD_FILE)
    write_record(short.model_copy(update={"phases": short.phases[:1], "confusion": None}), folder / RECORD_FILE)
    with pytest.raises(ClassgrowError, match="is of another phase than its record: start afresh"):
        go(tmp_path, resume=True)
