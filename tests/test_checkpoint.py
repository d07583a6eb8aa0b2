"""One file, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save

from classgrow import checkpoint, disk
from classgrow.checkpoint import CheckpointFile
from classgrow.errors import ClassgrowError

TENSORS = {
    "weights": torch.tensor([[1.5, -2.0, 3.0]]),
    "pixels": torch.arange(12, dtype=torch.uint8),
    "labels": torch.tensor([3, 1, 2]),
    "scale": torch.tensor(0.25),
    "nothing": torch.empty(0, 64),
}
PLAIN = {"phase": 2, "loss": 0.1, "classes": [[7, "sieben ä"]], "point": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    checkpoint.write(tmp_path / "run" / "saved", TENSORS, PLAIN)
    return tmp_path / "run" / "saved"


def test_round_trip(path: Path) -> None:
    tensors, plain = checkpoint.read(path)
    assert plain == PLAIN and tensors.keys() == TENSORS.keys()
    for name, value in TENSORS.items():
        assert torch.equal(tensors[name], value) and tensors[name].dtype == value.dtype
        assert tensors[name].shape == value.shape
    assert [file.name for file in path.parent.iterdir()] == ["saved"]


def test_truncation_is_noticed_wherever_it_happens(path: Path) -> None:
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ClassgrowError, match="is damaged"):
            checkpoint.read(path)


@pytest.mark.parametrize("change", [0x01, 0x0F, 0x80])
def test_a_flipped_byte_is_noticed_or_harmless(path: Path, change: int) -> None:
    """Harmless: one space of padding for another kind of blank, which the format allows."""
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
        try:
            tensors, plain = checkpoint.read(path)
        except ClassgrowError:
            continue
        assert content[place : place + 1] == b" "
        assert plain == PLAIN and all(torch.equal(tensors[name], value) for name, value in TENSORS.items())


def test_a_changed_type_is_noticed(path: Path) -> None:
    """The values' bytes stay the same: only the layout tells."""
    path.write_bytes(path.read_bytes().replace(b'"dtype":"F32","shape":[1,3]', b'"dtype":"I32","shape":[1,3]'))
    with pytest.raises(ClassgrowError, match="is damaged"):
        checkpoint.read(path)


def test_a_failing_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("classgrow.disk.os.fsync", full)
    with pytest.raises(ClassgrowError, match="No space left on device"):
        checkpoint.write(path, {}, {"phase": 3})
    assert checkpoint.read(path)[1] == PLAIN
    assert [file.name for file in path.parent.iterdir()] == ["saved"]


def test_another_format_is_said_to_be_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 99)
    with pytest.raises(ClassgrowError, match="another version"):
        checkpoint.read(path)


def test_when_a_checkpoint_is_due(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path / "saved", every_epochs=3, every_seconds=1000.0)
    assert [file.due(epoch) for epoch in (1, 2, 3, 4, 6)] == [False, False, True, False, True]
    assert file.read() is None
    file.write(TENSORS, PLAIN)
    assert file.read() is not None
    assert CheckpointFile(tmp_path / "saved", every_epochs=3, every_seconds=-1.0).due(1)


def file_of(path: Path, said: list[str], **more: Any) -> CheckpointFile:
    return CheckpointFile(path / "saved", say=said.append, **more)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with two generations: phase 1 and phase 2."""
    file = file_of(tmp_path, [])
    for phase in (1, 2):
        file.write(TENSORS, {"phase": phase})
    return tmp_path


def test_the_newest_generation_is_read(two: Path) -> None:
    said: list[str] = []
    found = file_of(two, said).read()
    assert found is not None and (found[1], said) == ({"phase": 2}, [])


@pytest.mark.parametrize("harm", ["missing", "damaged", "empty"])
def test_the_one_before_is_read_where_the_newest_is_lost(two: Path, harm: str) -> None:
    newest = two / "saved"
    if harm == "missing":
        newest.unlink()
    else:
        newest.write_bytes(b"" if harm == "empty" else newest.read_bytes()[:-1])
    said: list[str] = []
    file = file_of(two, said)
    found = file.read()
    assert found is not None and found[1] == {"phase": 1}
    assert said == ["The newest checkpoint is missing or damaged: the run goes on from the one before."]
    file.write(TENSORS, {"phase": 3})  # the damaged one does not take the good one's place
    assert [checkpoint.read(path)[1] for path in (newest, file.earlier)] == [{"phase": 3}, {"phase": 1}]


def test_both_damaged_is_an_error_and_both_are_kept(two: Path) -> None:
    for path in two.iterdir():
        path.write_bytes(b"damaged")
    with pytest.raises(ClassgrowError, match="is damaged"):
        file_of(two, []).read()
    assert [path.read_bytes() for path in two.iterdir()] == [b"damaged"] * 2


def test_what_reads_back_differently_does_not_become_a_generation(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = disk.write_synced
    monkeypatch.setattr("classgrow.disk.write_synced", lambda path, content: write(path, content[:-1] + b"?"))
    with pytest.raises(ClassgrowError, match="reads differently"):
        file_of(two, []).write(TENSORS, {"phase": 3})
    assert sorted(path.name for path in two.iterdir()) == ["saved", "saved.earlier"]
    assert checkpoint.read(two / "saved")[1] == {"phase": 2}


def test_another_runs_checkpoint_is_refused(tmp_path: Path) -> None:
    file_of(tmp_path, [], run={"identity": "a"}).write(TENSORS, PLAIN)
    with pytest.raises(ClassgrowError, match="belongs to another run"):
        file_of(tmp_path, [], run={"identity": "b"}).read()
    found = file_of(tmp_path, [], run={"identity": "a"}).read()
    assert found is not None and found[1] == PLAIN


def test_what_cannot_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "saved")
    with pytest.raises(ClassgrowError, match="not a regular file"):
        file_of(tmp_path, []).read()
    (tmp_path / "saved").unlink()
    (tmp_path / "saved").touch()

    def denied(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(ClassgrowError, match=r"cannot be read \(Permission denied\); it is kept") as caught:
        file_of(tmp_path, []).read()
    assert "afresh" not in str(caught.value)


def test_a_header_beyond_all_bounds_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for content in ((2**62).to_bytes(8, "little"), many_entries(30_000), b"\x08" + bytes(7) + b"[[[[[[[["):
        (tmp_path / "saved").write_bytes(content)
        with pytest.raises(ClassgrowError, match="is damaged"):
            checkpoint.read(tmp_path / "saved")


def many_entries(number: int) -> bytes:
    header = json.dumps({str(n): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(number)})
    return len(header).to_bytes(8, "little") + header.encode()


def test_deep_values_are_no_traceback(tmp_path: Path) -> None:
    plain = "[" * 10**5
    (tmp_path / "saved").write_bytes(save({}, {"plain": plain, "digest": checkpoint.digest({}, plain)}))
    with pytest.raises(ClassgrowError, match="is damaged"):
        checkpoint.read(tmp_path / "saved")


def test_values_survive_json() -> None:
    assert json.loads(json.dumps(PLAIN)) == PLAIN
