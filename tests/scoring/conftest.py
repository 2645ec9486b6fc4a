"""Small stores with everything that can go wrong in them, untrained models, and scoring by the book."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gtea.config import FeaturesConfig, ModelConfig, RunConfig, SamplingConfig
from gtea.config.run_config import NodeKind
from gtea.features.preprocessing import Preprocessing, fit_preprocessing, input_spec
from gtea.nn.model import GTEA
from gtea.sampling.collate import Collator
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View

CUT = 150


@pytest.fixture(scope="session")
def make_store() -> Callable[..., Store]:
    """Hubs, self-loops, ties in time, accounts nobody met, accounts that come after the cut, long histories."""

    def make(seed: int = 0, *, directed: bool = False, num_events: int = 260, one_way: bool = False) -> Store:
        generator = np.random.default_rng(seed)
        names = [f"account-{i}" for i in range(14)]
        src = (14 * generator.random(num_events) ** 2).astype(int)
        dst = generator.integers(0, 14, num_events)
        if one_way:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        times = generator.integers(0, 200, num_events)
        late = [("late-a", "late-b", 160), ("late-a", "account-3", 170), ("account-5", "late-b", CUT)]
        loops = [("account-7", "account-7", 10), ("account-7", "account-7", 20), ("loner", "loner", 30)]
        rows = [(names[s], names[d], int(t)) for s, d, t in zip(src, dst, times, strict=True)] + late + loops
        return store_in_memory(
            [row[0] for row in rows],
            [row[1] for row in rows],
            [row[2] for row in rows],
            features={"amount": generator.lognormal(3, 2, len(rows))},
            categorical={"kind": [["card", "cash"][i] for i in generator.integers(0, 2, len(rows))]},
            nodes={"nobody": [1.0], "account-1": [2.0]},
            node_features=["age"],
            directed=directed,
        )

    return make


@dataclasses.dataclass(frozen=True)
class Case:
    """A view, what was learnt from it, and an untrained model whose attention has something to discard."""

    view: View
    preprocessing: Preprocessing
    config: RunConfig
    gtea: GTEA

    def whole_batch(self) -> Any:
        """All nodes with all their neighbours, as the sampler hands them over if it needn't choose."""
        return self.collator().batch(np.arange(self.view.store.num_nodes))

    def collator(self) -> Collator:
        fanout = int(np.diff(self.view.store.arrays.node_offset).max())
        layers, most = self.config.model.num_layers, self.config.sampling.max_events
        return Collator(self.view, self.preprocessing, fanout=fanout, num_layers=layers, max_events=most)


@pytest.fixture(scope="session")
def case_of() -> Callable[..., Case]:
    def make(store: Store, model: ModelConfig, *, cut: int = CUT, max_events: int = 5) -> Case:
        view = store.as_of(cut)
        kinds: tuple[NodeKind, ...] = (
            ("statistics", "random") if store.node_features is None else ("given", "statistics", "random")
        )
        preprocessing = fit_preprocessing(view, FeaturesConfig(d_random=3), kinds=kinds)
        gtea = GTEA(model, input_spec(preprocessing), torch.Generator().manual_seed(3))
        with torch.no_grad():
            gtea.edge_encoder.a.mul_(10)
        config = RunConfig(model=model, sampling=SamplingConfig(max_events=max_events))
        return Case(view, preprocessing, config, gtea)

    return make
