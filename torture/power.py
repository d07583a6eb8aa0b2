"""Power cuts: every prefix of what was written, with what was not yet synced dropped, kept or mixed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from classgrow import checkpoint, exchange
from classgrow.errors import ClassgrowError
from classgrow.experiments.run import CHECKPOINT_FILE
from classgrow.learner import Learner
from classgrow.records.record import RECORD_FILE, read_record, without_times
from torture.small import go, learner, small_digits
from torture.tally import Limits, Tally

WAYS = ("dropped", "kept", "names without content", "mixed")
"""What may become of what was not synced."""


@dataclass
class File:
    """Content as programs see it, and as the disk has it (None: nothing yet)."""

    now: bytes = b""
    synced: bytes | None = None


@dataclass
class Folder:
    """The same of names. A disk may be anywhere between: it keeps changes of names in their order."""

    now: dict[str, Any] = field(default_factory=dict)
    synced: dict[str, Any] = field(default_factory=dict)
    between: list[dict[str, Any]] = field(default_factory=list)

    def note(self) -> None:
        self.between.append(dict(self.now))


Operation = tuple[Any, ...]


class Disk:
    """A disk that remembers what was synced; operations are applied one by one."""

    def __init__(self) -> None:
        self.root = Folder()
        self.opened: dict[int, File] = {}

    def folder(self, parts: tuple[str, ...]) -> Folder:
        here = self.root
        for part in parts:
            here = here.now[part]
        return here

    def apply(self, operation: Operation) -> None:
        self.change(operation)
        for parts in operation[1:]:
            if operation[0] in ("open", "mkdir", "remove", "rename", "exchange") and isinstance(parts, tuple):
                self.folder(parts[:-1]).note()

    def change(self, operation: Operation) -> None:
        match operation:
            case ("open", number, parts, new):
                folder = self.folder(parts[:-1])
                if parts[-1] not in folder.now:
                    folder.now[parts[-1]] = File()
                found = folder.now[parts[-1]]
                if isinstance(found, File):
                    if new:
                        found.now = b""
                    self.opened[number] = found
            case ("write", number, content):
                self.opened[number].now += content
            case ("sync", number):
                self.opened[number].synced = self.opened[number].now
            case ("sync folder", parts):
                folder = self.folder(parts)
                folder.synced, folder.between = dict(folder.now), []
            case ("mkdir", parts):
                self.folder(parts[:-1]).now[parts[-1]] = Folder()
            case ("remove", parts):
                self.folder(parts[:-1]).now.pop(parts[-1], None)
            case ("rename", old, new):
                self.folder(new[:-1]).now[new[-1]] = self.folder(old[:-1]).now.pop(old[-1])
            case ("exchange", one, other):
                here, there = self.folder(one[:-1]).now, self.folder(other[:-1]).now
                here[one[-1]], there[other[-1]] = there[other[-1]], here[one[-1]]

    def write(self, folder: Folder, place: Path, way: str, draw: random.Random) -> None:
        """What a machine finds after the power is back."""
        place.mkdir(parents=True, exist_ok=True)
        names = {"dropped": folder.synced, "kept": folder.now, "names without content": folder.now}.get(way)
        if names is None:
            names = draw.choice([folder.synced, *folder.between])
        for name, node in names.items():
            if isinstance(node, Folder):
                self.write(node, place / name, way, draw)
            else:
                lost = way in ("dropped", "names without content") or (way == "mixed" and draw.random() < 0.5)
                (place / name).write_bytes((node.synced or b"") if lost else node.now)


@contextmanager
def recorded(root: Path, log: list[Operation]) -> Iterator[None]:
    """Inside, changes below `root` are noted in the order in which they are made."""
    verbs = ("open", "write", "fsync", "close", "replace", "rename", "unlink", "mkdir")
    real = {verb: getattr(os, verb) for verb in verbs}
    opened: dict[int, tuple[int, tuple[str, ...]]] = {}

    def parts(path: Any) -> tuple[str, ...] | None:
        full = Path(path).absolute() if isinstance(path, str | os.PathLike) else None
        return full.relative_to(root).parts if full is not None and full.is_relative_to(root) else None

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        handle: int = real["open"](path, flags, mode, dir_fd=dir_fd)
        where = parts(path) if dir_fd is None else None
        if where is not None:
            opened[handle] = (len(log), where)
            if flags & (os.O_WRONLY | os.O_RDWR):
                log.append(("open", len(log), where, bool(flags & os.O_TRUNC)))
        return handle

    def write(handle: int, content: Any) -> int:
        count: int = real["write"](handle, content)
        if handle in opened:
            log.append(("write", opened[handle][0], bytes(content[:count])))
        return count

    def fsync(handle: int) -> None:
        real["fsync"](handle)
        if handle in opened:
            number, where = opened[handle]
            is_folder = (root.joinpath(*where)).is_dir()
            log.append(("sync folder", where) if is_folder else ("sync", number))

    def close(handle: int) -> None:
        opened.pop(handle, None)
        real["close"](handle)

    def moved(verb: str) -> Callable[..., None]:
        def move(old: Any, new: Any, **more: Any) -> None:
            real[verb](old, new, **more)
            log.append(("rename", parts(old), parts(new)))

        return move

    def gone(path: Any, **more: Any) -> None:
        real["unlink"](path, **more)
        if not more and parts(path) is not None:
            log.append(("remove", parts(path)))

    def mkdir(path: Any, *rest: Any, **more: Any) -> None:
        real["mkdir"](path, *rest, **more)
        if parts(path) is not None:
            log.append(("mkdir", parts(path)))

    rmtree, at_once = shutil.rmtree, exchange.exchange_at_once

    def removed(path: Any, *rest: Any, **more: Any) -> None:
        there = os.path.lexists(path)
        rmtree(path, *rest, **more)
        if there and parts(path) is not None:
            log.append(("remove", parts(path)))

    def exchanged(one: Path, other: Path) -> bool:
        done = at_once(one, other)
        if done:
            log.append(("exchange", parts(one), parts(other)))
        return done

    own = {"open": open_, "write": write, "fsync": fsync, "close": close, "unlink": gone, "mkdir": mkdir}
    with ExitStack() as stack:
        for name, function in {**own, "replace": moved("replace"), "rename": moved("rename")}.items():
            stack.enter_context(patch.object(os, name, function))
        stack.enter_context(patch.object(shutil, "rmtree", removed))
        stack.enter_context(patch.object(exchange, "exchange_at_once", exchanged))
        yield


def power_cuts(limits: Limits) -> Tally:
    """Of a run, and of saving a learner over an older one."""
    tally = Tally()
    _of_a_run(replace(limits, seconds=limits.seconds / 2, most=limits.most // 2), tally)
    for at_once in (True, False):
        part = replace(limits, seconds=limits.seconds / 4, most=limits.most // 4, seed=limits.seed + at_once)
        _of_a_save(part, tally, at_once)
    return tally


def _of_a_run(limits: Limits, tally: Tally) -> None:
    root, log = limits.folder / "recorded", list[Operation]()
    root.mkdir(parents=True)
    write, record = checkpoint.CheckpointFile.write, {}

    def noted(self: checkpoint.CheckpointFile, tensors: Any, plain: Any) -> None:
        write(self, tensors, plain)
        log.append(("promise", "checkpoint", place_of(plain)))

    with small_digits(), recorded(root, log), patch.object(checkpoint.CheckpointFile, "write", noted):
        from classgrow.experiments import run as running

        written = running.write_record

        def told(found: Any, path: Path) -> None:
            written(found, path)
            log.append(("promise", "phases", len(found.phases)))

        with patch.object(running, "write_record", told):
            record = without_times(go("fgp", root).record)
    folder = record["identity"]
    for number, way, place in images(log, replace(limits)):  # its time begins now
        promised = [operation for operation in log[:number] if operation[0] == "promise"]
        with tally.trying(f"power cut in a run, {way}"):
            check_run(place / folder, promised, limits, record)
        shutil.rmtree(place)


def check_run(folder: Path, promised: list[Operation], limits: Limits, whole: dict[str, Any]) -> None:
    """What was promised is there; now and then the run goes on, and ends as it would have without the cut."""
    phases = max((value for _, kind, value in promised if kind == "phases"), default=None)
    latest = max((value for _, kind, value in promised if kind == "checkpoint"), default=None)
    if phases is not None:
        found = len(kept(lambda: read_record(folder / RECORD_FILE)).phases)
        assert found >= phases, f"{found} of {phases} recorded phases are left"
    if latest is not None:
        saved = kept(checkpoint.CheckpointFile(folder / CHECKPOINT_FILE).read)
        assert saved is not None, "no checkpoint is left"
        assert place_of(saved[1]) >= latest, f"the checkpoint is of {place_of(saved[1])}, promised was {latest}"
    if limits.draw.random() < 0.02:
        with small_digits():
            again = kept(lambda: go("fgp", folder.parent).record)
        assert without_times(again) == whole, "another result after the power cut"


def kept(read: Callable[[], Any]) -> Any:
    """Here a refusal is a loss."""
    try:
        return read()
    except ClassgrowError as error:
        raise AssertionError(f"good state is lost: {error}") from error


def place_of(plain: Any) -> tuple[int, int, int]:
    return plain["phase"], plain["step"], (plain["point"] or {}).get("epoch", 0)


def _of_a_save(limits: Limits, tally: Tally, at_once: bool) -> None:
    root, log = limits.folder / f"saved-{at_once}", list[Operation]()
    root.mkdir(parents=True)
    one = learner()
    with recorded(root, log), ExitStack() as stack:
        if not at_once:
            stack.enter_context(patch.object(exchange, "exchange_at_once", lambda one, other: False))
        one.save(root / "model")
        log.append(("promise", "saved", 2))
        one.learn(*more_images())
        one.save(root / "model")
        log.append(("promise", "saved", 3))
    for number, way, place in images(log, replace(limits)):  # its time begins now
        promised = max((operation[2] for operation in log[:number] if operation[0] == "promise"), default=0)
        with tally.trying(f"power cut in a save, {way}"), patch.object(exchange, "is_abandoned", lambda path: True):
            try:
                known = len(Learner.load(place / "model").classes)
            except ClassgrowError as error:
                assert not promised, f"a saved learner is lost: {error}"
            else:
                assert known >= promised, f"{known} of {promised} classes are left"
        shutil.rmtree(place)


def more_images() -> tuple[Any, list[str]]:
    import numpy as np

    return np.random.default_rng(5).integers(0, 255, (12, 8, 8), dtype=np.uint8), ["c"] * 12


def images(log: list[Operation], limits: Limits) -> Iterator[tuple[int, str, Path]]:
    """For every prefix and way, the folder that a machine finds; in an order in which a short time sees something of
    all."""
    tries = [(number, way) for number in range(len(log) + 1) for way in WAYS]
    limits.draw.shuffle(tries)
    for count, (number, way) in enumerate(tries):
        if not limits.more():
            return
        disk = Disk()
        for operation in log[:number]:
            disk.apply(operation)
        place = limits.folder / f"after-{count}"
        disk.write(disk.root, place, way, limits.draw)
        yield number, way, place
