"""Exact embeddings: the paper's loop over all neighbours, for every model, every store and any part of the graph."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paper import naive

from gtea.config import ModelConfig
from gtea.errors import UsageError
from gtea.models.registry import GTEA_VARIANTS, model_config
from gtea.nn.full_graph import AttendedRun, Run, aggregate_graph
from gtea.nn.model import GTEA
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import full_subgraph
from gtea.scoring.descriptions import Descriptions
from gtea.scoring.edge_pass import EdgePass, batch_starts
from gtea.scoring.exact import ExactEmbedder
from gtea.scoring.options import Grain
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

CPU = torch.device("cpu")
SMALL: dict[str, Any] = {"d_node": 6, "d_edge": 8, "d_time": 5, "d_mlp": 7}
every_variant = pytest.mark.parametrize("name", GTEA_VARIANTS)
every_attention = pytest.mark.parametrize("attention", ["sparsemax", "softmax", "entmax15"])
both_directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])


def small(name: str = "gtea-l+t", **changes: Any) -> ModelConfig:
    return dataclasses.replace(model_config(name), **SMALL, **changes)


def embedder(case: Any) -> ExactEmbedder:
    return ExactEmbedder(case.gtea, case.view, case.preprocessing, case.config, CPU)


def exact(case: Any, nodes: Any = None) -> torch.Tensor:
    return embedder(case).embed(np.arange(case.view.store.num_nodes) if nodes is None else np.asarray(nodes))


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@both_directions
@every_attention
@every_variant
def test_it_is_the_batch_of_all_nodes_with_all_neighbours(
    make_store: Any, case_of: Any, name: str, attention: str, directed: bool, num_layers: int
) -> None:
    case = case_of(make_store(directed=directed), small(name, attention=attention, num_layers=num_layers))
    with torch.no_grad():
        torch.testing.assert_close(exact(case), case.gtea(case.whole_batch()), atol=1e-5, rtol=0)


@every_attention
@every_variant
def test_it_is_the_papers_loop(make_store: Any, case_of: Any, name: str, attention: str) -> None:
    case = case_of(make_store(num_events=60), small(name, attention=attention))
    agrees_with_the_loop(case, attention)


@pytest.mark.parametrize("num_layers", [1, 3])
@both_directions
def test_it_is_the_papers_loop_at_every_depth(make_store: Any, case_of: Any, directed: bool, num_layers: int) -> None:
    # The loop names a neighbour by its node: pairs that pay both ways would be two in a directed store.
    case = case_of(make_store(num_events=60, directed=directed, one_way=True), small(num_layers=num_layers))
    agrees_with_the_loop(case, "sparsemax")


def agrees_with_the_loop(case: Any, attention: str) -> None:
    graph, x = naive.graph_of(case.whole_batch())
    graph = {u: [(v, [(t.double(), f.double()) for t, f in events]) for v, events in of] for u, of in graph.items()}
    with torch.no_grad():
        slow = torch.stack(naive.gtea(copy.deepcopy(case.gtea).double(), graph, [row.double() for row in x], attention))
    worst = float((exact(case).double() - slow).abs().max())
    assert worst <= 1e-5 * max(1.0, float(slow.abs().max()))


def test_the_example_has_what_can_go_wrong(make_store: Any, case_of: Any) -> None:
    store = make_store()
    view = store.as_of(150)
    degrees = {store.account(node): view.degree(node) for node in range(store.num_nodes)}
    assert degrees["nobody"] == degrees["late-a"] == degrees["late-b"] == 0
    assert degrees["loner"] == 1
    assert store.node("account-7") in view.neighbours("account-7").nodes
    case = case_of(store, small())
    assert max(np.diff(store.arrays.edge_offset)) > 5
    alpha = case.gtea.embed(case.whole_batch()).alpha
    assert (alpha[case.whole_batch().edge >= 0] == 0).any()


@both_directions
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_a_few_accounts_get_what_they_get_among_all(
    make_store: Any, case_of: Any, directed: bool, num_layers: int
) -> None:
    case = case_of(make_store(directed=directed, num_events=40), small(num_layers=num_layers))
    everybody = exact(case)
    for nodes in ([3], [9, 2], [store_node(case, "nobody")], [store_node(case, "loner"), 9]):
        torch.testing.assert_close(exact(case, nodes), everybody[nodes], atol=1e-6, rtol=0)


def store_node(case: Any, account: str) -> int:
    return int(case.view.store.node(account))


def test_a_few_accounts_cost_their_surroundings_only(case_of: Any) -> None:
    """A chain of a hundred: two hops around one account are six of 198 looks."""
    names = [f"n{i:03d}" for i in range(100)]
    store = store_in_memory(names[:-1], names[1:], np.arange(99), features={"x": np.ones(99)})
    case = case_of(store, small())
    around = full_subgraph(HistoryReader(case.view, case.preprocessing, 0).graph, np.array([50]), 2)
    assert around.num_within == (1, 3, 5)
    assert sorted(around.nodes.tolist()) == [48, 49, 50, 51, 52]
    assert len(around.slot) == 2 + 4
    assert exact(case, [50]).shape == (1, 6)


@both_directions
@every_variant
def test_blocks_and_pieces_of_any_size_change_rounding_only(
    make_store: Any, case_of: Any, monkeypatch: pytest.MonkeyPatch, name: str, directed: bool
) -> None:
    """Accounts that deal with themselves, edges beyond the cut, and hubs of several pieces."""
    case = case_of(make_store(directed=directed), small(name))
    expected = exact(case)
    monkeypatch.setattr("gtea.scoring.exact.EdgePass", functools.partial(EdgePass, max_slots=4, max_events=9))
    for grain in (Grain(3, 2), Grain(1, 5), Grain(5, 100)):
        made = ExactEmbedder(case.gtea, case.view, case.preprocessing, case.config, CPU, grain=grain)
        torch.testing.assert_close(made.embed(np.arange(case.view.store.num_nodes)), expected, atol=1e-6, rtol=0)


def test_most_accounts_get_the_bytes_that_they_get_among_all(make_store: Any, case_of: Any) -> None:
    case = case_of(make_store(), small())
    most = np.array([13, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert torch.equal(exact(case, most), exact(case)[most])


def test_the_number_of_threads_changes_no_byte(make_store: Any, case_of: Any) -> None:
    case, made = case_of(make_store(), small()), []
    before = torch.get_num_threads()
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        made.append((exact(case), exact(case, [3, 9])))
    torch.set_num_threads(before)
    for everybody, some in made[1:]:
        assert torch.equal(everybody, made[0][0])
        assert torch.equal(some, made[0][1])


def test_what_the_attention_discards_is_not_embedded(make_store: Any, case_of: Any) -> None:
    case = case_of(make_store(), small())
    around = full_subgraph(HistoryReader(case.view, case.preprocessing, 5).graph, np.arange(14), 2)
    runs = [run for run in embedder(case)._slot_by_slot(around, hop=0) if isinstance(run, AttendedRun)]
    assert all(len(run.e_tilde) == len(run.slots.alpha) for run in runs)
    assert sum(len(run.e_tilde) for run in runs) < len(around.slot)
    assert all((run.slots.alpha > 0).all() for run in runs)


def test_the_same_question_has_the_same_answer_to_the_byte(make_store: Any, case_of: Any) -> None:
    case = case_of(make_store(), small())
    assert torch.equal(exact(case), exact(case))
    assert torch.equal(embedder(case).embed(np.arange(5)), embedder(case).embed(np.arange(5)))


@every_variant
def test_the_size_of_batches_and_parts_changes_rounding_only(
    make_store: Any, case_of: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case = case_of(make_store(), small(name))
    expected = exact(case)
    around = full_subgraph(HistoryReader(case.view, case.preprocessing, 5).graph, np.arange(14), 2)
    reader = HistoryReader(case.view, case.preprocessing, 5)
    looks = around.slots_of(range(len(around.offset) - 1))
    large = EdgePass(case.gtea.edge_encoder, reader, CPU).encode(*looks, print)
    for max_slots, max_events, part in ((1, 1, 1), (7, 20, 3), (1000, 9, 5)):
        tiny = EdgePass(case.gtea.edge_encoder, reader, CPU, max_slots=max_slots, max_events=max_events)
        rows = tiny.encode(*looks, lambda done: None)
        torch.testing.assert_close(rows.e_tilde, large.e_tilde, atol=1e-6, rtol=0)
        monkeypatch.setattr("gtea.nn.full_graph.aggregate_graph.__kwdefaults__", {"part": part})
        monkeypatch.setattr("gtea.scoring.exact.EdgePass", lambda *given, tiny=tiny: tiny)
        torch.testing.assert_close(exact(case), expected, atol=1e-6, rtol=0)


def test_no_batch_holds_more_events_than_it_may(make_store: Any, case_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a hub's, whatever its histories are long: only a single history may be longer."""
    case = case_of(make_store(), small())
    expected, read, sizes = exact(case), HistoryReader.read, []

    def counted(reader: HistoryReader, edges: Any, seen_from: Any) -> Any:
        histories = read(reader, edges, seen_from)
        sizes.append((histories.num_edges, histories.num_events))
        return histories

    monkeypatch.setattr(HistoryReader, "read", counted)
    limits: dict[str, Any] = {"max_slots": 1000, "max_events": 9}
    monkeypatch.setattr("gtea.scoring.exact.EdgePass", functools.partial(EdgePass, **limits))
    torch.testing.assert_close(exact(case), expected, atol=1e-6, rtol=0)
    assert len(sizes) > 10
    assert all(num_events <= 9 or num_edges == 1 for num_edges, num_events in sizes)


