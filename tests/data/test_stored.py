"""The image cache: reading equals decoding, whatever happened on the way."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from classgrow.data import cache, cache_build
from classgrow.data.cache import MANIFEST, PIXELS, Source, _mapped, cache_entries, clear_cache, key_of, only_builder
from classgrow.data.cache_build import JOURNAL, cached, estimated_bytes
from classgrow.data.crops import NUMBERS, central_square
from classgrow.data.decode import decode
from classgrow.data.labelled import ArrayStore, JoinedStore
from classgrow.data.stored import StoredImages
from classgrow.errors import ClassgrowError
from classgrow.progress import Silent

Write = Callable[[list[bytes]], list[Source]]
TEN = list(range(10))


@pytest.fixture
def sources(write_sources: Write, picture: Callable[..., Image.Image], jpeg: Callable[..., bytes]) -> list[Source]:
    """Ten JPEGs of ten sizes, none of them larger than 256 pixels but the last: 400 x 300."""
    small = [jpeg(picture(seed, 40 + seed, 60 - 3 * seed)) for seed in range(9)]
    return write_sources([*small, jpeg(picture(9, 400, 300))])


def decoded(sources: list[Source]) -> list[np.ndarray]:
    return [decode(source.path.read_bytes(), 256).pixels for source in sources]


def test_reading_equals_decoding(sources: list[Source], heard: Any, own_cache: Path) -> None:
    cache = cached(sources, "ten pictures", heard)
    store = StoredImages(cache, 32)
    assert (len(store), store.shape) == (10, (32, 32, 3))
    for number, pixels in enumerate(decoded(sources)):
        assert np.array_equal(store.image(number), pixels)
    assert store.image(9).shape == (256, 341, 3)
    order = torch.tensor([3, 9, 3, 0])
    expected = torch.stack([central_square(decoded(sources)[number], 32) for number in order.tolist()])
    assert torch.equal(store.read(order), expected)
    assert heard.begun == [("reading ten pictures", 10, 0)] and heard.advanced == 10
    assert cache.folder.parent == own_cache and str(cache.folder) in heard.said[0]
    with pytest.raises(IndexError):
        store.read(torch.tensor([10]))


def test_the_size_is_known_beforehand(sources: list[Source]) -> None:
    needed = estimated_bytes(sources)
    cached(sources, "ten pictures", Silent())
    assert needed == sum(pixels.size for pixels in decoded(sources)) == cache_entries()[0].bytes - small_files()


def small_files() -> int:
    """Bytes of index and manifest."""
    folder = cache_entries()[0].folder
    return sum(path.stat().st_size for path in folder.iterdir() if path.name != PIXELS)


def test_random_crops_follow_their_numbers_alone(sources: list[Source]) -> None:
    store = StoredImages(cached(sources, "ten pictures", Silent()), 32)
    numbers = torch.rand(10, NUMBERS, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    views = store.read_random(torch.tensor(TEN), numbers, 24)
    assert views.shape == (10, 24, 24, 3)
    assert torch.equal(views, store.read_random(torch.tensor(TEN), numbers, 24))
    back = store.read_random(torch.tensor(TEN[::-1]), numbers.flip(0), 24)
    assert torch.equal(views, back.flip(0))
    assert not torch.equal(views, store.read_random(torch.tensor(TEN), numbers.flip(1), 24))


def test_kept_images_crop_like_stored_ones(sources: list[Source]) -> None:
    """A store joined with exemplars: each image is cropped by its own row of numbers, wherever it lies."""
    store = StoredImages(cached(sources, "ten pictures", Silent()), 32)
    kept = ArrayStore(store.read(torch.tensor(TEN)))
    numbers = torch.rand(4, NUMBERS, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    views = JoinedStore((store, kept)).read_random(torch.tensor([12, 2, 19, 9]), numbers, 16)
    assert torch.equal(views[[0, 2]], kept.read_random(torch.tensor([2, 9]), numbers[[0, 2]], 16))
    assert torch.equal(views[[1, 3]], store.read_random(torch.tensor([2, 9]), numbers[[1, 3]], 16))


def test_a_second_run_decodes_nothing(sources: list[Source], heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cached(sources, "ten pictures", Silent())
    monkeypatch.setattr(cache_build, "decode", lambda *arguments: pytest.fail("decoded again"))
    assert np.array_equal(cached(sources, "ten pictures", heard).pixels, first.pixels)
    assert heard.said == [] and heard.begun == []


def test_a_changed_file_gets_another_cache(sources: list[Source]) -> None:
    os.utime(sources[0].path, ns=(1, 1))
    touched = [Source(sources[0].path, sources[0].name, sources[0].bytes, 1), *sources[1:]]
    assert key_of(touched) != key_of(sources) == key_of(list(sources))


def test_broken_files_are_named_and_left_out(write_sources: Write, oddities: dict[str, bytes]) -> None:
    sources = write_sources(list(oddities.values()))
    cache = cached(sources, "oddities", Silent())
    names = list(oddities)
    assert [names[number] for number in cache.index["source"]] == [
        "cmyk.jpg",
        "grey.jpg",
        "turned.jpg",
        "really_png.jpg",
    ]
    assert [name for name, _ in cache.skipped] == ["0000.jpg", "0005.jpg", "0006.jpg"]
    assert dict(cache.notes)["0001.jpg"] == "CMYK" and dict(cache.notes)["0003.jpg"] == "turned upright (EXIF)"


def test_nothing_but_broken_files(write_sources: Write) -> None:
    with pytest.raises(ClassgrowError, match=r"None of the 2 files of junk is an image \(0000.jpg: not an image\)"):
        cached(write_sources([b"junk", b"more junk"]), "junk", Silent())


# --- interruptions ---------------------------------------------------------------------------------------------------


def interrupted(sources: list[Source], after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build with chunks of two images, and stop by Ctrl-C when image number `after` is decoded."""
    monkeypatch.setattr(cache_build, "CHUNK", 2)
    wanted = sources[after].path.read_bytes()

    def stop(content: bytes, short_side: int) -> Any:
        if content == wanted:
            raise KeyboardInterrupt
        return decode(content, short_side)

    with monkeypatch.context() as patch:
        patch.setattr(cache_build, "decode", stop)
        with pytest.raises(KeyboardInterrupt):
            cached(sources, "ten pictures", Silent())


