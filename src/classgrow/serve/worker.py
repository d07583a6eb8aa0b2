"""The process that learns one job: `python -m classgrow.serve.worker JOB PROPOSAL MODEL`.

It works on a copy of the model (hard links: nothing is copied) at a low priority, and ends with the service that
started it, whose end it sees at its standard input. Started again, it goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from classgrow.checkpoint import write_atomically
from classgrow.errors import ClassgrowError
from classgrow.photos.folder import EARLIER, earlier_versions, link_tree, one_writer
from classgrow.photos.model import PhotoModel
from classgrow.photos.presets import Wish
from classgrow.progress import Silent
from classgrow.serve.current import version_digest
from classgrow.serve.jobs import JOB, PHOTOS, PROGRESS, RESULT, JobFile, Outcome, Standing, write_json

WISH, BASE, COPY = "wish.json", "base", "model"
NICE = 10
WRITE_EVERY = 0.25
PATIENCE = 60.0
READING, LEARNING = 0.05, 0.9
"""Up to which fraction photos are read, and learned; the rest is writing."""


class WrittenProgress(Silent):
    """How far learning is, in a file that the service reads."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path, self.clock = path, clock
        self.low, self.high, self.total, self.count = 0.0, READING, 1, 0
        self.began = self.written = clock()

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.low, self.high = (0.0, READING) if "reading" in text else (READING, LEARNING)
        self.total, self.count, self.began = max(1, total), done, self.clock()

    def advance(self, images: int) -> None:
        self.count += images
        if self.clock() - self.written >= WRITE_EVERY:
            self.write()

    def end(self) -> None:
        self.write()

    def write(self) -> None:
        self.written = self.clock()
        share = min(1.0, self.count / self.total)
        left = (self.written - self.began) * (1 / share - 1) if share > 0 and self.high == LEARNING else None
        standing = Standing(self.low + share * (self.high - self.low), None if left is None else round(left, 1))
        with suppress(ClassgrowError):  # a full disk shows elsewhere
            write_json(self.path, standing)


def learn(job_folder: Path, proposal: Path, model: Path) -> Outcome:
    """Learn the job onto a copy of the model as it is now."""
    job = JobFile.validate_json((job_folder / JOB).read_bytes())
    wish = Wish(**json.loads((proposal / WISH).read_bytes()))
    base = prepare(proposal, model)
    photos = [job_folder / PHOTOS / f"{digest}.png" for digest in job.names]
    made = PhotoModel(proposal / COPY, wish, WrittenProgress(job_folder / PROGRESS))
    learned = made.learn(photos, list(job.names.values()))
    notes = (*learned.notes, *(f"{one.file.rpartition('/')[2]}: {one.reason}" for one in learned.skipped))
    return Outcome(base, version_digest(proposal / COPY), learned.before, learned.after, notes)


def prepare(proposal: Path, model: Path, seconds: float = PATIENCE) -> str:
    """A copy of the model to learn onto; returns its digest. Another process that changes the model is waited for."""
    until = time.monotonic() + seconds
    while True:
        try:
            return copied(proposal, model)
        except ClassgrowError:
            if time.monotonic() > until:
                raise
        time.sleep(0.2)


def copied(proposal: Path, model: Path) -> str:
    """The copy; one that was begun on the same version is gone on with."""
    copy, mark = proposal / COPY, proposal / BASE
    with one_writer(model):
        base = version_digest(model)
        if mark.is_file() and mark.read_text() == base and version_digest(copy) == base:
            return base
        shutil.rmtree(copy, ignore_errors=True)
        mark.unlink(missing_ok=True)
        if base:
            link_tree(model, copy)
            for number, path in earlier_versions(model).items():
                link_tree(path, copy / EARLIER / str(number))
    write_atomically(mark, base.encode())
    return base


def end_with_parent() -> None:
    """Standard input ends when the service does, however it ends."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


def main(job_folder: Path, proposal: Path, model: Path) -> None:
    end_with_parent()
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        outcome = learn(job_folder, proposal, model)
    except ClassgrowError as error:
        outcome = Outcome(error=str(error).replace(str(proposal / COPY), "the model"))
    write_json(job_folder / RESULT, outcome)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
