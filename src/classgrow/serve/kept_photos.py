"""Photos in a folder, each a PNG written from its pixels and called by a digest of them."""

from __future__ import annotations

import re
from pathlib import Path

from torch import Tensor

from classgrow.checkpoint import write_atomically
from classgrow.photos.exemplars import as_png, photo_digest

DIGEST = re.compile(r"[0-9a-f]{40}")


def is_digest(text: str) -> bool:
    """Whether this can be the name of a photo: 40 hexadecimal digits and nothing else."""
    return DIGEST.fullmatch(text) is not None


def put_photo(folder: Path, pixels: Tensor) -> str:
    """Write a photo, once; returns its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = photo_digest(pixels)
    path = folder / f"{digest}.png"
    if not path.exists():
        write_atomically(path, as_png(pixels))
    return digest


def photo_in(folder: Path, digest: str) -> Path | None:
    """The file of a photo, if it is here."""
    path = folder / f"{digest}.png"
    return path if is_digest(digest) and path.is_file() else None
