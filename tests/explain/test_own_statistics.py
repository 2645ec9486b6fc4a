"""The median account, and accounts with one number of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.explain.own_statistics import AccountPopulation, MedianInputs, statistic_effects
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import fit_nodes
from gtea.store.memory import store_in_memory

VIEW = store_of(random_rows(1)).as_of(CUT)


def test_percentiles_count_half_of_those_that_are_equal() -> None:
    population = AccountPopulation(VIEW, ("statistics", "rhythm"))
    active = np.flatnonzero(VIEW.has_events(np.arange(VIEW.store.num_nodes)))
    column = population.names.index("both_partners")
    values = population.rows(active)[:, column]
    for value in (0, 2, 3, 100):
        expected = 100 * (np.mean(values < value) + np.mean(values == value) / 2)
        assert population.percentile(column, value) == pytest.approx(expected)
        assert population.standing(column, value) == pytest.approx(
            (100 * np.mean(values < value), 100 * np.mean(values > value))
        )
    assert population.medians[column] == np.sort(values)[len(values) // 2]


def test_one_column_at_a_time_is_exchanged() -> None:
    nodes = fit_nodes(VIEW, ("statistics", "random"))
    population = AccountPopulation(VIEW, ("statistics", "partners"))
    medians = MedianInputs.of(nodes, population)
    (row,) = NodeFeatures(VIEW, nodes).rows(np.array([0]))
    names = ("both_partners", "partners_reciprocity", "in_amount_sum")
    rows = medians.exchanged(row, names)
    changed = [np.flatnonzero(each != row).tolist() for each in rows]
    assert changed == [[nodes.names.index("both_partners")], [], [nodes.names.index("in_amount_sum")]]


def test_one_number_is_told_once() -> None:
    store = store_in_memory(["a", "b", "d"], ["b", "c", "a"], [10, 20, 50], features={"amount": [1.0, 2.0, 3.0]})
    view = store.as_of()
    population = AccountPopulation(view, ("statistics",))
    names = ("both_gap_min", "both_gap_max", "both_span", "in_amount_sum", "in_amount_mean", "both_partners")
    scores = np.array([0.5, 0.55, 0.6, 0.65, 0.7, 0.75])
    told = statistic_effects(population, store.node("a"), names, scores, 0.9, view)
    assert [each.name for each in told] == ["both_gap_min", "in_amount_sum", "both_partners"]


def test_the_same_words_are_told_once() -> None:
    """Of one event there is no gap, and no deviation."""
    store = store_in_memory(["a", "b", "d"], ["b", "c", "a"], [10, 20, 50], features={"amount": [1.0, 2.0, 3.0]})
    view = store.as_of()
    population = AccountPopulation(view, ("statistics",))
    names = ("out_gap_min", "out_amount_std", "both_partners")
    told = statistic_effects(population, store.node("a"), names, np.array([0.5, 0.6, 0.7]), 0.9, view)
    assert [each.name for each in told] == ["out_gap_min", "both_partners"]
    assert told[0].sentence.startswith("has one event sent only; ")
