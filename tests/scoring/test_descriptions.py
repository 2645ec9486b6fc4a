"""Node features a part at a time: the rows of all at once, and a large account is read once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gtea.config import ModelConfig
from gtea.features.node_features import NodeFeatures
from gtea.scoring.descriptions import Descriptions


def test_they_are_the_features_in_any_order_and_however_often(
    make_store: Any, case_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtea.scoring.descriptions._MANY_SLOTS", 5)
    monkeypatch.setattr("gtea.scoring.descriptions._NODES_AT_A_TIME", 4)
    case = case_of(make_store(), ModelConfig())
    everybody = np.arange(case.view.store.num_nodes)
    expected = torch.from_numpy(NodeFeatures(case.view, case.preprocessing.nodes).compute(everybody))
    descriptions = Descriptions(case.view, case.preprocessing)
    for nodes in (np.array([3, 9]), np.array([9, 0, 3]), everybody[::-1].copy()):
        assert torch.equal(descriptions.rows(nodes), expected[nodes])
    assert torch.equal(descriptions.table(everybody), expected)


def test_accounts_with_many_slots_are_computed_once(
    make_store: Any, case_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(make_store(), ModelConfig())
    degree = np.diff(case.view.arrays.node_offset)
    large, small = int(degree.argmax()), case.view.store.node("loner")
    monkeypatch.setattr("gtea.scoring.descriptions._MANY_SLOTS", degree[large] - 1)
    compute, computed = NodeFeatures.compute, []

    def counted(features: NodeFeatures, nodes: Any) -> Any:
        computed.extend(nodes.tolist())
        return compute(features, nodes)

    monkeypatch.setattr(NodeFeatures, "compute", counted)
    descriptions = Descriptions(case.view, case.preprocessing)
    for _ in range(3):
        descriptions.rows(np.array([small, large]))
    assert computed == [small, large, small, small]
