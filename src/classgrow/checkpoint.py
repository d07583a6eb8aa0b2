"""Stop and go on, to the bit: one file of tensors and plain values, written atomically, checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from classgrow.errors import ClassgrowError
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
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ClassgrowError(
            f"Could not write {path} ({error.strerror}): free some space and go on (`resume`), or choose another "
            "folder."
        ) from error


def write(path: Path, tensors: Tensors, plain: Mapping[str, object]) -> None:
    """Save tensors (contiguous, on the CPU) and JSON values."""
    text = json.dumps({"format": FORMAT, "layout": layout(tensors), **plain})
    write_atomically(path, save(tensors, {"plain": text, "digest": digest(tensors, text)}))


def read(path: Path) -> tuple[Tensors, JsonDict]:
    """What `write` saved, or a clear error where the file is damaged."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if metadata["digest"] != digest(tensors, metadata["plain"]):
            raise ValueError("checksum")
        plain: JsonDict = json.loads(metadata["plain"])
        if plain.pop("layout", layout(tensors)) != layout(tensors):
            raise ValueError("layout")
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise ClassgrowError(
            f"The checkpoint {path} is damaged: put back a good copy, or start afresh with `again`."
        ) from error
    if plain.pop("format") != FORMAT:
        raise ClassgrowError(f"The checkpoint {path} was written by another version of classgrow: use that version.")
    return tensors, plain


class Checkpoint(Protocol):
    """Where a phase saves its state while it goes on."""

    def due(self, epoch: int | None) -> bool: ...

    def write(self, tensors: Tensors, plain: Mapping[str, object]) -> None: ...


@dataclass
class CheckpointFile:
    """A run's checkpoint: `due` every few epochs or seconds, so that little is lost and little time spent."""

    path: Path
    every_epochs: int = 5
    every_seconds: float = 20.0
    _last: float = field(default_factory=time.monotonic)

    def due(self, epoch: int | None) -> bool:
        """Whether to save now; a step that counts no epochs is saved by time alone."""
        by_count = epoch is not None and epoch % self.every_epochs == 0
        return by_count or time.monotonic() - self._last > self.every_seconds

    def write(self, tensors: Tensors, plain: Mapping[str, object]) -> None:
        write(self.path, tensors, plain)
        self._last = time.monotonic()

    def read(self) -> tuple[Tensors, JsonDict] | None:
        """The saved values; None where nothing was saved yet."""
        return read(self.path) if self.path.exists() else None