def test_an_interrupted_build_goes_on(sources: list[Source], heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two, stopped at image 7: six are done, and only the last four are decoded in the second build."""
    interrupted(sources, 7, monkeypatch)
    assert [entry.complete for entry in cache_entries()] == [False]
    again: list[int] = []
    monkeypatch.setattr(cache_build, "decode", lambda *given: again.append(1) or decode(*given))  # type: ignore[func-returns-value]
    store = StoredImages(cached(sources, "ten pictures", heard), 32)
    assert (
        len(again) == 4 and heard.begun == [("reading ten pictures", 10, 6)] and "6 are there already" in heard.said[0]
    )
    assert all(np.array_equal(store.image(k), pixels) for k, pixels in enumerate(decoded(sources)))
    assert [entry.complete for entry in cache_entries()] == [True]


@pytest.mark.parametrize("harm", ["pixel", "torn line", "short pixels"])
def test_what_was_damaged_meanwhile_is_decoded_again(
    harm: str, sources: list[Source], heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(sources, 7, monkeypatch)
    folder = cache_entries()[0].folder
    part, journal = folder / f"{PIXELS}.part", folder / JOURNAL
    if harm == "pixel":
        content = bytearray(part.read_bytes())
        content[decoded(sources)[0].size + decoded(sources)[1].size + 5] ^= 1  # in image 2, the second chunk
        part.write_bytes(content)
    elif harm == "torn line":
        journal.write_bytes(journal.read_bytes()[:-9])
    else:
        part.write_bytes(part.read_bytes()[:-9])
    store = StoredImages(cached(sources, "ten pictures", heard), 32)
    assert heard.begun[0][2] == (2 if harm == "pixel" else 4)
    assert all(np.array_equal(store.image(k), pixels) for k, pixels in enumerate(decoded(sources)))


def test_stopped_just_before_the_end(sources: list[Source], heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pixels were written, the manifest was not: nothing is decoded a second time."""

    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cache_build, "write_manifest", stop)
        with pytest.raises(KeyboardInterrupt):
            cached(sources, "ten pictures", Silent())
    monkeypatch.setattr(cache_build, "decode", lambda *arguments: pytest.fail("decoded again"))
    assert len(cached(sources, "ten pictures", heard).index) == 10


