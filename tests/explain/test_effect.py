"""The effect of removal is the score of a store that was ingested without these rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.explain.worlds import CUT, among, between, model_of, random_rows, replayed, small, store_of
from tests.properties.graphs import Event

from gtea.config import FeaturesConfig, ModelConfig
from gtea.errors import StoreError
from gtea.explain.effect import EffectModel, Effects, Replay
from gtea.ingestion.ingest import ingest
from gtea.models.registry import GTEA_VARIANTS, model_config
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.store.without import events_between

both_directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
both_depths = pytest.mark.parametrize("num_layers", [1, 2])
ALL = FeaturesConfig(neighbour_labels=True, rank_inputs=True)


def effects_on(model: NodeModel | LinkModel, store: Store, account: str) -> Effects:
    assert isinstance(model, NodeModel)
    assert EffectModel.supports(model)
    return EffectModel(model, store.as_of(CUT)).effects_on(store.node(account))


def singles(effects: Effects) -> list[NDArray[np.int64]]:
    return list(np.arange(len(effects.partners))[:, None])


def check_pairs(rows: list[Event], model: NodeModel | LinkModel, accounts: list[str], **how: Any) -> float:
    """Returns how much removals change anything at all."""
    store, furthest = store_of(rows, **how), 0.0
    for account in accounts:
        effects = effects_on(model, store, account)
        one_by_one = singles(effects)
        everybody = np.arange(len(one_by_one))
        sets = [everybody[:0], *one_by_one, everybody[:2], everybody[::2]]
        found = effects.without(sets)
        for row, some in zip(found, sets, strict=True):
            others = {store.account(int(node)) for node in effects.partners[some]}
            np.testing.assert_allclose(
                row, replayed(rows, among(account, others), model, [account], **how), atol=1e-6, rtol=0
            )
        furthest = max(furthest, float(np.abs(found - found[0]).max()))
    return furthest


@both_depths
@both_directions
@pytest.mark.parametrize("name", [*GTEA_VARIANTS, "hybrid"])
def test_a_removal_is_the_score_of_a_store_without_these_rows(name: str, directed: bool, num_layers: int) -> None:
    rows = random_rows(num_layers)
    model = model_of(store_of(rows, directed=directed), small(name, num_layers=num_layers), features=ALL)
    assert check_pairs(rows, model, ["a00", "a03", "x1"], directed=directed) > 1e-3


@pytest.mark.parametrize("attention", ["sparsemax", "softmax", "entmax15"])
def test_every_normaliser_and_any_number_of_classes(attention: Any) -> None:
    rows = random_rows(5)
    model = model_of(store_of(rows), small("hybrid", attention=attention), features=ALL, num_classes=3)
    check_pairs(rows, model, ["a00", "a02", "a12"])


@both_directions
def test_stores_without_features_and_every_kind_of_node_feature(directed: bool) -> None:
    rows = random_rows(6)
    store = store_of(rows, directed=directed, features=False)
    kinds = FeaturesConfig(nodes=("statistics", "random", "rhythm"), d_random=3, recency=True, time_origin="calendar")
    model = model_of(store, small("gtea-l+t"), features=kinds, max_events=0)
    check_pairs(rows, model, ["a00", "a03", "x2"], directed=directed, features=False)


@both_depths
@both_directions
@pytest.mark.parametrize("name", ["gtea-tx+t", "hybrid"])
def test_removing_single_events(name: str, directed: bool, num_layers: int) -> None:
    """Half of a pair's events, each alone, and all of them; the counterparty reads the rest of its history."""
    rows = random_rows(num_layers + 7)
    store = store_of(rows, directed=directed)
    model = model_of(store, small(name, num_layers=num_layers), features=ALL)
    view = store.as_of(CUT)
    for account in ("a00", "a01", "a03", "x1"):
        effects = effects_on(model, store, account)
        slow = Replay(model, view, [store.node(account)])
        np.testing.assert_array_equal(slow.partners, effects.partners)
        for partner, node in enumerate(effects.partners):
            events = events_between(view, store.node(account), int(node))
            sets = [*events[:, None], events[::2], events]
            np.testing.assert_allclose(
                effects.without_events(partner, sets), slow.without_events(partner, sets), atol=1e-6, rtol=0
            )


