"""The effect of removal is the score of a store that was ingested without these rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.explain.worlds import CUT, SMALL, between, model_of, random_rows, replayed, store_of

from gtea.config import FeaturesConfig, ModelConfig
from gtea.explain.effect import EffectModel, Effects, Replay
from gtea.models.registry import GTEA_VARIANTS, model_config
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.store.without import events_between

both_directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
both_depths = pytest.mark.parametrize("num_layers", [1, 2])
ALL = FeaturesConfig(neighbour_labels=True, rank_inputs=True)


def small(name: str, **changes: Any) -> ModelConfig:
    return dataclasses.replace(model_config(name), **SMALL, **changes)


def effects_on(model: NodeModel | LinkModel, store: Store, account: str) -> Effects:
    assert isinstance(model, NodeModel)
    assert EffectModel.supports(model)
    return EffectModel(model, store.as_of(CUT)).effects_on(store.node(account))


def check_pairs(rows: Any, model: NodeModel | LinkModel, accounts: list[str], **how: Any) -> float:
    store, furthest = store_of(rows, **how), 0.0
    for account in accounts:
        effects = effects_on(model, store, account)
        numbers = np.arange(len(effects.partners))
        found = effects.without([[], *numbers[:, None], numbers[:2], numbers[::2]])
        names = [store.account(int(node)) for node in effects.partners]
        for row, some in zip(found, [[], *([name] for name in names), names[:2], names[::2]], strict=True):
            truth = replayed(
                rows, lambda event, some=some, account=account: any(between(account, other)(event) for other in some),
                model, [account], **how,
            )  # fmt: skip
            np.testing.assert_allclose(row, truth, atol=1e-6, rtol=0)
            furthest = max(furthest, float(np.abs(row - found[0]).max()))
    return furthest


@both_depths
@both_directions
@pytest.mark.parametrize("name", [*GTEA_VARIANTS, "hybrid"])
def test_a_removal_is_the_score_of_a_store_without_these_rows(name: str, directed: bool, num_layers: int) -> None:
    rows = random_rows(num_layers)
    model = model_of(store_of(rows, directed=directed), small(name, num_layers=num_layers), features=ALL)
    assert check_pairs(rows, model, ["a00", "a03", "a11", "x1"], directed=directed) > 1e-3