def test_a_full_disk_is_told_and_the_build_goes_on_later(
    sources: list[Source], heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any, **options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(cache_build.os, "fsync", full)
        with pytest.raises(ClassgrowError, match=r"there is no space left.*CLASSGROW_CACHE; what is done is kept"):
            cached(sources, "ten pictures", Silent())
    cached(sources, "ten pictures", heard)
    assert heard.begun[0][2] == 10


def test_a_disk_too_small_is_refused_before_anything_is_written(
    sources: list[Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_build.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(ClassgrowError, match=r"need about 0.3 MB .* and 0.0 MB are free.*CLASSGROW_CACHE"):
        cached(sources, "ten pictures", Silent())


def test_an_unwritable_cache_folder(sources: list[Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "file"))
    with pytest.raises(ClassgrowError, match="cannot be written"):
        cached(sources, "ten pictures", Silent())


# --- damage ----------------------------------------------------------------------------------------------------------


def test_a_changed_pixel_is_found_when_it_is_read_and_the_next_start_fixes_it(
    sources: list[Source], heard: Any
) -> None:
    folder = cached(sources, "ten pictures", Silent()).folder
    content = bytearray((folder / PIXELS).read_bytes())
    content[decoded(sources)[0].size + 5] ^= 1  # in image 1
    (folder / PIXELS).write_bytes(content)
    store = StoredImages(cached(sources, "ten pictures", Silent()), 32)
    store.read(torch.tensor([0, 2, 3]))
    with pytest.raises(ClassgrowError, match=r"damaged \(a checksum differs\): start again"):
        store.read_random(torch.tensor([0, 1]), torch.zeros(2, NUMBERS, dtype=torch.float64), 8)
    fixed = StoredImages(cached(sources, "ten pictures", heard), 32)
    assert heard.begun[0][2] == 0
    assert np.array_equal(fixed.image(1), decoded(sources)[1])


@pytest.mark.parametrize("harm", ["index", "manifest", "pixels cut", "pixels gone"])
def test_a_damaged_cache_is_built_anew(harm: str, sources: list[Source], heard: Any) -> None:
    folder = cached(sources, "ten pictures", Silent()).folder
    if harm == "index":
        content = bytearray((folder / "index.npy").read_bytes())
        content[-1] ^= 1
        (folder / "index.npy").write_bytes(content)
    elif harm == "manifest":
        (folder / MANIFEST).write_text("{")
    elif harm == "pixels cut":
        os.truncate(folder / PIXELS, 100)
    else:
        (folder / PIXELS).unlink()
    store = StoredImages(cached(sources, "ten pictures", heard), 32)
    assert "is damaged" in heard.said[0] and "is rebuilt" in heard.said[0]
    assert all(np.array_equal(store.image(k), pixels) for k, pixels in enumerate(decoded(sources)))


@pytest.mark.skipif(sys.platform != "linux", reason="how memory is set aside differs")
def test_a_cache_may_be_larger_than_memory(tmp_path: Path) -> None:
    """A file with a hole, twice as large as all memory: it opens, reads, and may be written to in private."""
    size = 2 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with (tmp_path / "large").open("wb") as file:
        file.write(b"\x07")
        try:
            file.truncate(size)
        except OSError:
            pytest.skip("this disk has no room for a file with so large a hole")
    pixels = _mapped(tmp_path / "large")
    assert len(pixels) == size and (int(pixels[0]), int(pixels[-1])) == (7, 0)
    pixels[0] = 9
    with (tmp_path / "large").open("rb") as file:
        assert file.read(1) == b"\x07"


def test_a_cache_that_cannot_be_opened_is_kept(
    sources: list[Source], monkeypatch: pytest.MonkeyPatch, heard: Any
) -> None:
    folder = cached(sources, "ten pictures", Silent()).folder

    def refuse(path: Path) -> np.ndarray:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(cache, "_mapped", refuse)
    with pytest.raises(ClassgrowError, match=r"cannot be opened \(Cannot allocate memory\)"):
        cached(sources, "ten pictures", heard)
    assert (folder / MANIFEST).is_file() and (folder / PIXELS).is_file()


# --- several processes, and clearing away ----------------------------------------------------------------------------


def build_elsewhere(sources: list[Source], start: Any, results: Any) -> None:
    start.wait()
    begun: list[str] = []

    class Watching(Silent):
        def begin(self, text: str, total: int, done: int = 0) -> None:
            begun.append(text)

    cache = cached(sources, "ten pictures", Watching())
    results.put((len(begun), int(cache.pixels.astype(np.int64).sum())))


def test_two_processes_build_once(sources: list[Source]) -> None:
    context = multiprocessing.get_context("fork")
    start, results = context.Event(), context.Queue()
    workers = [context.Process(target=build_elsewhere, args=(sources, start, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    start.set()
    found = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert sorted(count for count, _ in found) == [0, 1]
    assert {total for _, total in found} == {sum(int(pixels.sum(dtype=np.int64)) for pixels in decoded(sources))}


def test_clearing_frees_the_disk(sources: list[Source]) -> None:
    assert clear_cache() == 0
    folder = cached(sources, "ten pictures", Silent()).folder
    (entry,) = cache_entries()
    assert (entry.title, entry.images, entry.complete) == ("ten pictures", 10, True)
    assert json.loads((folder / MANIFEST).read_text())["short_side"] == 256
    assert clear_cache() == entry.bytes > 300_000
    assert not folder.exists() and cache_entries() == []


def test_a_cache_being_built_is_not_cleared(sources: list[Source]) -> None:
    folder = cached(sources, "ten pictures", Silent()).folder
    with only_builder(folder, Silent()), pytest.raises(ClassgrowError, match="Another process is filling"):
        clear_cache()
    assert folder.exists()


def test_a_cache_that_cannot_be_removed_is_told(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_cache / "one").mkdir(parents=True)
    (own_cache / "one" / PIXELS).write_bytes(b"123")

    def refuse(folder: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(ClassgrowError, match=r"cannot be removed \(Read-only file system\)"):
        clear_cache()
    monkeypatch.undo()
    monkeypatch.setenv("CLASSGROW_CACHE", str(own_cache.parent))
    assert clear_cache() == 3
    assert not (own_cache / "one").exists()