@settings(deadline=None, max_examples=15)
@given(
    nodes=st.sets(st.integers(0, 13), min_size=1, max_size=4),
    max_slots=st.integers(1, 9),
    max_events=st.integers(1, 30),
    attention=st.sampled_from(["sparsemax", "softmax"]),
    num_layers=st.integers(1, 3),
    directed=st.booleans(),
)
def test_the_size_of_parts_changes_rounding_only_for_a_few_accounts(
    make_store: Any, case_of: Any, nodes: set[int], max_slots: int, max_events: int, attention: str,
    num_layers: int, directed: bool,
) -> None:  # fmt: skip
    case = case_of(make_store(directed=directed), small(attention=attention, num_layers=num_layers))
    with pytest.MonkeyPatch.context() as patch:
        tiny = functools.partial(EdgePass, max_slots=max_slots, max_events=max_events)
        patch.setattr("gtea.scoring.exact.EdgePass", tiny)
        in_parts = exact(case, sorted(nodes))
    torch.testing.assert_close(in_parts, exact(case, sorted(nodes)), atol=1e-6, rtol=0)
    torch.testing.assert_close(in_parts, exact(case)[sorted(nodes)], atol=1e-6, rtol=0)


@pytest.mark.parametrize("attention", ["sparsemax", "softmax"])
def test_two_accounts_beside_a_hub_hold_nothing_of_its_other_neighbours(
    case_of: Any, monkeypatch: pytest.MonkeyPatch, attention: str
) -> None:
    """Whatever the attention: 3,000 neighbours are read and described ten at a time, and three nodes are kept."""
    size, limit = 3000, 10
    store = hub_of(size)
    case = case_of(store, small(attention=attention, num_layers=2), cut=1000)
    nodes = np.array([store.node("n000007"), store.node("n001234")])
    expected, read, rows = exact(case, nodes), HistoryReader.read, Descriptions.rows
    parts: list[int] = []
    kept: list[int] = []

    def read_counted(reader: HistoryReader, edges: Any, seen_from: Any) -> Any:
        parts.append(len(edges))
        return read(reader, edges, seen_from)

    def rows_counted(descriptions: Descriptions, nodes: Any) -> Any:
        parts.append(len(nodes))
        return rows(descriptions, nodes)

    def aggregate_counted(gtea: GTEA, x: torch.Tensor, runs: list[Run], num_within: Any) -> torch.Tensor:
        kept.extend([len(x), *(len(run.e_tilde) for run in runs if isinstance(run, AttendedRun))])
        return aggregate_graph(gtea, x, runs, num_within)

    monkeypatch.setattr(HistoryReader, "read", read_counted)
    monkeypatch.setattr(Descriptions, "rows", rows_counted)
    monkeypatch.setattr("gtea.scoring.exact.aggregate_graph", aggregate_counted)
    monkeypatch.setattr("gtea.scoring.exact.EdgePass", functools.partial(EdgePass, max_slots=limit))
    torch.testing.assert_close(exact(case, nodes), expected, atol=1e-6, rtol=0)
    assert sum(parts) >= size
    assert max(parts) == limit
    assert kept == [3, 2]


