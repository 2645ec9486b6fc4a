"""The population stability index (PSI) of some values against a reference, and how large it gets by chance.

PSI is the sum over bins of (p - q) ln(p / q), where p and q are the shares of the values and of the reference in a bin.
The usual reading: below 0.1 nothing happened, above 0.25 the two differ. Few values differ by chance: without drift,
PSI divided by 1/n + 1/m follows a chi-square distribution with one degree of freedom less than there are bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TENTHS = np.linspace(0.1, 0.9, 9)
_ATOM = 0.05
"""A value that so large a share of the reference has gets a bin of its own."""
_HALF = 0.5
"""Added to each count: an empty bin has no logarithm."""
_MOST_WORDS = 20


@dataclass(frozen=True)
class NumberBins:
    """Bins of numbers: tenths of a reference, and values that many of it have."""

    edges: NDArray[np.float64]
    """Bin i holds the values from edge i - 1, included, to edge i, excluded. NaN is in a bin of its own, the last."""

    @staticmethod
    def fit(reference: NDArray[Any]) -> NumberBins:
        """The bins of a reference."""
        values = np.asarray(reference, dtype=np.float64)
        values = values[~np.isnan(values)]
        if not len(values):
            return NumberBins(np.empty(0))
        tenths = np.quantile(values, _TENTHS, method="inverted_cdf")
        distinct, counts = np.unique(values, return_counts=True)
        atoms = distinct[counts >= max(_ATOM * len(values), 2)]
        return NumberBins(np.unique(np.concatenate([tenths, atoms, np.nextafter(atoms, np.inf)])))

    def count(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """How many values each bin holds."""
        numbers = np.asarray(values, dtype=np.float64)
        is_nan = np.isnan(numbers)
        places = np.searchsorted(self.edges, numbers[~is_nan], side="right")
        return np.append(np.bincount(places, minlength=len(self.edges) + 1), is_nan.sum()).astype(np.int64)


@dataclass(frozen=True)
class WordBins:
    """Bins of codes of a categorical column: its most frequent words, the others, and those the reference never had."""

    frequent: NDArray[np.int64]
    others: NDArray[np.int64]

    @staticmethod
    def fit(reference: NDArray[Any]) -> WordBins:
        """The bins of a reference."""
        codes, counts = np.unique(np.asarray(reference, dtype=np.int64), return_counts=True)
        order = codes[np.argsort(-counts, kind="stable")]
        return WordBins(np.sort(order[:_MOST_WORDS]), np.sort(order[_MOST_WORDS:]))

    def count(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """How many values each bin holds."""
        codes, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        by_code = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        frequent = [by_code.pop(code, 0) for code in self.frequent.tolist()]
        others = sum(by_code.pop(code, 0) for code in self.others.tolist())
        return np.array([*frequent, others, sum(by_code.values())], dtype=np.int64)


@dataclass(frozen=True)
class Drift:
    """A PSI, and the largest that chance would explain."""

    psi: float
    by_chance: float

    @property
    def is_certain(self) -> bool:
        """Whether it is more than chance."""
        return self.psi > self.by_chance

    def to_json(self) -> dict[str, Any]:
        """For monitor.json."""
        return {"psi": round(self.psi, 6), "by_chance": round(self.by_chance, 6)}


def drift(
    counts: NDArray[np.int64], reference: NDArray[np.int64], independent: tuple[int, int], num_tests: int
) -> Drift:
    """The PSI of counts against those of a reference.

    Args:
        counts: The counts of bins.
        reference: The counts of the same bins in the reference.
        independent: How many independent values both rest on. Events of one account are alike, so it is accounts that
            are counted.
        num_tests: How many such comparisons are made at once: the more, the more chance gets its way.
    """
    seen = (counts + reference) > 0
    counts, reference = counts[seen], reference[seen]
    if len(counts) < 2 or not counts.sum() or not reference.sum():
        return Drift(0.0, 0.0)
    p, q = (_shares(each) for each in (counts, reference))
    psi = float(((p - q) * np.log(p / q)).sum())
    scale = sum(1 / max(number, 1) for number in independent)
    return Drift(psi, _chi_square(len(counts) - 1, 0.001 / max(num_tests, 1)) * scale)


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    raised = counts + _HALF
    return np.asarray(raised / raised.sum())


def _chi_square(freedom: int, tail: float) -> float:
    """The value that a chi-square variable is above with a small probability (Wilson and Hilferty's formula)."""
    z, part = NormalDist().inv_cdf(1 - tail), 2 / (9 * freedom)
    return float(freedom * (1 - part + z * part**0.5) ** 3)


def poisson_tails(count: int, mean: float) -> tuple[float, float]:
    """How probable so few, and so many, events are if the mean is right."""
    terms = np.arange(count + 1, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.maximum(terms[1:], 1)))])
    each = np.exp(terms * np.log(max(mean, 1e-300)) - mean - logs)
    return float(min(each.sum(), 1.0)), float(max(1 - each[:-1].sum(), 0.0))
