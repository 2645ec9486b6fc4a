"""A day in numbers, against loops over its events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tests.training.test_baselines import payers

from gtea.monitoring.day_values import day_values
from gtea.monitoring.days import Day
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store


def test_a_day_is_what_happened_on_it(trained: tuple[Path, Path]) -> None:
    store, model = Store.open(trained[0]), NodeModel.open(trained[1], torch.device("cpu"))
    found = day_values(store, model, Day(700, 760, "x"), 500, ScoringOptions())
    rows = [row for row in payers() if 700 <= row[2] < 760]
    accounts = sorted({store.node(end) for row in rows for end in row[:2]})
    before = {end for row in payers() if row[2] < 500 for end in row[:2]}
    assert found.nodes.tolist() == accounts
    assert found.num_events == len(rows)
    assert found.unseen == sum(store.account(node) not in before for node in accounts)
    amounts = np.sort(found.columns["event amount"]).astype(np.float32)
    np.testing.assert_array_equal(amounts, np.sort(np.array([row[3] for row in rows], dtype=np.float32)))
    wanted = model.scores(model.probabilities(store, 760, np.array(accounts)))
    np.testing.assert_array_equal(found.scores, wanted)
    assert model.threshold is not None
    assert found.alerts == (wanted >= model.threshold.value).sum()
    assert found.columns["events of an account"].sum() == 2 * len(rows)
    inputs = [name for name in found.columns if name.startswith("input ")]
    assert len(inputs) > 10
    assert {len(found.columns[name]) for name in inputs} == {len(accounts)}


def test_a_day_without_events_is_empty(trained: tuple[Path, Path]) -> None:
    store, model = Store.open(trained[0]), NodeModel.open(trained[1], torch.device("cpu"))
    found = day_values(store, model, Day(900, 950, "x"), 500, ScoringOptions())
    assert (found.num_events, len(found.nodes), len(found.scores), found.alerts, found.unseen) == (0, 0, 0, 0, 0)
    assert all(not len(values) for values in found.columns.values())
