"""An interrupted `learn`: what it was about, and how far it came. The same call goes on from there."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from classgrow.checkpoint import CheckpointFile, write_atomically
from classgrow.errors import ClassgrowError
from classgrow.photos.folder import LEARNING

JOB, CHECKPOINT = "job.json", "checkpoint.safetensors"


@dataclass(frozen=True)
class Job:
    """What is being learned: photos and classes by their digest, onto which version, and how.

    `epochs` are those of the recipe, which a time budget may have decided: no part of what was asked for.
    """

    photos: str
    version: int
    asked: str
    epochs: int = 0

    def is_same(self, other: Job) -> bool:
        """Whether both are the same call of `learn`."""
        return (self.photos, self.version, self.asked) == (other.photos, other.version, other.asked)


def begin(folder: Path, job: Job) -> CheckpointFile:
    """Where the checkpoints of a training go; what another one left is removed."""
    clear(folder)
    place = folder / LEARNING
    place.mkdir(parents=True)
    write_atomically(place / JOB, json.dumps(asdict(job)).encode())
    return CheckpointFile(place / CHECKPOINT)


def interrupted(folder: Path) -> Job | None:
    """What was interrupted, if there is a checkpoint to go on from."""
    place = folder / LEARNING
    if not (place / CHECKPOINT).is_file():
        return None
    try:
        found = json.loads((place / JOB).read_bytes())
        return Job(str(found["photos"]), int(found["version"]), str(found["asked"]), int(found["epochs"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def saved_in(folder: Path) -> CheckpointFile | None:
    """The checkpoint to go on from, if it can be read."""
    file = CheckpointFile(folder / LEARNING / CHECKPOINT)
    try:
        return file if file.read() is not None else None
    except ClassgrowError:
        return None


def clear(folder: Path) -> None:
    shutil.rmtree(folder / LEARNING, ignore_errors=True)
