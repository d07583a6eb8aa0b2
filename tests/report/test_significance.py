"""Paired differences by hand."""

from __future__ import annotations

import math

import pytest

from classgrow.report.comparisons import TOO_SMALL, compare, comparison_tables, interval_text, p_text
from classgrow.report.gather import gather
from classgrow.report.runs import run_of
from classgrow.report.significance import paired, sign_flip_p, t_95
from classgrow.report.writers import csv_text, latex, markdown


def test_three_differences_by_hand() -> None:
    """1, 2, 3: mean 2, standard deviation 1, half width 4.3027 / sqrt 3; of the 8 sign patterns 2 are as extreme."""
    result = paired([1.0, 2.0, 3.0])
    half = 4.3027 / math.sqrt(3)
    assert (result.n, result.mean, result.p) == (3, pytest.approx(2.0), pytest.approx(2 / 8))
    assert (result.low, result.high) == pytest.approx((2 - half, 2 + half))
    assert result.smallest_p == 0.25


@pytest.mark.parametrize(("values", "p"), [([1, 1, 1, 1, 1], 2 / 32), ([1, -1], 1.0), ([0, 0, 0], 1.0), ([3, -1], 1.0)])
def test_sign_flips(values: list[float], p: float) -> None:
    assert sign_flip_p(values) == pytest.approx(p)


def test_many_pairs_are_sampled_and_p_is_never_zero() -> None:
    assert 0 < sign_flip_p([1.0] * 30) < 0.001


@pytest.mark.parametrize(("degrees", "point"), [(1, 12.7062), (4, 2.7764), (30, 2.0423), (60, 2.0003), (120, 1.9799)])
def test_t_points(degrees: int, point: float) -> None:
    assert t_95(degrees) == pytest.approx(point, abs=2e-4)


@pytest.mark.parametrize("values", [[], [1.5]])
def test_too_few_pairs_say_so(values: list[float]) -> None:
    result = paired(values)
    assert (result.low, result.high, result.p, result.smallest_p) == (None, None, None, None)
    assert interval_text(result) == p_text(result) == TOO_SMALL


def test_methods_are_compared_where_both_have_the_order(make) -> None:
    """FGP 50, 52, 60 (orders 0 to 2) against iCaRL 49, 50 (orders 0, 1): differences 1 and 2, not the third."""
    records = [make("fgp", order, level) for order, level in (("0", 0.50), ("1", 0.52), ("2", 0.60))]
    records += [make("icarl", "0", 0.49), make("icarl", "1", 0.50), make("bic", "2", 0.40), make("eeil", "4", 0.4)]
    results = gather(map(run_of, records))
    rows = {row.method: row for row in compare(results, results.regimens[0], results.runs[0].setting)}
    assert set(rows) == {"icarl", "bic"}
    assert (rows["icarl"].final.n, rows["icarl"].final.mean) == (2, pytest.approx(1.5))
    assert rows["icarl"].average.mean == pytest.approx(1.5)
    assert (rows["bic"].final.n, rows["bic"].final.mean, rows["bic"].final.p) == (1, pytest.approx(20.0), None)
    (table,) = comparison_tables(results)
    assert TOO_SMALL in markdown(table)
    assert "+1.5" in latex(table)
    assert ",1,20," in csv_text(table)
