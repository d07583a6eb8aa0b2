"""Stop and go on, to the bit: one file of tensors and plain values, written atomically, checked when read."""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from classgrow import disk
from classgrow.errors import ClassgrowError, one_line
from classgrow.json_values import Json, JsonDict
from classgrow.state import Tensors

FORMAT = 1


def digest(tensors: Tensors, plain: str) -> str:
    """A checksum over names, values and the plain part."""
    total = hashlib.blake2b(plain.encode(), digest_size=16)
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].numpy().tobytes())
    return total.hexdigest()


def layout(tensors: Tensors) -> dict[str, list[Json]]:
    """Type and shape of every tensor: a damaged header can change them without changing a value."""
    return {name: [str(value.dtype), list(value.shape)] for name, value in tensors.items()}


def write_atomically(path: Path, content: bytes) -> None:
    """Either the old file or the new one is there at any moment, also after a power cut."""
    with told_where_not_written(path):
        disk.write_atomically(path, content)


@contextmanager
def told_where_not_written(path: Path) -> Iterator[None]:
    """What the system says against writing, with the way out."""
    try:
        yield
    except OSError as error:
        raise ClassgrowError(
            f"Could not write {path} ({error.strerror}): free some space and go on (`resume`), or choose another "
            "folder."
        ) from error


def packed(tensors: Tensors, plain: Mapping[str, object]) -> bytes:
    """Tensors (contiguous, on the CPU) and JSON values as the content of a file."""
    text = json.dumps({"format": FORMAT, "layout": layout(tensors), **plain})
    return save(tensors, {"plain": text, "digest": digest(tensors, text)})


def write(path: Path, tensors: Tensors, plain: Mapping[str, object]) -> None:
    """Save tensors (contiguous, on the CPU) and JSON values."""
    write_atomically(path, packed(tensors, plain))


LARGEST_FILE, LARGEST_HEADER, MOST_TENSORS = 2**50, 32 * 2**20, 20_000
"""Bytes, bytes and tensors: a network of 18 layers with 1,000 classes has a header of 60,000 bytes for 250 tensors."""


def check_header(path: Path) -> None:
    """Refuses what no memory should be taken for. Raises OSError or ValueError."""
    disk.check_regular(path, LARGEST_FILE)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(LARGEST_HEADER, path.stat().st_size):
            raise ValueError("header")
        header: object = json.loads(file.read(length))
    if not isinstance(header, dict) or len(header) > MOST_TENSORS:
        raise ValueError("header")


class DamagedError(ClassgrowError):
    """A file whose content is not what was written."""


def read(path: Path) -> tuple[Tensors, JsonDict]:
    """What `write` saved. A file that is damaged and one that cannot be read are told apart; both are kept."""
    try:
        check_header(path)
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if metadata["digest"] != digest(tensors, metadata["plain"]):
            raise ValueError("checksum")
        plain: JsonDict = json.loads(metadata["plain"])
        if plain.pop("layout", layout(tensors)) != layout(tensors):
            raise ValueError("layout")
        written_as = plain.pop("format")
    except OSError as error:
        raise ClassgrowError(
            f"The checkpoint {path} cannot be read ({error.strerror or one_line(error)}); it is kept as it is: make it "
            "readable and go on (`resume`)."
        ) from error
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(
            f"The checkpoint {path} is damaged: put back a good copy, or start afresh with `again`."
        ) from error
    if written_as != FORMAT:
        raise ClassgrowError(f"The checkpoint {path} was written by another version of classgrow: use that version.")
    return tensors, plain


class Checkpoint(Protocol):
    """Where a phase saves its state while it goes on."""

    def due(self, epoch: int | None) -> bool: ...

    def write(self, tensors: Tensors, plain: Mapping[str, object]) -> None: ...


def say_nothing(text: str) -> None:
    """For those whom nobody hears."""


@dataclass
class CheckpointFile:
    """A run's checkpoint: `due` every few epochs or seconds, so that little is lost and little time spent.

    Two generations are kept: the earlier one goes when the next has been read back from its file. Where the newest
    is missing or damaged, the earlier one is read, and `say` hears of it. `run` says which run it is of: another
    run's checkpoint is refused.
    """

    path: Path
    every_epochs: int = 5
    every_seconds: float = 20.0
    run: JsonDict | None = None
    say: Callable[[str], None] = say_nothing
    _last: float = field(default_factory=time.monotonic)
    _is_good: bool = True

    @property
    def earlier(self) -> Path:
        """Where the generation before lies."""
        return earlier_than(self.path)

    def due(self, epoch: int | None) -> bool:
        """Whether to save now; a step that counts no epochs is saved by time alone."""
        by_count = epoch is not None and epoch % self.every_epochs == 0
        return by_count or time.monotonic() - self._last > self.every_seconds

    def write(self, tensors: Tensors, plain: Mapping[str, object]) -> None:
        marked = plain if self.run is None else {**plain, "run": self.run}
        content = packed(tensors, marked)
        unfinished = disk.unfinished_name(self.path)
        with told_where_not_written(self.path):
            disk.make_folder(self.path.parent)
            try:
                disk.write_synced(unfinished, content)
                if unfinished.read_bytes() != content:
                    raise OSError(errno.EIO, "what was written reads differently")
                if self._is_good and self.path.exists():
                    self.path.replace(self.earlier)
                unfinished.replace(self.path)
                disk.sync_folder(self.path.parent)
            finally:
                unfinished.unlink(missing_ok=True)
        self._is_good, self._last = True, time.monotonic()

    def read(self) -> tuple[Tensors, JsonDict] | None:
        """The saved values; None where nothing was saved yet."""
        there = [path for path in (self.path, self.earlier) if path.exists()]
        if not there:
            return None
        try:
            self._is_good = there[0] == self.path
            found = self._checked(there[0])
        except DamagedError:
            if len(there) < 2:
                raise
            self._is_good = False  # it must not take the good one's place
            found = self._checked(self.earlier)
        if not self._is_good:
            self.say("The newest checkpoint is missing or damaged: the run goes on from the one before.")
        return found

    def _checked(self, path: Path) -> tuple[Tensors, JsonDict]:
        tensors, plain = read(path)
        owner = plain.pop("run", None)
        if self.run is not None and owner is not None and owner != self.run:
            raise ClassgrowError(
                f"The checkpoint {path} belongs to another run: put back this run's own, or start afresh with `again`."
            )
        return tensors, plain


def earlier_than(path: Path) -> Path:
    """Where the generation before the checkpoint at `path` lies."""
    return path.with_name(f"{path.stem}.earlier{path.suffix}")
