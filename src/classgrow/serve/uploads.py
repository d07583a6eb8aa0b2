"""Photos as they come from clients: checked, decoded, cut to the model's square, and nothing else of them is kept.

What is kept on disk is written anew from pixels, under a digest of them: no name, no metadata, no byte as sent.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from PIL import UnidentifiedImageError
from torch import Tensor

from classgrow.data.decode import BrokenImageError, square_pixels
from classgrow.data.intake import with_channels
from classgrow.data.opening import open_image
from classgrow.data.threads import thread_count
from classgrow.errors import one_line
from classgrow.serve.refusals import RefusedError

LONGEST_NAME = 120


@dataclass(frozen=True)
class Upload:
    """A file that was sent: what it is called there (data, never a path), and its bytes."""

    name: str
    content: bytes


class UnusableError(Exception):
    """This cannot be used as a photo; the text says why, in a few words."""


@dataclass(frozen=True)
class Form:
    """How photos must be for the model: squares of `side` pixels with so many channels; `most` pixels before that."""

    side: int
    channels: int
    most: int


class Decoder:
    """Turns files into pixels, in threads of its own."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(thread_count(), thread_name_prefix="classgrow-decoder")

    async def decode(self, uploads: Sequence[Upload], form: Form) -> list[Tensor]:
        """The pixels (side, side, channels) of each; RefusedError 400 that names the first that cannot be used."""
        loop = asyncio.get_running_loop()
        found = [loop.run_in_executor(self.pool, decoded, one.content, form) for one in uploads]
        results = await asyncio.gather(*found, return_exceptions=True)
        pixels = []
        for upload, result in zip(uploads, results, strict=True):
            if isinstance(result, UnusableError):
                raise RefusedError(400, f"{upload.name!r} cannot be used: {result}.")
            if isinstance(result, BaseException):
                raise result
            pixels.append(result)
        return pixels

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


def decoded(content: bytes, form: Form) -> Tensor:
    """The square in the middle of a picture; its size is looked at before any pixel is decoded."""
    try:
        with open_image(io.BytesIO(content)) as image:
            pixels = image.width * image.height
    except UnidentifiedImageError:
        raise UnusableError("it is not an image of a kind that is taken (JPEG, PNG, WebP, BMP, GIF, TIFF)") from None
    except Exception as problem:  # decoders fail in many ways on broken bytes
        raise UnusableError(one_line(problem)) from problem
    if pixels > form.most:
        raise UnusableError(
            f"{pixels / 1e6:.0f} million pixels are too many, {form.most / 1e6:.0f} million is the most"
        )
    try:
        square = square_pixels(content, form.side)
    except BrokenImageError as problem:
        raise UnusableError(str(problem)) from problem
    return with_channels(torch.from_numpy(square)[None], form.channels)[0]


def plain_name(given: str | None) -> str:
    """The last part of a file's name as text that can be shown anywhere; it is never used to open one."""
    last = (given or "").replace("\\", "/").rpartition("/")[2]
    shown = "".join(letter for letter in last if letter.isprintable())
    return shown[:LONGEST_NAME] or "photo"
