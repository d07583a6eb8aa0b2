"""Small generated JPEGs, and a cache of the test's own."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from classgrow.data.cache import Source


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test fills a cache of its own."""
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "images"


def _picture(seed: int, width: int = 40, height: int = 30, mode: str = "RGB") -> Image.Image:
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).convert(mode)


def _jpeg(image: Image.Image, **options: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, "JPEG", quality=95, **options)
    return content.getvalue()


@pytest.fixture
def picture() -> Callable[..., Image.Image]:
    """picture(seed, width, height, mode): smooth and random, so that JPEG keeps it well."""
    return _picture


@pytest.fixture
def jpeg() -> Callable[..., bytes]:
    """jpeg(image): its bytes as a JPEG file."""
    return _jpeg


@pytest.fixture
def oddities() -> dict[str, bytes]:
    """One file of every kind that is not a plain RGB JPEG; the turned one lies on its side (EXIF orientation 6)."""
    exif = Image.Exif()
    exif[274] = 6
    png = io.BytesIO()
    _picture(5).save(png, "PNG")
    return {
        "truncated.jpg": _jpeg(_picture(1, 200, 150))[:-900],
        "cmyk.jpg": _jpeg(_picture(2, mode="CMYK")),
        "grey.jpg": _jpeg(_picture(3, mode="L")),
        "turned.jpg": _jpeg(_picture(4).transpose(Image.Transpose.ROTATE_90), exif=exif),
        "really_png.jpg": png.getvalue(),
        "text.jpg": b"no image at all",
        "empty.jpg": b"",
    }


@pytest.fixture
def write_sources(tmp_path: Path) -> Callable[[list[bytes]], list[Source]]:
    """Files with these contents, as sources."""

    def write(contents: list[bytes]) -> list[Source]:
        sources = []
        for number, content in enumerate(contents):
            path = tmp_path / "files" / f"{number:04}.jpg"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            facts = path.stat()
            sources.append(Source(path, path.name, facts.st_size, facts.st_mtime_ns))
        return sources

    return write


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """A folder with one train and one val image per class; the same file everywhere, to be quick."""
    content = _jpeg(_picture(1))

    def make(classes: tuple[str, ...], name: str = "data", flat: bool = False) -> Path:
        for split in ("train", "val"):
            for number, wnid in enumerate(classes):
                folder = tmp_path / name / split
                folder = folder if flat and split == "val" else folder / wnid
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"ILSVRC2012_{split}_{number:08}.JPEG").write_bytes(content)
        return tmp_path / name

    return make


class Heard:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun: list[tuple[str, int, int]] = []
        self.advanced = 0

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.begun.append((text, total, done))

    def advance(self, images: int) -> None:
        self.advanced += images

    def end(self) -> None:
        pass

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def heard() -> Heard:
    return Heard()