def test_accounts_of_weight_zero_are_not_followed(make_store: Any, case_of: Any) -> None:
    case = case_of(make_store(), small(num_layers=3))
    around = full_subgraph(HistoryReader(case.view, case.preprocessing, 5).graph, np.array([9]), 2)
    nodes, num_within, _ = embedder(case)._outwards(np.array([9]))
    assert set(nodes) < set(around.nodes)
    assert len(nodes) == num_within[2] == num_within[3] < around.num_within[2]


def test_batches_are_bounded_by_looks_and_events_and_leave_nothing_out() -> None:
    lengths = np.random.default_rng(0).geometric(0.2, 500)
    lengths[77] = 1000
    starts = batch_starts(lengths, 20, 50)
    assert starts[0] == 0
    assert starts[-1] == 500
    assert (np.diff(starts) >= 1).all()
    assert np.diff(starts).max() <= 20
    events = np.add.reduceat(lengths, starts[:-1])
    assert events[(np.diff(starts) > 1)].max() <= 50
    assert batch_starts(np.zeros(0, dtype=np.int64), 20, 50).tolist() == [0]


@pytest.mark.parametrize("attention", ["sparsemax", "softmax"])
def test_a_hub_with_200_000_neighbours(case_of: Any, attention: str) -> None:
    store = hub_of(200_000)
    case = case_of(store, small("gtea-he", attention=attention, num_layers=2), cut=1000)
    hub = store.node("hub")
    z = exact(case, [hub])
    assert z.isfinite().all()
    double = dataclasses.replace(case, gtea=copy.deepcopy(case.gtea).double())
    torch.testing.assert_close(z.double(), exact(double, [hub]), atol=1e-5, rtol=1e-5)
    # Through one neighbour the whole hub is within two hops.
    torch.testing.assert_close(exact(case, [store.node("n000123"), hub])[1:], z, atol=1e-5, rtol=1e-5)


