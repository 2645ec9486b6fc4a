"""The chi-square test: textbook values, a plain version, and how often chance alone is called a difference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gtea.tasks.homogeneity import homogeneity_p_value


def naive_statistic(counts: list[list[int]]) -> tuple[float, int]:
    total, statistic = sum(map(sum, counts)), 0.0
    for row in counts:
        for column, count in enumerate(row):
            expected = sum(row) * sum(other[column] for other in counts) / total
            statistic += (count - expected) ** 2 / expected
    return statistic, (len(counts) - 1) * (len(counts[0]) - 1)


def naive_upper_tail(statistic: float, degrees: int) -> float:
    """The density of the chi-square distribution, integrated over x = y^2: at 0 it is finite in y."""
    y = np.linspace(math.sqrt(statistic), math.sqrt(statistic + 400), 400_001)
    density = 2 * y ** (degrees - 1) * np.exp(-(y**2) / 2) / (2 ** (degrees / 2) * math.gamma(degrees / 2))
    return float(np.trapezoid(density, y))


@pytest.mark.parametrize(
    "counts",
    [
        [[30, 20], [20, 30]],
        [[60, 40], [50, 50], [20, 80]],
        [[50, 30, 20], [40, 35, 25]],
        [[40, 30, 20, 10], [25, 25, 25, 25], [10, 20, 30, 40]],
        [[1259, 757], [144, 528], [297, 375]],
    ],
)
def test_agrees_with_the_plain_version(counts: list[list[int]]) -> None:
    statistic, degrees = naive_statistic(counts)
    assert homogeneity_p_value(counts) == pytest.approx(naive_upper_tail(statistic, degrees), rel=1e-6, abs=1e-80)


def test_a_textbook_value() -> None:
    # 2 x 2, statistic 4, one degree of freedom.
    assert homogeneity_p_value([[30, 20], [20, 30]]) == pytest.approx(0.0455, abs=1e-4)


def test_equal_shares_are_no_difference() -> None:
    assert homogeneity_p_value([[30, 60], [10, 20]]) == 1.0


@pytest.mark.parametrize("counts", [[[5, 0], [7, 0]], [[5, 7], [0, 0]], [[0, 0], [0, 0]]])
def test_one_class_or_one_group_can_not_differ(counts: list[list[int]]) -> None:
    assert homogeneity_p_value(counts) == 1.0


def test_rare_classes_are_counted_as_one() -> None:
    rare = [[100, 50, 1, 0, 2, 0], [50, 25, 0, 1, 0, 2]]
    assert homogeneity_p_value(rare) == homogeneity_p_value([[100, 50, 3], [50, 25, 3]])


@pytest.mark.parametrize("sizes", [(600, 40), (400, 150, 50, 20), (12,) * 40])
def test_chance_alone_is_rarely_called_a_difference(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    targets = np.repeat(np.arange(len(sizes)), sizes)
    edges = (np.cumsum((0.6, 0.2)) * len(targets)).astype(int)
    values = []
    for _ in range(1000):
        parts = np.split(generator.permutation(targets), edges)
        values.append(homogeneity_p_value([np.bincount(part, minlength=len(sizes)) for part in parts]))
    assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=0.025)