@both_directions
def test_a_pair_of_a_link_model(directed: bool) -> None:
    rows = random_rows(3)
    store = store_of(rows, directed=directed)
    model = model_of(store, small("hybrid", num_layers=1, link_head="ordered_pair"), task="links")
    effects = Replay(model, store.as_of(CUT), [store.node("a00"), store.node("a05")])
    found = effects.without(singles(effects))
    for row, end, partner in zip(found, effects.ends, effects.partners, strict=True):
        gone = between(store.account(int(end)), store.account(int(partner)))
        truth = replayed(rows, gone, model, ["a00", "a05"], directed=directed)
        np.testing.assert_allclose(row, truth, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("model", "features"),
    [
        (small("gtea-l", num_layers=3), FeaturesConfig()),
        (small("gtea-l"), FeaturesConfig(nodes=("statistics", "partners"))),
        (model_config("strong-tree"), FeaturesConfig(neighbour_labels=True)),
    ],
    ids=["three layers", "partners", "trees"],
)
def test_other_models_are_replayed(model: ModelConfig, features: FeaturesConfig) -> None:
    rows = random_rows(4, 50)
    store = store_of(rows)
    ready = model_of(store, model, features=features)
    assert not EffectModel.supports(ready)
    effects = Replay(ready, store.as_of(CUT), [store.node("a00")])
    found = effects.without(singles(effects)[:4])
    for row, partner in zip(found, effects.partners, strict=False):
        truth = replayed(rows, between("a00", store.account(int(partner))), ready, ["a00"])
        np.testing.assert_allclose(row, truth, atol=1e-6, rtol=0)


def test_without_weights_attention_has_no_effect() -> None:
    """Neighbours of weight zero: along the attention path alone, removing them changes nothing."""
    rows = random_rows(2)
    store = store_of(rows)
    constant = FeaturesConfig(nodes=("random",), d_random=3)
    model = model_of(store, small("gtea-l+t"), features=constant)
    effects = EffectModel(model, store.as_of(CUT)).effects_on(store.node("a00"))  # type: ignore[arg-type]
    zero = np.flatnonzero(effects.weights == 0)
    assert 0 < len(zero) < len(effects.partners)
    base, *others, together = effects.without([zero[:0], *zero[:, None], zero])
    for row in (*others, together):
        np.testing.assert_allclose(row, base, atol=1e-12, rtol=0)
    counted = np.flatnonzero(effects.weights > 0)
    assert (np.abs(effects.without(list(counted[:, None])) - base).max(axis=1) > 1e-6).any()


@pytest.mark.slow
def test_a_removal_is_a_replay_on_real_data(data_folder: Path, tmp_path: Path) -> None:
    """Rows deleted from the table of ethereum_phishing, which is ingested again: for a quiet and a busier account."""
    table = pq.read_table(data_folder / "ethereum_phishing" / "transactions.parquet")

    def stored(rows: Any, name: str) -> Store:
        columns = {"src": "from", "dst": "to", "time": "timestamp", "features": ["value_eth", "has_call_data"]}
        ingest(rows, **columns, time_unit="s", self_loops="keep", out=tmp_path / name)  # type: ignore[arg-type]
        return Store.open(tmp_path / name)

    store = stored(table, "whole")
    cut = store.end
    model = model_of(store, model_config("hybrid"), features=FeaturesConfig(neighbour_labels=True), cut=cut)
    assert isinstance(model, NodeModel)
    ready, degree = EffectModel(model, store.as_of(cut)), np.diff(store.arrays.node_offset)
    for size in (3, 40):
        node = int(np.argmin(np.abs(degree - size)))
        effects, account = ready.effects_on(node), store.account(node)
        gone = np.argsort(-effects.weights)[:2]
        others = [store.account(int(other)) for other in effects.partners[gone]]
        sent, received = (
            pc.and_(pc.equal(table[one], account), pc.is_in(table[other], pc.cast(others, table[other].type)))
            for one, other in (("from", "to"), ("to", "from"))
        )
        left = stored(table.filter(pc.invert(pc.or_(sent, received))), f"without-{size}")
        truth = model.probabilities(left, cut, np.array([left.node(account)]))
        np.testing.assert_allclose(effects.without([gone]), truth, atol=1e-6, rtol=0)


def test_an_edge_that_one_end_does_not_have_is_damage() -> None:
    """Of a store that a stranger made: its digests fit, and its indices are in bounds."""
    store = store_of(random_rows(1))
    account = store.account(int(np.diff(store.arrays.node_offset).argmax()))
    effects = effects_on(model_of(store, small("gtea-l")), store, account)
    other, arrays = int(effects.partners[0]), store.arrays
    events = events_between(store.as_of(CUT), store.node(account), other)
    (edge,) = np.unique(np.searchsorted(arrays.edge_offset, events, side="right") - 1)
    slots = np.arange(*arrays.node_offset[other : other + 2])
    arrays.slot_edge.flags.writeable = True
    arrays.slot_edge[slots[arrays.slot_edge[slots] == edge]] = (edge + 1) % len(arrays.edge_a)
    with pytest.raises(StoreError, match="is damaged: slot_edge must have each edge at both of its ends"):
        effects.without_events(0, [events[:1]])