def hub_of(size: int) -> Store:
    generator = np.random.default_rng(0)
    return store_in_memory(
        ["hub"] * size, [f"n{i:06d}" for i in range(size)], generator.integers(0, 1000, size),
        features={"x": generator.normal(size=size)},
    )  # fmt: skip


@both_directions
def test_the_future_changes_nothing(make_store: Any, case_of: Any, directed: bool) -> None:
    """Everything at or after the cut is dropped, and accounts are left with the numbers they had."""
    with_future = make_store(directed=directed)
    arrays = with_future.arrays
    edge = np.repeat(np.arange(with_future.num_edges), np.diff(arrays.edge_offset))
    past = np.flatnonzero(arrays.event_time < 150)
    flip = arrays.event_reverse[past] == 1
    a, b = arrays.edge_a[edge[past]], arrays.edge_b[edge[past]]
    names = [with_future.account(i) for i in range(with_future.num_nodes)]
    without = store_in_memory(
        [names[i] for i in np.where(flip, b, a)],
        [names[i] for i in np.where(flip, a, b)],
        arrays.event_time[past],
        features={"amount": arrays.event_features[past, 0]},
        categorical={"kind": [with_future.vocabularies[0][int(i)] for i in arrays.event_categories[past, 0]]},
        nodes={name: [float(x) for x in with_future.node_features[i]] for i, name in enumerate(names)
               if with_future.node_in_table[i]} | {name: [9.0] for name in ("late-a", "late-b")},
        node_features=["age"],
        directed=directed,
    )  # fmt: skip
    assert without.num_events < with_future.num_events
    case = case_of(with_future, small())
    other = dataclasses.replace(case, view=without.as_of(150))
    known = [i for i, name in enumerate(names) if not name.startswith("late")]
    assert torch.equal(exact(case)[known], exact(other)[known])


def test_a_node_named_twice_is_refused(make_store: Any, case_of: Any) -> None:
    with pytest.raises(UsageError, match="nodes: must be distinct"):
        exact(case_of(make_store(), small()), [1, 2, 1])
