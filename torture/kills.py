"""Kills of real processes and crashes injected at any moment: a run or a save goes on to the same bits."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from classgrow import exchange
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.progress import Silent
from classgrow.records.record import RECORD_FILE, read_record, without_times
from torture.power import more_images
from torture.small import METHODS, go, learner, small_digits
from torture.tally import Limits, Tally

MOST_STARTS, HANGS_SECONDS = 30, 600.0
"""Starts of a run before it is left alone, and how long it may then take."""
COMMAND = (sys.executable, "-c", "from classgrow.cli import main; main()")


class Crash(BaseException):
    """The process is gone: nothing may catch it for good."""


class Crashing(Silent):
    """Crashes once so many batches went by."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def advance(self, images: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise Crash


def crash_after(stack: ExitStack, operations: int) -> None:
    """Inside the stack, the process is gone after so many changes on the disk."""
    left = operations

    def counted(do: Callable[..., Any], *given: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Crash
        return do(*given, **more)

    for verb in ("write", "fsync", "replace", "rename", "mkdir", "unlink"):
        stack.enter_context(patch.object(os, verb, partial(counted, getattr(os, verb))))


def crashes(limits: Limits) -> Tally:
    """Injected into runs of five methods and into saves, in this process."""
    tally = Tally()
    limits.folder.mkdir(parents=True, exist_ok=True)
    one = learner()
    one.save(limits.folder / "earlier")
    one.learn(*more_images())
    whole: dict[str, Any] = {}
    with small_digits():
        while limits.more():
            place = limits.folder / "now"
            shutil.rmtree(place, ignore_errors=True)
            if limits.draw.random() < 0.5:
                with tally.trying("crash in a save"):
                    _crash_in_a_save(one, limits.folder / "earlier", place, limits.draw)
                continue
            method = limits.draw.choice(METHODS)
            if method not in whole:
                whole[method] = without_times(go(method, limits.folder / method).record)
            with tally.trying(f"crash in a run of {method}", seconds=HANGS_SECONDS):
                assert _run_with_crashes(method, place, limits.draw) == whole[method], "another result"
    return tally


def _crash_in_a_save(one: Learner, earlier: Path, place: Path, draw: random.Random) -> None:
    shutil.copytree(earlier, place / "model")
    with ExitStack() as stack:
        if draw.random() < 0.5:
            stack.enter_context(patch.object(exchange, "exchange_at_once", lambda one, other: False))
        crash_after(stack, draw.randrange(20))
        with suppress(Crash):
            one.save(place / "model")
    with patch.object(exchange, "is_abandoned", lambda path: True):
        known = kept(lambda: Learner.load(place / "model")).classes
    assert known in (["a", "b"], ["a", "b", "c"]), "a model is lost"


def _run_with_crashes(method: str, place: Path, draw: random.Random) -> Any:
    for start in range(MOST_STARTS):
        with ExitStack() as stack:
            progress = Silent()
            if draw.random() < 0.5:
                crash_after(stack, draw.randrange(5 + 4 * start, 60 + 4 * start))
            else:
                progress = Crashing(draw.randrange(2 + start, 30 + start))
            try:
                return without_times(kept(partial(go, method, place, progress)).record)
            except Crash:
                continue
    raise AssertionError("the run never came to its end")


def kept(do: Callable[[], Any]) -> Any:
    """After a crash a refusal is a loss."""
    try:
        return do()
    except ClassgrowError as error:
        raise AssertionError(f"good state is lost: {error}") from error


def kills(limits: Limits) -> Tally:
    """SIGKILL to `classgrow run` at any moment, in one process and in two."""
    tally = Tally()
    limits.folder.mkdir(parents=True, exist_ok=True)
    whole: dict[tuple[str, int], Any] = {}
    while limits.more():
        method, processes = limits.draw.choice(METHODS), limits.draw.choice((1, 1, 2))
        what = f"kill of a run in {processes} process{'es' * (processes > 1)}"
        key = method, processes
        if key not in whole:
            folder = limits.folder / f"{method}-{processes}"
            _start(method, processes, folder).wait(HANGS_SECONDS)
            whole[key] = _record(folder)
        place = limits.folder / "now"
        shutil.rmtree(place, ignore_errors=True)
        with tally.trying(what, seconds=math.inf):  # many starts; each has a limit of its own
            _killed(method, processes, place, limits, tally, what)
            assert _record(place) == whole[key], f"{method}: another result"
    return tally


def _start(method: str, processes: int, output: Path) -> subprocess.Popen[bytes]:
    words = ["run", "--dataset", "digits", "--method", method, "--classes", "4", "--epochs", "6", "--memory", "12"]
    words += ["--processes", str(processes), "--threads", "1", "--resume", "--output", str(output)]
    with (output.parent / "said").open("ab") as said:
        return subprocess.Popen([*COMMAND, *words], stdout=said, stderr=said)


def _killed(method: str, processes: int, place: Path, limits: Limits, tally: Tally, what: str) -> None:
    for start in range(MOST_STARTS):
        process = _start(method, processes, place)
        begun = time.monotonic()
        while not any(place.glob("*/lock")) and process.poll() is None and time.monotonic() - begun < 60:
            time.sleep(0.05)
        patience = limits.draw.uniform(0.0, 6.0 + 2.0 * start)  # so that a slow machine comes to the end, too
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            tally.add(what + ", killed")
        time.sleep(0.5 if processes > 1 else 0)  # the others notice that their parent is gone
    _start(method, processes, place).wait(HANGS_SECONDS)


def _record(folder: Path) -> Any:
    (path,) = folder.glob(f"*/{RECORD_FILE}")
    record = kept(lambda: read_record(path))
    assert record.status == "finished", "a run did not come to its end"
    return without_times(record)
