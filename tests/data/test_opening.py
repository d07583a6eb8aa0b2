"""Only formats that people keep photos in are read, whatever a file is called."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, UnidentifiedImageError

import classgrow
from classgrow.data import opening
from classgrow.data.decode import BrokenImageError, decode
from classgrow.data.images import as_images
from classgrow.data.opening import FORMATS, open_image
from classgrow.errors import ClassgrowError

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"


@pytest.fixture
def no_program(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Programs that somebody tried to start."""
    started: list[object] = []
    monkeypatch.setattr("subprocess.Popen", lambda *words, **_: started.append(words))
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", "gs")
    return started


def test_an_eps_file_starts_no_program(tmp_path: Path, no_program: list[object]) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(EPS)
    with pytest.raises(ClassgrowError, match=r"photo.jpg cannot be read .*replace it or leave it out"):
        as_images([path])
    with pytest.raises(BrokenImageError, match="not an image"):
        decode(EPS, 8)
    with pytest.raises(UnidentifiedImageError):
        open_image(path)
    assert no_program == []


@pytest.mark.parametrize("name", FORMATS)
def test_the_formats_of_photos_are_read(name: str, tmp_path: Path) -> None:
    picture = Image.fromarray(np.full((6, 5, 3), 90, np.uint8))
    path = tmp_path / "photo"
    picture.save(path, format=name)
    with open_image(path) as image:
        assert (image.format, image.size) == (name, (5, 6))
    assert tuple(as_images([path]).shape) == (1, 6, 5, 3)


def test_a_picture_that_would_fill_the_memory_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.png"
    Image.new("RGB", (50, 30)).save(path)
    monkeypatch.setattr(opening, "MOST_PIXELS", 1499)
    with pytest.raises(ClassgrowError, match="50 x 30 pixels are too many"):
        as_images([path])


def header_of_png(side: int) -> bytes:
    """A PNG file of side x side pixels that ends where the pixels would begin."""
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return content + struct.pack(">I", 9) + b"IDAT"


def test_a_large_photo_is_opened_without_a_warning(tmp_path: Path) -> None:
    """Pillow warns from 89 million pixels on; in a process of its own, as pytest has filters of its own."""
    (tmp_path / "large.png").write_bytes(header_of_png(10_000))
    program = "import sys; from classgrow.data.opening import open_image; print(open_image(sys.argv[1]).size)"
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "large.png"], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("(10000, 10000)", "")


def test_a_picture_beyond_pillows_own_bound_is_refused_in_plain_words(tmp_path: Path) -> None:
    content = header_of_png(20_000)
    (tmp_path / "large.png").write_bytes(content)
    with pytest.raises(BrokenImageError, match=r"^more than 178,956,970 pixels are too many$"):
        decode(content, 8)
    with pytest.raises(ClassgrowError, match="more than 178,956,970 pixels are too many"):
        as_images([tmp_path / "large.png"])


def test_nobody_opens_an_image_by_another_door() -> None:
    source = Path(classgrow.__file__).parent
    doors = [path.name for path in source.rglob("*.py") if re.search(r"\bImage\.open\(", path.read_text())]
    assert doors == ["opening.py"]
