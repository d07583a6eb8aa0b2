"""Files that would take all memory or wait for ever are refused before they are read."""

from __future__ import annotations

import errno
import gzip
import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from classgrow.cli import sentence_of
from classgrow.data import decode as decoding
from classgrow.data.cifar100 import load_cifar100
from classgrow.data.decode import decode
from classgrow.data.folder import list_splits, load_folder
from classgrow.data.mnist import FILES, LARGEST_FILE, load_mnist
from classgrow.errors import ClassgrowError
from classgrow.experiments.lock import LOCK_FILE, is_locked, only_one
from classgrow.learner import Learner
from classgrow.records.folder import FAILURE_FILE, find_failures
from classgrow.specs.options import read_toml
from classgrow.specs.orders import resolve_order


def test_a_gzip_bomb_in_place_of_a_file_of_mnist(tmp_path: Path) -> None:
    for pair in FILES.values():
        for name in pair:
            (tmp_path / name).write_bytes(gzip.compress(bytes(LARGEST_FILE + 1), 1))
    with pytest.raises(ClassgrowError, match="unpacks to more than 64 MB"):
        load_mnist(tmp_path)


def test_other_files_than_those_of_mnist_are_refused_where_a_run_asks_for_them(tmp_path: Path) -> None:
    for images, labels in FILES.values():
        (tmp_path / images).write_bytes(
            gzip.compress(b"\0\0\x08\x03" + np.array([1, 28, 28], ">u4").tobytes() + bytes(784))
        )
        (tmp_path / labels).write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\x01\x03"))
    assert len(load_mnist(tmp_path).train) == 1
    with pytest.raises(ClassgrowError, match=r"not the published MNIST file \(its SHA-256 differs"):
        load_mnist(tmp_path, published=True)


@pytest.mark.parametrize("load", [load_cifar100, load_mnist])
def test_an_unreadable_file_is_not_called_broken(tmp_path: Path, load, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    for name in ("train", "test", "meta", *(name for pair in FILES.values() for name in pair)):
        (tmp_path / name).touch()

    def denied(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(ClassgrowError, match=r"cannot be read \(Permission denied\)") as caught:
        load(tmp_path)
    assert "broken" not in str(caught.value) and "delete" not in str(caught.value)


def picture(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 8, 3), 90, np.uint8)).save(folder / name)


def test_pipes_devices_and_links_to_themselves_in_a_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "photos"
    for part in ("train", "val"):
        for name in ("a", "b"):
            picture(root / part / name, "good.png")
    os.mkfifo(root / "train" / "a" / "pipe.png")
    (root / "train" / "a" / "zero.png").symlink_to("/dev/zero")
    (root / "train" / "a" / "loop.png").symlink_to("loop.png")
    assert len(list_splits(root).train.sources) == 5
    assert len(load_folder(root).train) == 2


def test_class_folders_whose_names_are_no_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "cache"))
    for part in ("train", "val"):
        for name in (b"gr\xfcn", b"rot"):
            picture(tmp_path / "photos" / part / os.fsdecode(name), "good.png")
    names = [label.name for label in load_folder(tmp_path / "photos").classes]
    assert names == ["gr\\udcfcn", "rot"] and "".join(names).encode()


def test_huge_pictures_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "LARGE", 50)
    inside, most, real = 0, 0, Image.Image.convert

    def counted(image: Image.Image, *rest: object) -> Image.Image:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        found = real(image, *rest)  # type: ignore[arg-type]
        threading.Event().wait(0.01)
        inside -= 1
        return found

    monkeypatch.setattr(Image.Image, "convert", counted)
    stream = io.BytesIO()
    Image.fromarray(np.zeros((10, 10), np.uint8)).save(stream, "PNG")
    threads = [threading.Thread(target=decode, args=(stream.getvalue(), 4)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_what_is_no_lock_is_said_to_be_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / LOCK_FILE
    {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "loop": lambda: path.symlink_to(path)}[kind]()
    with pytest.raises(ClassgrowError, match=r"The lock .* cannot be opened"), only_one(tmp_path):
        pass
    assert not is_locked(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["a" + ".a" * 30_000 + " = 1", "seed = " + "9" * 5_000, "x = " + "[" * 5_000, "#" * 2**17, "seed = 1\n" * 2],
    ids=["parts", "digits", "depth", "size", "twice"],
)
def test_settings_that_would_take_all_memory(tmp_path: Path, text: str) -> None:
    (tmp_path / "spec.toml").write_text(text)
    with pytest.raises(ClassgrowError):
        read_toml(tmp_path / "spec.toml")


def test_a_pipe_in_place_of_settings_an_order_or_a_failure(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "spec.toml")
    with pytest.raises(ClassgrowError, match="not a regular file"):
        read_toml(tmp_path / "spec.toml")
    with pytest.raises(ClassgrowError, match="nor a file"):
        resolve_order(str(tmp_path / "spec.toml"), 3)
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / FAILURE_FILE)
    assert "cannot be read" in find_failures(tmp_path)[0]


def test_an_order_of_many_ids_is_read_in_no_time(tmp_path: Path) -> None:
    (tmp_path / "order").write_text(" ".join(map(str, range(200_000))))
    with pytest.raises(ClassgrowError, match="which the data lack"):
        resolve_order(str(tmp_path / "order"), 100)
    assert len(resolve_order(str(tmp_path / "order"), 200_000)) == 200_000
    (tmp_path / "order").write_text("[" * 10**5)
    with pytest.raises(ClassgrowError, match="cannot be read"):
        resolve_order(str(tmp_path / "order"), 3)


@pytest.mark.parametrize("folder", [5, None, b"x", ["x"], "a\0b"])
def test_a_learner_is_saved_to_paths_only(folder: object) -> None:
    with pytest.raises(ClassgrowError, match="`folder`"):
        Learner().save(folder)  # type: ignore[arg-type]
    with pytest.raises(ClassgrowError, match="`folder`"):
        Learner.load(folder)  # type: ignore[arg-type]


def test_what_the_system_says_is_one_sentence() -> None:
    said = sentence_of(OSError(errno.ENOSPC, "No space left on device", "/disk/file"))
    assert said == (
        "The system says No space left on device at /disk/file: free some space or choose another place, and try again."
    )
