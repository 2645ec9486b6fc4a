"""Test whether groups have the same shares of each class: Pearson's chi-square test of homogeneity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MIN_EXPECTED = 1
"""The fewest expected examples of a class in a group (Cochran 1954).

Of random splits of 2 to 42 classes, 0.3 to 1 in 1,000 then have p < 0.001 (2 with 8 examples of one of two classes). A
minimum of 5 would merge all of 40 equal classes into one, and see no difference.
"""


def homogeneity_p_value(counts: ArrayLike) -> float:
    r"""Return the probability that chance alone makes the shares of some groups differ at least this much.

    .. math:: \chi^2 = \sum_{g,c} (n_{gc} - e_{gc})^2 / e_{gc}, \quad e_{gc} = n_{g.} n_{.c} / n_{..}

    Classes too rare for the test are counted as one. Groups and classes without examples are left out.

    Args:
        counts: The number of examples, one row per group and one column per class.
    """
    table = _without_rare_classes(_without_empty(np.asarray(counts, dtype=np.float64)))
    groups, classes = table.shape
    if groups < 2 or classes < 2:
        return 1.0
    expected = _expected(table)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return _upper_tail(statistic, (groups - 1) * (classes - 1))


def _without_empty(table: NDArray[np.float64]) -> NDArray[np.float64]:
    table = table[table.sum(axis=1) > 0]
    return table[:, table.sum(axis=0) > 0]


def _without_rare_classes(table: NDArray[np.float64]) -> NDArray[np.float64]:
    rare = (_expected(table) < _MIN_EXPECTED).any(axis=0)
    if rare.sum() < 2:
        return table
    return np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])


def _expected(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), 1))


def _upper_tail(statistic: float, degrees: int) -> float:
    """Return the probability of a larger chi-square value: Q(degrees / 2, statistic / 2).

    Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1), from Q(1/2, x) = erfc(sqrt(x)) or Q(1, x) = e^-x. All terms are
    positive, so that nothing cancels.
    """
    x = statistic / 2
    if x <= 0:
        return 1.0
    a = 0.5 if degrees % 2 else 1.0
    tail = math.erfc(math.sqrt(x)) if degrees % 2 else math.exp(-x)
    while a < degrees / 2:
        tail += math.exp(a * math.log(x) - x - math.lgamma(a + 1))
        a += 1
    return min(tail, 1.0)
