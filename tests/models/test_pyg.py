"""Where PyG has the layer, ours computes the same: an independent opinion on the equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.models.examples import batch_with_degrees
from tests.nn.examples import seeded
from torch import nn

from gtea.config import ModelConfig
from gtea.features.preprocessing import fit_preprocessing, input_spec
from gtea.models.ecconv import ECConvLayer
from gtea.models.gat import GATLayer
from gtea.models.gcn import GCN
from gtea.models.graphsage import GraphSAGELayer
from gtea.models.layered import sampled_slots, self_and_neighbours
from gtea.sampling.collate import Collator
from gtea.store.memory import store_in_memory

conv = pytest.importorskip("torch_geometric.nn", reason="the extra [pyg] is not installed")
TARGETS = 7


@pytest.fixture
def sample():
    """A batch, its slots, and the same as an edge index from neighbours to targets."""
    batch = batch_with_degrees()
    slots = sampled_slots(batch, batch.node_features)
    return batch.node_features, slots, torch.stack([slots.neighbour, slots.target])


def test_graphsage(sample) -> None:
    x, slots, index = sample
    layer, rival = GraphSAGELayer(3, 4, seeded()).double(), conv.SAGEConv((3, 3), 4).double()
    with torch.no_grad():
        rival.lin_r.weight.copy_(layer.map.weight[:, :3])
        rival.lin_l.weight.copy_(layer.map.weight[:, 3:])
        rival.lin_l.bias.copy_(layer.map.bias)
    assert torch.allclose(layer(x[:TARGETS], x, slots, None), rival((x, x[:TARGETS]), index), atol=1e-12)


@pytest.mark.parametrize("last", [False, True])
def test_gat(sample, last: bool) -> None:
    x, slots, index = sample
    layer = GATLayer(3, 4, 2, last, seeded()).double()
    rival = conv.GATConv(3, layer.w.shape[2], heads=2, concat=not last, add_self_loops=False).double()
    with torch.no_grad():
        rival.lin.weight.copy_(layer.w.transpose(1, 2).reshape(-1, 3))
        rival.att_dst.copy_(layer.a_target[None])
        rival.att_src.copy_(layer.a_neighbour[None])
    itself = torch.arange(TARGETS).repeat(2, 1)
    answer = rival((x, x[:TARGETS]), torch.cat([index, itself], dim=1))
    assert torch.allclose(layer(x[:TARGETS], x, slots, self_and_neighbours(batch_with_degrees())), answer, atol=1e-12)


def test_ecconv(sample) -> None:
    x, slots, index = sample
    edges = torch.randn(14, 6, generator=seeded(3), dtype=torch.float64)
    layer = ECConvLayer(3, 6, 4, 5, seeded()).double()
    net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 12)).double()
    rival = conv.NNConv((3, 3), 4, net, aggr="mean").double()
    with torch.no_grad():
        net[0].load_state_dict(layer.into.state_dict())
        # PyG multiplies from the left: its matrices are ours turned over.
        net[2].weight.copy_(layer.filter.weight.view(4, 3, 5).transpose(0, 1).reshape(12, 5))
        net[2].bias.copy_(layer.filter.bias.view(4, 3).T.reshape(12))
        rival.lin.weight.copy_(layer.root.weight)
        rival.bias.copy_(layer.root.bias)
    answer = rival((x, x[:TARGETS]), index, edges[slots.edge])
    assert torch.allclose(layer(x[:TARGETS], x, slots, edges), answer, atol=1e-12)


def test_gcn_with_a_fan_out_for_all_is_the_gcn_of_the_whole_graph() -> None:
    chance = np.random.default_rng(0)
    pairs = {tuple(sorted(pair)) for pair in chance.integers(0, 30, (60, 2)).tolist() if pair[0] != pair[1]}
    src, dst = zip(*[(f"n{a:02}", f"n{b:02}") for a, b in sorted(pairs)], strict=True)
    store = store_in_memory(src, dst, np.arange(len(src)), features={"amount": chance.normal(size=len(src))})
    view = store.as_of()
    preprocessing = fit_preprocessing(view)
    batch = Collator(view, preprocessing, fanout=30, with_degrees=True).batch(np.arange(store.num_nodes))
    config = ModelConfig(family="gcn", d_node=4)
    network = GCN(config, input_spec(preprocessing), seeded()).double()
    a, b = (torch.from_numpy(np.asarray(end, dtype=np.int64)) for end in (store.arrays.edge_a, store.arrays.edge_b))
    index = torch.stack([torch.cat([a, b]), torch.cat([b, a])])
    h = batch.node_features.double()
    for depth, layer in enumerate(network.layers):
        rival = conv.GCNConv(layer.map.in_features, 4).double()
        with torch.no_grad():
            rival.lin.weight.copy_(layer.map.weight)
            rival.bias.copy_(layer.map.bias)
        h = rival(torch.relu(h) if depth else h, index)
    assert torch.allclose(network(batch), h, atol=1e-10)
