"""Exact embeddings of nodes: every neighbour of every neighbour, no sampling, no randomness.

An edge's embedding and attention logit don't depend on the layer (Algorithm 2), so each look at an edge is encoded
once, and then L layers run over all that the attention leaves. Asked about a few accounts, only what is within L hops
of them is touched; asked about all, that is the whole graph. What is held in memory: d_edge numbers for each look that
is left, and a few times d_node for each node.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.checkpoint import SavedModel
from gtea.config import RunConfig
from gtea.data.workbench import Progress, silent
from gtea.nn.model import GTEA
from gtea.nn.slots import Slots
from gtea.nn.whole_graph import aggregate_graph, attend_graph
from gtea.sampling.history_reader import HistoryReader
from gtea.sampling.node_features import NodeFeatures
from gtea.sampling.preprocessing import Preprocessing
from gtea.sampling.surroundings import Surroundings, surroundings
from gtea.scoring.edge_cache import EdgeCache, edge_cache
from gtea.scoring.edge_pass import EdgePass, EdgeRows
from gtea.scoring.way import Way
from gtea.store.view import View

_NODES_AT_A_TIME = 1 << 16


class ExactEmbedder:
    """Embeds nodes of one view with one model at rest."""

    def __init__(
        self,
        gtea: GTEA,
        view: View,
        preprocessing: Preprocessing,
        config: RunConfig,
        device: torch.device,
        *,
        cache: EdgeCache | None = None,
        progress: Progress = silent,
    ) -> None:
        self._gtea = gtea.eval()
        self._view = view
        self._device = device
        self._cache = cache
        self._progress = progress
        self._num_hops = config.model.num_layers
        self._reader = HistoryReader(view, preprocessing, config.sampling.max_events)
        self._features = NodeFeatures(view, preprocessing.nodes)
        self._edges = EdgePass(gtea.edge_encoder, self._reader, device, workers=min(1, config.train.workers))

    def embed(self, nodes: NDArray[np.int64]) -> Tensor:
        """Z [num_nodes, d_node] of some nodes, each named once, on the device."""
        around = surroundings(self._reader.graph, nodes, self._num_hops)
        slots, e_tilde = self._fresh(around) if self._cache is None else self._kept(around, self._cache)
        x = self._node_features(around.nodes).to(self._device, e_tilde.dtype)
        self._progress("aggregating", None)
        return aggregate_graph(self._gtea, x, e_tilde, slots, around.num_within)

    def _fresh(self, around: Surroundings) -> tuple[Slots, Tensor]:
        """Who is attended to, and the embeddings of these looks alone."""
        seen_from = around.seen_from
        slots = self._attend(around, self._edges.weigh(around.slot, seen_from, self._told("weighing edges")))
        left = slots.edge.numpy()
        e_tilde = self._edges.embed(around.slot[left], seen_from[left], self._told("encoding edges"))
        return dataclasses.replace(slots, edge=torch.arange(len(left))), e_tilde

    def _attend(self, around: Surroundings, alpha_tilde: Tensor) -> Slots:
        offset, neighbour = torch.from_numpy(around.offset), torch.from_numpy(around.neighbour)
        return attend_graph(self._gtea, alpha_tilde, offset, neighbour)

    def _told(self, stage: str) -> Callable[[float], None]:
        return lambda done: self._progress(stage, done)

    def _kept(self, around: Surroundings, cache: EdgeCache) -> tuple[Slots, Tensor]:
        """The same by way of the cache. Chunks that are missing are computed whole, for whoever asks next."""
        rows = EdgeRows.empty(len(around.slot), self._edges.encoder)
        order = np.argsort(around.slot, kind="stable")
        chunk = around.slot[order] // cache.chunk
        numbers, starts = np.unique(chunk, return_index=True)
        for i, (number, places) in enumerate(zip(numbers, np.split(order, starts[1:]), strict=True)):
            found = self._chunk(cache, int(number))
            here, there = torch.from_numpy(places), torch.from_numpy(around.slot[places] - number * cache.chunk)
            rows.e_tilde[here] = found.e_tilde[there]
            rows.alpha_tilde[here] = found.alpha_tilde[there]
            self._progress("encoding edges", (i + 1) / len(numbers))
        return self._attend(around, rows.alpha_tilde), rows.e_tilde

    def _chunk(self, cache: EdgeCache, number: int) -> EdgeRows:
        rows = cache.read(number)
        if rows is None:
            slots = np.asarray(cache.slots(number))
            node_offset = self._reader.graph.node_offset
            seen_from = np.searchsorted(node_offset, slots, side="right") - 1
            rows = self._edges.encode(slots, seen_from, lambda done: None)
            cache.write(number, rows)
        return rows

    def _node_features(self, nodes: NDArray[np.int64]) -> Tensor:
        """X of the nodes, a part at a time: raw statistics are wider and in float64."""
        x = np.empty((len(nodes), self._features.width), dtype=np.float32)
        for first in range(0, len(nodes), _NODES_AT_A_TIME):
            self._progress("describing accounts", first / len(nodes))
            some = slice(first, first + _NODES_AT_A_TIME)
            x[some] = self._features.compute(nodes[some])
        return torch.from_numpy(x)


def embed_exactly(
    gtea: GTEA,
    saved: SavedModel,
    preprocessing: Preprocessing,
    config: RunConfig,
    view: View,
    nodes: NDArray[np.int64],
    way: Way,
    device: torch.device,
) -> Tensor:
    """Z of some nodes, each named once; edges come from the cache, and go into it, if the way names one."""
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(edge_cache(way.cache, saved, view.store, view.cut)) if way.cache else None
        embedder = ExactEmbedder(gtea, view, preprocessing, config, device, cache=cache, progress=way.progress)
        return embedder.embed(nodes)
