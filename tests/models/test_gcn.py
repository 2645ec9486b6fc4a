"""GCN: the published equation, and PyG's layer on the whole graph."""

from __future__ import annotations

import numpy as np
import torch
from tests.models import naive
from tests.models.equations import assert_is_the_equation, every_depth, pyg
from tests.nn.examples import seeded
from tests.paper.agreement import both_precisions

from gtea.config import ModelConfig
from gtea.features.preprocessing import fit_preprocessing, input_spec
from gtea.models.gcn import GCN, GCNLayer
from gtea.sampling.collate import Collator
from gtea.store.memory import store_in_memory


@both_precisions
@every_depth
def test_it_is_the_published_equation(depth: int, dtype: torch.dtype) -> None:
    assert_is_the_equation(GCN, naive.gcn, depth, dtype)


def test_gcn_with_a_fan_out_for_all_is_the_gcn_of_the_whole_graph() -> None:
    conv = pyg()
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
        assert isinstance(layer, GCNLayer)
        rival = conv.GCNConv(layer.map.in_features, 4).double()
        with torch.no_grad():
            rival.lin.weight.copy_(layer.map.weight)
            rival.bias.copy_(layer.map.bias)
        h = rival(torch.relu(h) if depth else h, index)
    assert torch.allclose(network(batch), h, atol=1e-10)
