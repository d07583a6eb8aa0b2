"""Kept photos as files: each is called by a digest of its pixels, so it vouches for itself and is written once."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from classgrow.checkpoint import write_atomically
from classgrow.data.opening import open_image
from classgrow.data.threads import ahead, shared_pool, thread_count
from classgrow.errors import ClassgrowError
from classgrow.memory import HELD_OUT, Memory
from classgrow.photos.folder import EXEMPLARS, INDEX, link


@dataclass(frozen=True)
class Exemplar:
    """A kept photo, in the order of the memory: its file in `exemplars/`, its class, what it was called when it was
    learned, and whether it was kept out of training."""

    file: str
    label: str
    source: str
    held_out: bool


def photo_digest(pixels: Tensor) -> str:
    """A name for the pixels (H, W, C) of one photo."""
    total = hashlib.sha256(repr(tuple(pixels.shape)).encode())
    total.update(pixels.contiguous().numpy().tobytes())
    return total.hexdigest()[:40]


def exemplars_of(memory: Memory, classes: Sequence[str], sources: Mapping[str, str]) -> list[Exemplar]:
    """What is to be written; `sources` names photos by their digest. Nothing without photos."""
    if memory.images is None:
        return []
    found = []
    for image, label, role in zip(memory.images, memory.labels.tolist(), memory.roles.tolist(), strict=True):
        name = photo_digest(image)
        found.append(Exemplar(f"{name}.png", classes[label], sources.get(name, ""), role == HELD_OUT))
    return found


def write_exemplars(new: Path, old: Path | None, memory: Memory, exemplars: Sequence[Exemplar]) -> None:
    """The photos as files; those that the version before has are linked."""
    if memory.images is None:
        return
    place = new / EXEMPLARS
    place.mkdir(parents=True, exist_ok=True)

    def write(one: tuple[Exemplar, Tensor]) -> None:
        exemplar, pixels = one
        target = place / exemplar.file
        if old is not None and (old / EXEMPLARS / exemplar.file).is_file():
            link(old / EXEMPLARS / exemplar.file, target)
        else:
            target.write_bytes(as_png(pixels))

    once = {exemplar.file: (exemplar, image) for exemplar, image in zip(exemplars, memory.images, strict=True)}
    for _ in ahead(shared_pool(), write, once.values(), 4 * thread_count()):
        pass
    write_atomically(new / INDEX, json.dumps([asdict(one) for one in exemplars], indent=0).encode())


def as_png(pixels: Tensor) -> bytes:
    values = pixels.numpy()
    content = io.BytesIO()
    image = Image.fromarray(values[:, :, 0] if values.shape[2] == 1 else values)
    image.save(content, "PNG", compress_level=1)
    return content.getvalue()


def read_index(content: bytes) -> list[Exemplar]:
    """What `write_exemplars` wrote of them; KeyError, TypeError or ValueError where it did not."""
    found = []
    for one in json.loads(content):
        exemplar = Exemplar(str(one["file"]), str(one["label"]), str(one["source"]), bool(one["held_out"]))
        stem, dot, ending = exemplar.file.partition(".")
        if not (stem.isalnum() and stem.isascii()) or (dot, ending) != (".", "png"):
            raise ValueError(f"{exemplar.file} is not the name of a kept photo")
        found.append(exemplar)
    return found


def read_exemplars(folder: Path, exemplars: Sequence[Exemplar], shape: tuple[int, int, int]) -> Tensor:
    """The pixels (K, H, W, C) of all of them, each checked by its name."""
    side, _, channels = shape

    def read(one: Exemplar) -> np.ndarray:
        path = folder / EXEMPLARS / one.file
        try:
            with open_image(path) as image:
                pixels = np.asarray(image.convert("L" if channels == 1 else "RGB")).reshape(side, side, channels)
        except Exception as error:  # decoders fail in many ways on broken bytes
            raise _damaged(path) from error
        if photo_digest(torch.from_numpy(pixels.copy())) != path.stem:
            raise _damaged(path)
        return pixels

    out = np.empty((len(exemplars), *shape), np.uint8)
    for place, pixels in enumerate(ahead(shared_pool(), read, exemplars, 4 * thread_count())):
        out[place] = pixels
    return torch.from_numpy(out)


def _damaged(path: Path) -> ClassgrowError:
    return ClassgrowError(f"The kept photo {path} is missing or damaged: put back a good copy of the model.")
