"""Jobs on disk, what becomes of them, and what a person is told of how far they are."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from classgrow.photos.folder import link_tree
from classgrow.photos.model import PhotoModel
from classgrow.photos.presets import Wish
from classgrow.progress import Silent
from classgrow.serve.current import Current, version_digest
from classgrow.serve.jobs import REMEMBERED, Job, JobBook, Outcome, Standing
from classgrow.serve.refusals import RefusedError
from classgrow.serve.teaching import AGAIN, Teaching, after
from classgrow.serve.tray import alike
from classgrow.serve.worker import BASE, COPY, WrittenProgress, prepare


def photos(*values: int) -> list[torch.Tensor]:
    return [torch.full((4, 4, 3), value, dtype=torch.uint8) for value in values]


def added(book: JobBook, *values: int, keep: str = "ask") -> Job:
    return book.add(book.stage(photos(*values)), ["cat"] * len(values), keep, "teach")  # type: ignore[arg-type]


def test_a_book_read_again_is_the_same(tmp_path: Path) -> None:
    book = JobBook(tmp_path / "jobs")
    first = book.put(replace(added(book, 1, 2), state="ready", after={"cat": 0.5}, notes=("a note",)))
    second = added(book, 3)
    again = JobBook(tmp_path / "jobs")
    assert list(again.jobs.values()) == [first, second]
    assert first.photos == {"cat": 2} and len(list(again.place(first).glob("photos/*.png"))) == 2


def test_photos_without_a_job_and_broken_jobs(tmp_path: Path) -> None:
    """What was cut off while it arrived goes; a job that cannot be read is left for a person to look at."""
    book = JobBook(tmp_path / "jobs")
    staged = book.stage(photos(1))
    broken = added(book, 2)
    (book.place(broken) / "job.json").write_text('{"id": 7')
    again = JobBook(tmp_path / "jobs")
    assert again.jobs == {} and not (tmp_path / "jobs" / staged.id).exists()
    assert (again.place(broken) / "photos").is_dir()


def test_photos_go_when_a_job_is_over_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    book = JobBook(tmp_path / "jobs")
    for value in range(REMEMBERED + 3):
        job = book.put(replace(added(book, value), state="kept"))
        assert not (book.place(job) / "photos").exists()
    assert len(book.jobs) == REMEMBERED == len(list((tmp_path / "jobs").iterdir()))


def test_more_photos_join_a_job_that_waits(tmp_path: Path) -> None:
    book = JobBook(tmp_path / "jobs")
    job = added(book, 1, keep="now")
    assert book.open_for("teach", 2) == job and book.open_for("correct", 2) is None
    joined = book.extend(job, book.stage(photos(1, 2)), ["dog", "dog"])  # the first one again, by another name
    assert joined.photos == {"dog": 2} and book.open_for("teach", 2) is None
    assert sorted(path.stem for path in (book.place(job) / "photos").iterdir()) == sorted(joined.names)
    book.rename("dog", "wolf")
    assert book.jobs[job.id].photos == {"wolf": 2} and book.teaching("dog") is None


@pytest.mark.parametrize(
    ("outcome", "attempts", "state", "error"),
    [
        (None, 1, "waiting", None),
        (None, 3, "failed", "The process that learns was ended 3 times."),
        (Outcome(error="No."), 1, "failed", "No."),
        (Outcome("a", "b", {}, {"cat": 1.0}), 1, "ready", None),
    ],
)
def test_what_the_end_of_a_process_means(outcome: Outcome | None, attempts: int, state: str, error: str | None) -> None:
    job = after(Job("1", {}, state="learning", attempts=attempts), outcome)
    assert (job.state, job.error) == (state, error)


def test_progress_by_hand(tmp_path: Path) -> None:
    """Reading is the first 5 %, learning all up to 90 %; after 2 of 8 photos in 3 s there are 9 s left."""
    time = [0.0]
    progress = WrittenProgress(tmp_path / "progress.json", clock=lambda: time[0])
    progress.begin("reading photos", 10)
    progress.advance(10)
    progress.end()
    assert Standing(**json.loads((tmp_path / "progress.json").read_text())) == Standing(0.05, None)
    progress.begin_training(2, 8)
    time[0] = 3.0
    progress.advance(2)
    found = Standing(**json.loads((tmp_path / "progress.json").read_text()))
    assert found.done == pytest.approx(0.05 + 0.25 * 0.85) and found.seconds_left == 9.0


# --- kept, or learned again ------------------------------------------------------------------------------------------


def teaching_for(model: Path) -> Teaching:
    folder = model.parent / ".pets.serve"
    return Teaching(JobBook(folder / "jobs"), model, folder / "proposal", Wish(), lambda: None)


def ready(teaching: Teaching) -> Job:
    """A job whose result lies in the proposal: a copy of the model with another name of a class."""
    base = prepare(teaching.proposal, teaching.model)
    PhotoModel(teaching.proposal / COPY, progress=Silent()).rename("red", "crimson")
    job = added(teaching.book, 1)
    return teaching.book.put(
        replace(job, state="ready", base=base, result=version_digest(teaching.proposal / COPY), attempts=1)
    )


def test_a_result_takes_the_models_place_once(model: Path) -> None:
    teaching = teaching_for(model)
    job = ready(teaching)
    asyncio.run(teaching.keep(job))
    assert PhotoModel(model, progress=Silent()).classes == ["green", "crimson"]
    assert teaching.book.jobs[job.id].state == "kept" and not (teaching.proposal / COPY).exists()
    with pytest.raises(RefusedError, match="undo"):
        asyncio.run(teaching.discard(teaching.book.jobs[job.id]))


def test_a_result_on_a_version_that_is_gone_is_learned_again(model: Path) -> None:
    """Kept as it is, it would take back what was changed meanwhile."""
    teaching = teaching_for(model)
    job = ready(teaching)
    PhotoModel(model, progress=Silent()).forget("green")
    asyncio.run(teaching.keep(job))
    found = teaching.book.jobs[job.id]
    assert (found.state, found.notes) == ("waiting", (AGAIN,))
    assert PhotoModel(model, progress=Silent()).classes == ["red"]


def test_a_copy_is_gone_on_with_only_on_the_same_version(model: Path, tmp_path: Path) -> None:
    proposal = tmp_path / "proposal"
    first = prepare(proposal, model)
    (proposal / COPY / ".learning").mkdir()  # what an interrupted training left
    assert prepare(proposal, model) == first and (proposal / COPY / ".learning").is_dir()
    PhotoModel(model, progress=Silent()).rename("red", "crimson")
    assert prepare(proposal, model) != first and not (proposal / COPY / ".learning").exists()
    assert (proposal / BASE).read_text() == version_digest(model) == version_digest(proposal / COPY)
    assert (proposal / COPY / "versions" / "1" / "config.json").is_file()


@pytest.mark.parametrize("cut", ["before the exchange", "after the exchange", "proposal lost"])
def test_recovery_after_the_process_was_ended_anywhere(model: Path, cut: str) -> None:
    teaching = teaching_for(model)
    job = ready(teaching)
    learning = teaching.book.put(replace(added(teaching.book, 2), state="learning"))
    if cut == "after the exchange":
        shutil.rmtree(model)
        link_tree(teaching.proposal / COPY, model)
    if cut == "proposal lost":
        shutil.rmtree(teaching.proposal)
    after_restart = teaching_for(model)
    after_restart.recover()
    states = {"before the exchange": "ready", "after the exchange": "kept", "proposal lost": "waiting"}
    assert after_restart.book.jobs[job.id].state == states[cut]
    assert after_restart.book.jobs[learning.id].state == "waiting"


def test_a_damaged_version_does_not_take_the_good_ones_place(model: Path) -> None:
    current = Current(model, Wish())
    assert current.refresh() and not current.refresh()
    (model / "config.json").write_text("{")
    assert not current.refresh()
    assert current.need().classes == ("green", "red")
    [answer] = current.need().answer([torch.zeros(32, 32, 3, dtype=torch.uint8)], ["x"], 2)
    assert {name for name, _ in answer.ranking} == {"green", "red"}


def test_groups_by_hand() -> None:
    """Two directions with a little noise: the group of three comes first."""
    rows = torch.nn.functional.normalize(torch.tensor([[1, 0.0], [0, 1.0], [0.1, 1.0], [1, 0.1], [0, 0.9]]))
    assert alike(rows) == [[1, 2, 4], [0, 3]]
