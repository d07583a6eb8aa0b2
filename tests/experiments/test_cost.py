"""The cost model on hand-worked numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from classgrow.errors import ClassgrowError
from classgrow.experiments.cost import (
    Machine,
    best_seconds,
    bytes_per_step,
    cache_bytes,
    network_name,
    parameters,
    read_speeds,
    run_seconds,
    side_by_side,
)
from classgrow.experiments.outline import Outline
from classgrow.specs.spec import Spec

SPEC = Spec(dataset="cifar100", method="fgp")
RUN = Outline(SPEC, "a", "cifar", 2, (128_000, 128_000))
MACHINE = Machine({"cifar": 1000.0}, gigabytes_per_second=1.0)


@pytest.mark.parametrize(("devices", "expected"), [(1, 0.0), (2, 400.0), (4, 600.0), (8, 700.0)])
def test_bytes_of_a_ring(devices: int, expected: float) -> None:
    """100 parameters are 400 bytes, of which each device sends 2(N - 1)/N times."""
    assert bytes_per_step(100, devices) == expected


def test_a_run_on_one_device_and_on_two() -> None:
    """The first phase has no teacher and takes 3/4: (0.75 + 1) · 128 s; 2,000 steps send 4 · 463,504 bytes each."""
    assert run_seconds(RUN, MACHINE) == pytest.approx(224)
    assert run_seconds(RUN, MACHINE, 2) == pytest.approx(112 + 2000 * 4 * 463_504 / 1e9)


def test_runs_stand_side_by_side() -> None:
    """5, 4, 3, 3, 3 on two: 5 + 3 and 4 + 3, then 3 more on the second: 10."""
    assert side_by_side([3, 5, 3, 4, 3], 2) == 10
    assert side_by_side([3, 5], 1) == 8
    assert side_by_side([3, 5], 10**12) == 5


def test_devices_are_given_to_runs_when_there_are_more_than_runs() -> None:
    alone, four = best_seconds([RUN, RUN], MACHINE, 2), best_seconds([RUN, RUN], MACHINE, 4)
    assert (alone.devices_each, alone.seconds) == (1, pytest.approx(224))
    assert (four.devices_each, four.seconds) == (2, pytest.approx(run_seconds(RUN, MACHINE, 2)))


def test_another_network_costs_in_proportion() -> None:
    """Without a named network the preset's counts: ResNet-32. ResNet-18 has 1,800 instead of 69 megaflops."""
    other = replace(RUN, network="resnet18")
    assert (network_name(RUN), parameters(RUN), RUN.work()) == ("resnet32", 463_504, 69.0 * 256_000)
    assert (network_name(other), parameters(other)) == ("resnet18", 11_176_512)
    assert other.work(1) == pytest.approx(1800.0 * 128_000)
    assert run_seconds(other, MACHINE) == pytest.approx(224 * 1800 / 69)


def test_what_the_images_take() -> None:
    assert cache_bytes("cifar100") == 60_000 * 3072
    assert cache_bytes("imagenet100") == pytest.approx(35e9, rel=0.01)
    assert cache_bytes("folder") is None


def test_speeds_in_words() -> None:
    assert read_speeds("cifar=2000,imagenet=300")["imagenet"] == 300
    assert read_speeds("1800")["imagenet"] == pytest.approx(69)  # 69 to 1,800 million multiplications
    for text in ("fast", "cifar=", "cats=3", "0", "-1", "inf", ""):
        with pytest.raises(ClassgrowError, match="cifar=2000"):
            read_speeds(text)
