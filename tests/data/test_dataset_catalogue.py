from __future__ import annotations

from pathlib import Path
from typing import Any

import pooch
import pytest

from classgrow.data import cifar100
from classgrow.data.catalogue import DATASETS, load
from classgrow.errors import ClassgrowError


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLASSGROW_DATA", raising=False)


def test_digits_need_no_folder() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'classgrow[demo]'")
    assert load("digits", None).name == "digits"
    assert DATASETS.names[:6] == ("digits", "cifar100", "mnist", "imagenet100", "mini-imagenet", "folder")


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(ClassgrowError, match=r"no data set 'cifar10'.*Did you mean 'cifar100'\?"):
        load("cifar10", None)


@pytest.mark.parametrize("name", ["cifar100", "mnist"])
def test_a_missing_folder_is_told(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClassgrowError, match=r"gone does not exist.*`data_dir`"):
        load(name, tmp_path / "gone")
    monkeypatch.setenv("CLASSGROW_DATA", str(tmp_path / "gone"))
    with pytest.raises(ClassgrowError, match=r"gone does not exist.*CLASSGROW_DATA"):
        load(name, None)


@pytest.mark.parametrize("name", ["cifar100", "mnist"])
def test_the_given_folder_comes_before_the_environment(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLASSGROW_DATA", str(tmp_path / "gone"))
    with pytest.raises(ClassgrowError, match="does not hold"):
        load(name, tmp_path)


def test_mnist_without_a_folder_asks_for_one() -> None:
    with pytest.raises(ClassgrowError, match="`data_dir`"):
        load("mnist", None)


@pytest.mark.parametrize("problem", [ConnectionError("no route"), ValueError("SHA256 hash does not match"), OSError()])
def test_a_failed_download_names_the_way_out(problem: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise problem

    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(ClassgrowError, match=r"could not be downloaded .*`data_dir`"):
        load("cifar100", None)


def test_the_download_is_checked_and_read_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / project)
    monkeypatch.setattr(pooch, "retrieve", lambda address, **options: asked.update(options, address=address))
    opened: list[Path] = []
    digits = load("digits")
    monkeypatch.setattr(cifar100, "load_cifar100", lambda folder: opened.append(folder) or digits)
    assert load("cifar100", None) is digits and opened == [tmp_path / "classgrow" / "cifar100"]
    assert asked["address"] == "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    assert asked["known_hash"] == "sha256:85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"
    assert asked["path"] == tmp_path / "classgrow"
