"""A catalogue knows ours and what other packages bring along; one broken package disturbs nobody."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from classgrow import installed
from classgrow.data.catalogue import DATASETS, dataset_title
from classgrow.data.facts import DatasetFacts
from classgrow.errors import ClassgrowError
from classgrow.networks.catalogue import NETWORKS, build_backbone
from classgrow.networks.facts import NetworkFacts
from classgrow.networks.small import SmallNet

STAMPS = DatasetFacts("stamps", load=lambda folder, progress, strict: pytest.fail("not asked for"), title="Stamps")
MISCOUNTED = NetworkFacts("miscounted", SmallNet, features=31)
POINTS = {
    "classgrow.datasets": {
        "stamps": "others:STAMPS",
        "digits": "others:STAMPS",
        "other": "others:STAMPS",
        "text": "others:__name__",
        "gone": "no_such_module:FACTS",
    },
    "classgrow.networks": {"miscounted": "others:MISCOUNTED"},
}


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pretend that a package with these entry points is installed."""
    others = ModuleType("others")
    vars(others).update(STAMPS=STAMPS, MISCOUNTED=MISCOUNTED)
    monkeypatch.setitem(sys.modules, "others", others)
    monkeypatch.setattr(
        installed,
        "entry_points",
        lambda group: [EntryPoint(name, place, group) for name, place in POINTS.get(group, {}).items()],
    )
    installed.installed_points.cache_clear()
    yield
    installed.installed_points.cache_clear()


def test_what_a_package_brings_is_known_by_name() -> None:
    assert DATASETS["stamps"] is STAMPS and "stamps" in DATASETS
    assert DATASETS.names[-4:] == ("stamps", "other", "text", "gone")
    assert dataset_title("stamps") == "Stamps"


def test_nobody_can_take_a_name_of_ours() -> None:
    assert DATASETS["digits"].shape == (8, 8, 1)
    assert DATASETS.names.count("digits") == 1


@pytest.mark.parametrize(
    ("name", "reason"), [("gone", "no_such_module"), ("text", "not a DatasetFacts"), ("other", "of that name")]
)
def test_a_broken_package_names_itself_when_asked_for(name: str, reason: str) -> None:
    with pytest.raises(ClassgrowError, match=rf"'{name}' of an installed package .*{reason}.*fix or uninstall"):
        DATASETS[name]
    assert DATASETS.find(name) is None
    assert dataset_title(name) == name  # old records of it still have tables
    assert DATASETS["cifar100"].title == "CIFAR-100"


def test_an_unknown_name_gets_a_hint() -> None:
    assert DATASETS.get("stomps") is None
    with pytest.raises(ClassgrowError, match=r"no data set 'stomps': `dataset` is .*Did you mean 'stamps'\?"):
        DATASETS["stomps"]
    with pytest.raises(ClassgrowError, match=r"no network 'resnet3': `network` is one of small, "):
        NETWORKS["resnet3"]


def test_a_network_with_another_number_of_features_than_it_says_is_refused() -> None:
    with pytest.raises(ClassgrowError, match="'miscounted' returns 32 features and is listed with 31"):
        build_backbone("miscounted", 1, last_relu=False)
