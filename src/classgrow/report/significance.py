"""Is one method better than another, or was it the class order? Paired over orders, since both saw the same ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_EXACT_UP_TO = 16  # 2^16 sign patterns; beyond that, as many random ones
# Two-sided 95 % points of Student's t with 1, 2, ... 30 degrees of freedom.
_T95 = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)


@dataclass(frozen=True)
class Paired:
    """The mean of n paired differences. With n < 2 there is neither an interval nor a p value."""

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def smallest_p(self) -> float | None:
        """The least p that the sign-flip test can give with n pairs: 2 / 2^n."""
        return 2.0 ** (1 - self.n) if self.n >= 2 else None


def paired(differences: Sequence[float]) -> Paired:
    """Mean difference, its 95 % interval (paired t) and the two-sided p of the exact sign-flip test."""
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if n < 2:
        return Paired(n, float(values[0]) if n else None)
    mean = float(values.mean())
    half = t_95(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Paired(n, mean, mean - half, mean + half, sign_flip_p(values))


def sign_flip_p(differences: Sequence[float] | np.ndarray) -> float:
    """Share of the sign patterns whose mean lies as far from 0 as the one observed: were the methods equal, each
    difference would be as likely to have the other sign."""
    values = np.asarray(differences, dtype=float)
    n = len(values)
    if n <= _EXACT_UP_TO:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        drawn = np.random.default_rng(0).integers(0, 2, size=(2**_EXACT_UP_TO - 1, n))
        signs = np.vstack([np.ones((1, n), dtype=drawn.dtype), 1 - 2 * drawn])  # the observed pattern is one of them
    sums = np.abs(signs @ values)
    observed = abs(values.sum())
    return float(np.mean(sums >= observed - 1e-9 * max(1.0, observed)))


def t_95(degrees: int) -> float:
    """The two-sided 95 % point of Student's t; beyond 30 degrees by the expansion around the normal's 1.96."""
    if degrees <= len(_T95):
        return _T95[degrees - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
