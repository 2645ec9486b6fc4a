from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gtea.config import FeaturesConfig
from gtea.config.run_config import NodeKind
from gtea.errors import ModelError
from gtea.features.account_statistics import statistic_names, statistics
from gtea.features.node_features import NodeFeatures, NodePreprocessing, random_vectors
from gtea.features.partner_statistics import PartnerStatistics
from gtea.features.preprocessing import fit_nodes
from gtea.features.rhythm_statistics import rhythm_statistics
from gtea.features.scaling import fit_columns
from gtea.store.account_keys import keys_of_accounts
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

SETTINGS = FeaturesConfig(d_random=6, recency=True)


def test_parts_stand_side_by_side_in_the_order_named(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    nodes = np.array([5, 2, 9])
    alone = [
        NodeFeatures(view, fit_nodes(view, [kind], SETTINGS)).rows(nodes) for kind in ("random", "given", "statistics")
    ]
    together = fit_nodes(view, ("random", "given", "statistics"), SETTINGS)
    rows = NodeFeatures(view, together).rows(nodes)
    assert rows.dtype == np.float32
    assert rows.tobytes() == np.concatenate(alone, axis=1).tobytes()
    assert rows.shape[1] == len(together.names) == 6 + 3 + len(statistic_names(view.store.features))
    assert together.names[:9] == (*(f"random_{i}" for i in range(6)), "age", "tier", "in_table")


@pytest.mark.parametrize("directed", [False, True])
def test_context_stands_behind_all_others_whatever_the_order_named(
    random_store: Callable[..., Store], directed: bool
) -> None:
    view = random_store(directed=directed).as_of(150)
    nodes = np.array([5, 2, 9])
    kinds: tuple[NodeKind, ...] = ("rhythm", "given", "partners", "random")
    fitted = fit_nodes(view, kinds, SETTINGS)
    assert fitted.kinds == ("given", "random", "rhythm", "partners")
    assert fitted.partners is not None
    assert fitted.rhythm is not None
    context = [
        fitted.rhythm.transform(rhythm_statistics(view, nodes)),
        fitted.partners.transform(PartnerStatistics(view).rows(nodes)),
    ]
    own = NodeFeatures(view, fit_nodes(view, ("given", "random"), SETTINGS)).rows(nodes)
    assert NodeFeatures(view, fitted).rows(nodes).tobytes() == np.concatenate([own, *context], axis=1).tobytes()
    assert fitted.names[: fitted.d_own] == ("age", "tier", "in_table", *(f"random_{i}" for i in range(6)))
    assert all(name.startswith(("rhythm_", "partner")) for name in fitted.names[fitted.d_own :])


def test_columns_of_context_are_found_by_name(random_store: Callable[..., Store]) -> None:
    """A store with more event columns, in another order, has the same statistics of those that the model knows."""
    view = random_store().as_of(150)
    fitted = fit_nodes(view, ("partners", "rhythm"))
    assert fitted.partners is not None
    chosen = fitted.partners.names[::-1][:5]
    places = [fitted.partners.names.index(name) for name in chosen]
    some = fit_columns(chosen, PartnerStatistics(view).rows(np.arange(31))[:, places])
    rows = NodeFeatures(view, replace(fitted, kinds=("partners",), partners=some)).rows(np.arange(31))
    np.testing.assert_array_equal(rows, some.transform(PartnerStatistics(view).rows(np.arange(31))[:, places]))


def test_an_account_without_a_row_in_the_table_is_marked(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    known, unknown = view.store.node("account-4"), view.store.node("account-5")
    scaler = fit_nodes(view, ["given"])
    rows = NodeFeatures(view, scaler).rows(np.array([known, unknown]))
    assert rows[1].tolist() == [0, 0, 0]
    assert rows[0, 2] == 1
    assert scaler.given is not None
    np.testing.assert_array_equal(rows[0, :2], scaler.given.transform(np.array([[2.0, 2.0]]))[0])


def test_statistics_are_scaled_and_kept(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    nodes = fit_nodes(view, ["statistics"], SETTINGS)
    features = NodeFeatures(view, nodes)
    assert nodes.statistics is not None
    wanted = nodes.statistics.transform(statistics(view, np.arange(31)))
    for chunk in ([0, 1, 2], [2, 1, 30], list(range(31))):
        assert features.rows(np.array(chunk)).tobytes() == wanted[chunk].tobytes()


def test_random_vectors_are_the_accounts(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    rows = NodeFeatures(view, fit_nodes(view, ["random"], FeaturesConfig(d_random=4))).rows(
        np.array([view.store.node("account-7")])
    )
    assert rows.tobytes() == random_vectors(keys_of_accounts(["account-7"]), 4).tobytes()


def test_preprocessing_survives_json(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    every: list[list[NodeKind]] = [
        ["given"],
        ["statistics", "random"],
        ["random", "given", "statistics"],
        ["statistics", "partners", "rhythm"],
    ]
    for kinds in every:
        nodes = fit_nodes(view, kinds)
        assert NodePreprocessing.from_json(json.loads(json.dumps(nodes.to_json()))) == nodes


def test_a_store_without_a_node_table_has_nothing_given(random_store: Callable[..., Store]) -> None:
    plain = store_in_memory(["a"], ["b"], [1])
    with pytest.raises(ModelError, match="node features: the store has no node table"):
        fit_nodes(plain.as_of(), ["given"])
    fitted = fit_nodes(random_store().as_of(150), ["given"])
    with pytest.raises(ModelError, match="node features: the store has no node table"):
        NodeFeatures(plain.as_of(), fitted)


@pytest.mark.parametrize(
    ("kind", "column"),
    [("statistics", "out_amount_sum"), ("partners", "partners_out_amount_mean"), ("rhythm", "rhythm_out_amount_rate")],
)
def test_a_store_with_other_event_columns_has_other_statistics(
    random_store: Callable[..., Store], kind: NodeKind, column: str
) -> None:
    fitted = fit_nodes(random_store().as_of(150), [kind])
    with pytest.raises(ModelError, match=f"statistics: the model needs {column}"):
        NodeFeatures(store_in_memory(["a"], ["b"], [1]).as_of(), fitted)
