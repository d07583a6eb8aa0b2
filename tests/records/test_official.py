"""The authors' result files as records."""

from __future__ import annotations

from pathlib import Path

import pytest

from classgrow.records.folder import find_records
from classgrow.records.official import OFFICIAL, official_records, write_official
from classgrow.records.record import Record
from classgrow.records.summary import summary


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return official_records()


def test_forty_runs_of_fgp_with_both_rules(records: list[Record]) -> None:
    assert len(records) == len({record.identity for record in records}) == 2 * 2 * 2 * 5
    assert {record.method.name for record in records} == {"fgp"}
    assert {record.spec.order for record in records if record.spec} == {"0", "1", "2", "3", "4"}
    assert {(r.spec.dataset, r.spec.first, r.spec.memory) for r in records if r.spec} == {
        (dataset, first, memory)
        for dataset in ("cifar100", "imagenet100")
        for first in (10, 50)
        for memory in (1000, 2000)
    }
    assert all(record.code == OFFICIAL and record.status == "finished" for record in records)


def pick(records: list[Record], dataset: str, first: int, memory: int) -> list[Record]:
    wanted = (dataset, first, memory)
    return [r for r in records if r.spec and (r.spec.dataset, r.spec.first, r.spec.memory) == wanted]


def test_curves_are_those_of_the_files(records: list[Record]) -> None:
    order_3 = pick(records, "cifar100", 10, 1000)[3]
    nearest = [100 * (value or 0) for value in summary(order_3).curve]
    assert nearest == pytest.approx([65.6, 66.6, 62.7, 58.9, 57.0, 54.6, 51.0, 46.4, 43.0, 43.1], abs=1e-9)
    head = [100 * (value or 0) for value in summary(order_3, "head").curve]
    assert head == pytest.approx([66.8, 65.3, 59.4, 54.3, 50.9, 45.5, 42.1, 34.9, 31.7, 30.8], abs=1e-9)
    assert order_3.phases[-1].test_counts == [100] * 100
    assert pick(records, "imagenet100", 50, 2000)[0].phases[0].test_counts == [50] * 50


@pytest.mark.parametrize(
    ("dataset", "first", "memory", "final", "average", "forgetting"),
    [
        ("cifar100", 10, 1000, 44.72, 59.80, 24.77),
        ("cifar100", 50, 1000, 52.76, 62.90, 17.42),
        ("imagenet100", 10, 2000, 57.02, 69.50, 22.96),
        ("imagenet100", 50, 2000, 62.64, 70.49, 17.28),
    ],
)
def test_means_over_orders(
    records: list[Record], dataset: str, first: int, memory: int, final: float, average: float, forgetting: float
) -> None:
    found = [summary(record) for record in pick(records, dataset, first, memory)]
    for name, expected in (("final", final), ("average", average), ("forgetting", forgetting)):
        assert 100 * sum(getattr(one, name) for one in found) / 5 == pytest.approx(expected, abs=0.05), name


def test_they_can_be_written_and_found(tmp_path: Path, records: list[Record]) -> None:
    assert len(write_official(tmp_path)) == 40
    assert sorted(find_records(tmp_path), key=lambda one: one.identity) == sorted(records, key=lambda one: one.identity)
