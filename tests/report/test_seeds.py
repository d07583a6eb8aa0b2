"""Seeds of one class order are no further class orders."""

from __future__ import annotations

from dataclasses import replace

import pytest

from classgrow.report.comparisons import compare
from classgrow.report.gather import Results, gather
from classgrow.report.panels import incremental_series
from classgrow.report.runs import Regimen, run_of
from classgrow.report.settings import Setting
from classgrow.report.words import words

FS_1K = Setting("cifar100", (10,) * 10, 1000)
OFFICIAL = Regimen()
POOLED = "Seeds of one class order are averaged first, so that n counts orders."
ALONE = "Where there is one class order, n counts seeds."


def results_of(records) -> Results:
    return gather(map(run_of, records))


def test_seeds_are_averaged_before_orders(make) -> None:
    """Order 0 with seeds at 40 and 44 is 42; with order 1 at 50 the mean is 46, over two orders (three runs: 44.67)."""
    results = results_of([make("fgp", "0", 0.40), make("fgp", "0", 0.44, seed=2), make("fgp", "1", 0.50)])
    value = results.value(OFFICIAL, FS_1K, "fgp", "final")
    assert value is not None
    assert (value.mean, value.low, value.high, value.n) == pytest.approx((0.46, 0.42, 0.50, 2))
    assert value.std == pytest.approx(0.08 / 2**0.5)
    series = incremental_series(results, OFFICIAL, FS_1K, "fgp")
    assert series is not None and series.low is not None
    assert (series.n, series.y[-1], series.low[-1]) == pytest.approx((2, 46.0, 42.0))
    assert POOLED in words(results.group(OFFICIAL, FS_1K, "fgp"))


def test_runs_of_an_earlier_recipe_are_not_averaged_with_those_of_the_last(make) -> None:
    """End-to-End, recorded before its recipe changed and again after it: the later one alone is in the tables."""
    old, new = make("eeil", "0", 0.20), make("eeil", "0", 0.40, seed=2)
    recipe = replace(old.resolved.recipe, fine_tune_updates=0)
    old = old.model_copy(update={"resolved": replace(old.resolved, recipe=recipe), "started": "2020-01-01T00:00:00"})
    results = results_of([old, new])
    value = results.value(OFFICIAL, FS_1K, "eeil", "final")
    assert value is not None and (value.mean, value.n) == pytest.approx((0.40, 1))
    assert {run.seed for run in results.runs} == {1, 2}
    arithmetic = old.model_copy(update={"resolved": replace(new.resolved, seed=1, numerics=7), "numerics": 7})
    value = results_of([arithmetic, new]).value(OFFICIAL, FS_1K, "eeil", "final")
    assert value is not None and value.mean == pytest.approx(0.40)


def test_the_deviation_of_phases_weighs_orders_not_runs(make) -> None:
    """Order 0: seeds with 0.2 and 0.4 in the first half of the phases, 0.6 and 0.8 in the second: 0.3 and 0.7.
    Order 1: 0.5 everywhere. Their mean: 0.4 and 0.6, a deviation of 0.1 (three runs alike: 0.1333)."""
    records = [
        make("fgp", "0", groups=[0.2] * 5 + [0.6] * 5),
        make("fgp", "0", groups=[0.4] * 5 + [0.8] * 5, seed=2),
        make("fgp", "1", groups=[0.5] * 10),
    ]
    value = results_of(records).value(OFFICIAL, FS_1K, "fgp", "mad")
    assert value is not None
    assert (value.mean, value.n) == pytest.approx((0.1, 2))


def test_with_a_single_order_n_counts_seeds(make) -> None:
    results = results_of([make("fgp", "0", 0.40), make("fgp", "0", 0.44, seed=2)])
    value = results.value(OFFICIAL, FS_1K, "fgp", "final")
    assert value is not None
    assert (value.mean, value.n) == pytest.approx((0.42, 2))
    assert words(results.group(OFFICIAL, FS_1K, "fgp")).endswith(ALONE)


def test_one_method_with_more_orders_decides_for_all(make) -> None:
    """Beside five orders of FGP, three seeds of one order of iCaRL are one order."""
    records = [make("fgp", str(order), 0.5) for order in range(5)]
    records += [make("icarl", "0", 0.3 + 0.1 * seed, seed=seed) for seed in (0, 1, 2)]
    value = results_of(records).value(OFFICIAL, FS_1K, "icarl", "final")
    assert value is not None
    assert (value.mean, value.n, value.std) == (pytest.approx(0.4), 1, None)


def test_pairs_are_orders_where_seeds_are_pooled(make) -> None:
    """FGP: order 0 at 42 (two seeds), order 1 at 50. iCaRL: 40 and 44, with another seed. Ahead by 2 and 6: 4."""
    records = [make("fgp", "0", 0.40), make("fgp", "0", 0.44, seed=2), make("fgp", "1", 0.50)]
    records += [make("icarl", "0", 0.40, seed=7), make("icarl", "1", 0.44, seed=7)]
    (row,) = compare(results_of(records), OFFICIAL, FS_1K)
    assert (row.final.n, row.final.mean) == (2, pytest.approx(4.0))


def test_one_run_for_each_order_needs_no_words(make) -> None:
    results = results_of([make("fgp", str(order), 0.5) for order in range(5)])
    said = words(results.group(OFFICIAL, FS_1K, "fgp"))
    assert POOLED not in said and ALONE not in said
