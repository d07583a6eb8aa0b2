"""Teachings as they lie on disk beside the model: a folder for each, with its photos. A restart loses none of them."""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from classgrow.checkpoint import write_atomically
from classgrow.errors import one_line
from classgrow.json_values import JsonDict
from classgrow.serve.kept_photos import put_photo

LOG = logging.getLogger("classgrow.serve")
JobState = Literal["waiting", "learning", "ready", "failed", "kept", "discarded"]
Keep = Literal["ask", "now"]
OVER: tuple[JobState, ...] = ("failed", "kept", "discarded")
JOB, PROGRESS, RESULT, PHOTOS = "job.json", "progress.json", "result.json", "photos"
REMEMBERED = 50
"""How many jobs that are over stay in the list."""


@dataclass(frozen=True)
class Job:
    """Photos that are to be learned, and what became of it.

    names      the class of each photo, by its digest
    keep       "ask": a person decides about the result; "now": it is kept at once
    origin     who asked for it: teach, correct, tray or label-studio
    base       the version it was learned onto, by its digest; `result`: the one it became
    attempts   how often a process has begun it
    """

    id: str
    names: dict[str, str]
    keep: Keep = "ask"
    origin: str = "teach"
    state: JobState = "waiting"
    created: float = field(default_factory=time.time)
    base: str = ""
    result: str = ""
    attempts: int = 0
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    photos: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True)
class Outcome:
    """What the process that learned left: the versions by their digests and the accuracies, or an error."""

    base: str = ""
    result: str = ""
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class Standing:
    """How far a job is: a fraction, and the seconds that are left if that can be said."""

    done: float = 0.0
    seconds_left: float | None = None


JobFile, OutcomeFile, StandingFile = TypeAdapter(Job), TypeAdapter(Outcome), TypeAdapter(Standing)


def write_json(path: Path, value: Job | Outcome | Standing) -> None:
    write_atomically(path, json.dumps(asdict(value)).encode())


def read_outcome(folder: Path) -> Outcome | None:
    """What the process left in a job's folder; None: nothing, it was ended before."""
    try:
        return OutcomeFile.validate_json((folder / RESULT).read_bytes())
    except (OSError, ValidationError):
        return None


@dataclass(frozen=True)
class Staged:
    """Photos that were put on disk, in the folder of a job that is not there yet."""

    id: str
    digests: tuple[str, ...]


class JobBook:
    """All jobs, oldest first. What it says is on disk before it says so. Only one thread changes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: dict[str, Job] = {}
        for place in sorted(folder.iterdir()) if folder.is_dir() else []:
            if not (place / JOB).is_file():  # cut off while its photos arrived: nobody was told of it
                shutil.rmtree(place, ignore_errors=True)
                continue
            try:
                job = JobFile.validate_json((place / JOB).read_bytes())
            except (OSError, ValidationError) as error:
                LOG.error("the job in %s cannot be read and is left alone: %s", place, one_line(error))
                continue
            if job.id == place.name:
                self.jobs[job.id] = job
        self.sweep()

    def place(self, job: Job) -> Path:
        return self.folder / job.id

    def stage(self, photos: Sequence[Tensor]) -> Staged:
        """Photos on disk, before it is settled which job they belong to. This may run in any thread."""
        job_id = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        place = self.folder / job_id / PHOTOS
        return Staged(job_id, tuple(put_photo(place, one) for one in photos))

    def add(self, staged: Staged, names: Sequence[str], keep: Keep, origin: str) -> Job:
        """A new job at the end of the queue."""
        found = dict(zip(staged.digests, names, strict=True))
        return self.put(Job(staged.id, found, keep, origin, photos=counted(found)))

    def extend(self, job: Job, staged: Staged, names: Sequence[str]) -> Job:
        """More photos for a job that waits."""
        found = job.names | dict(zip(staged.digests, names, strict=True))
        for digest in dict.fromkeys(staged.digests):
            source = self.folder / staged.id / PHOTOS / f"{digest}.png"
            source.replace(self.place(job) / PHOTOS / source.name)
        shutil.rmtree(self.folder / staged.id, ignore_errors=True)
        return self.put(replace(job, names=found, photos=counted(found)))

    def put(self, job: Job) -> Job:
        """What a job is from now on; once it is over, its photos go."""
        write_json(self.place(job) / JOB, job)
        self.jobs[job.id] = job
        if job.is_over:
            shutil.rmtree(self.place(job) / PHOTOS, ignore_errors=True)
            self.sweep()
        return job

    def sweep(self) -> None:
        """Forget the oldest of those that are over."""
        over = [job for job in self.jobs.values() if job.is_over]
        for job in over[:-REMEMBERED]:
            shutil.rmtree(self.place(job), ignore_errors=True)
            del self.jobs[job.id]

    def waiting(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.state == "waiting"]

    def in_state(self, state: JobState) -> Job | None:
        return next((job for job in self.jobs.values() if job.state == state), None)

    def open_for(self, origin: str, most: int) -> Job | None:
        """A waiting job that more photos of the same origin may join."""
        found = (job for job in self.waiting() if job.origin == origin and job.keep == "now" and not job.attempts)
        return next((job for job in found if len(job.names) < most), None)

    def teaching(self, name: str) -> Job | None:
        """A job that is not over and teaches this class."""
        return next((job for job in self.jobs.values() if not job.is_over and name in job.names.values()), None)

    def rename(self, old: str, new: str) -> None:
        """A class is called otherwise from now on, also where photos of it wait."""
        for job in [one for one in self.jobs.values() if not one.is_over and old in one.names.values()]:
            names = {digest: new if name == old else name for digest, name in job.names.items()}
            self.put(replace(job, names=names, photos=counted(names)))

    def standing(self, job: Job) -> Standing:
        """How far it is."""
        if job.state != "learning":
            return Standing(1.0 if job.state in ("ready", "kept") else 0.0)
        try:
            return StandingFile.validate_json((self.place(job) / PROGRESS).read_bytes())
        except (OSError, ValidationError):
            return Standing()

    def described(self, job: Job) -> JsonDict:
        """A job for clients."""
        standing = self.standing(job)
        return {
            "id": job.id,
            "state": job.state,
            "done": standing.done,
            "seconds_left": standing.seconds_left,
            "before": job.before,
            "after": job.after,
            "error": job.error,
            "photos": job.photos,
            "keep": job.keep,
            "origin": job.origin,
            "created": job.created,
            "notes": list(job.notes),
        }


def counted(names: dict[str, str]) -> dict[str, int]:
    """How many photos of each class."""
    every = list(names.values())
    return {name: every.count(name) for name in dict.fromkeys(every)}
