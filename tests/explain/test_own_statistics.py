"""The median account, and accounts with one number of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.explain.own_statistics import AccountPopulation, MedianInputs
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import fit_nodes

VIEW = store_of(random_rows(1)).as_of(CUT)


def test_percentiles_count_half_of_those_that_are_equal() -> None:
    population = AccountPopulation(VIEW, ("statistics", "rhythm"))
    active = np.flatnonzero(VIEW.has_events(np.arange(VIEW.store.num_nodes)))
    column = population.names.index("both_partners")
    values = population.rows(active)[:, column]
    for value in (0, 2, 3, 100):
        expected = 100 * (np.mean(values < value) + np.mean(values == value) / 2)
        assert population.percentile(column, value) == pytest.approx(expected)
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
