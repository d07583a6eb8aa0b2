"""A full and a read-only disk at every write of a run, a save and a record: one sentence, and what was good stays."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.records.record import RECORD_FILE, read_record, without_times
from torture.power import more_images
from torture.small import go, learner, small_digits
from torture.tally import Limits, Tally

VERBS = ("open", "write", "fsync", "replace", "rename", "mkdir")
WAYS = {"full": errno.ENOSPC, "read-only": errno.EROFS, "broken": errno.EIO}


@contextmanager
def failing(root: Path, at: int, number: int) -> Iterator[list[int]]:
    """Inside, the `at`-th write below `root` and all after it fail; the list counts them."""
    count = [0]
    handles: set[int] = set()

    def guarded(verb: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *rest: Any, **more: Any) -> Any:
            if verb in ("write", "fsync"):
                ours = first in handles
            else:
                ours = isinstance(first, str | os.PathLike) and Path(first).absolute().is_relative_to(root)
                if verb == "open" and not rest[0] & (os.O_WRONLY | os.O_RDWR):
                    ours = False
            if ours:
                count[0] += 1
                if count[0] > at:
                    raise OSError(number, os.strerror(number), None if isinstance(first, int) else str(first))
            found = real(first, *rest, **more)
            if verb == "open" and ours:
                handles.add(found)
            return found

        return call

    with ExitStack() as stack:
        for verb in VERBS:
            stack.enter_context(patch.object(os, verb, guarded(verb, getattr(os, verb))))
        yield count


def full_disks(limits: Limits) -> Tally:
    """Every write of a save and of a run, in an order in which a short time sees something of all."""
    tally = Tally()
    limits.folder.mkdir(parents=True, exist_ok=True)
    one = learner()
    one.save(limits.folder / "earlier")
    one.learn(*more_images())
    with small_digits():
        whole = without_times(go("fgp", limits.folder / "whole").record)
        tries = [(way, at, what) for way in WAYS for at in range(60) for what in ("save", "run")]
        limits.draw.shuffle(tries)
        for way, at, what in tries:
            if not limits.more():
                break
            place = limits.folder / "now"
            shutil.rmtree(place, ignore_errors=True)
            with tally.trying(f"{way} disk in a {what}"):
                if what == "save":
                    _save(one, limits.folder / "earlier", place, at, WAYS[way])
                else:
                    _run(place, at, WAYS[way], whole)
    return tally


def _save(one: Learner, earlier: Path, place: Path, at: int, number: int) -> None:
    shutil.copytree(earlier, place / "model")
    refused = False
    with failing(place, at, number) as count:
        try:
            one.save(place / "model")
        except ClassgrowError:
            refused = True
    known = Learner.load(place / "model").classes
    assert known in (["a", "b"], ["a", "b", "c"]), "a model is lost"
    assert refused or known == ["a", "b", "c"] or count[0] <= at, "a save that failed says nothing"


def _run(place: Path, at: int, number: int, whole: dict[str, Any]) -> None:
    place.mkdir()
    with failing(place, at, number), suppress(ClassgrowError):
        go("fgp", place)
    for path in place.glob(f"*/{RECORD_FILE}"):
        read_record(path)
    try:
        again = without_times(go("fgp", place).record)
    except ClassgrowError as error:
        raise AssertionError(f"cannot go on: {error}") from error
    assert again == whole, "another result"
