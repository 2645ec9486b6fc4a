"""Exact embeddings of nodes: every neighbour of every neighbour, no sampling, no randomness.

An edge's embedding and attention logit don't depend on the layer (Algorithm 2), so each look at an edge is encoded
once, and then L layers run over all that the attention leaves. Asked about a few accounts, only what is within L hops
of them is touched; asked about all, that is the whole graph. Targets are taken in runs, each by one thread: its looks
are encoded, weighed, and what the attention discards is forgotten. What is held in memory: d_edge numbers for each look
that is left, and a few times d_node for each node. Where most edges are looked at from both ends and the embeddings of
all looks fit into memory, it is quicker to read each edge once for both of its ends, and to weigh afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.config import RunConfig
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import Preprocessing
from gtea.models.model_folder import SavedModel
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun, aggregate_graph, attend_all, attended_run
from gtea.nn.model import GTEA
from gtea.runtime.parallel import parallel_map
from gtea.runtime.progress import Progress, no_progress
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import FullSubgraph, full_subgraph, slots_by_edge
from gtea.scoring.edge_cache import EdgeCache, edge_cache
from gtea.scoring.edge_pass import EdgePass, EdgeRows
from gtea.scoring.options import ScoringOptions
from gtea.store.view import View

_NODES_AT_A_TIME = 1 << 14
_ROWS_AT_A_TIME = 1 << 13
_AT_HAND = 1 << 32
"""How many bytes of embeddings may be held before it is known which of them the attention leaves."""


class Embedded(NamedTuple):
    """What is known of some nodes, on the device."""

    z: Tensor  # [num_nodes, d_node]
    x: Tensor  # [num_nodes, d_node_features]


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
        progress: Progress = no_progress,
    ) -> None:
        self._gtea = gtea.eval()
        self._view = view
        self._device = device
        self._cache = cache
        self._progress = progress
        self._num_hops = config.model.num_layers
        self._reader = HistoryReader(view, preprocessing, config.sampling.max_events)
        self._features = NodeFeatures(view, preprocessing.nodes)
        self._edges = EdgePass(gtea.edge_encoder, self._reader, device)

    def embed(self, nodes: NDArray[np.int64]) -> Tensor:
        """Z [num_nodes, d_node] of some nodes, each named once, on the device."""
        return self.embed_with_features(nodes).z

    def embed_with_features(self, nodes: NDArray[np.int64]) -> Embedded:
        """Embeddings of some nodes, each named once, and the features that they were found to have."""
        around = full_subgraph(self._reader.graph, nodes, self._num_hops)
        if self._cache is not None:
            runs = self._kept(around, self._cache)
        elif self._in_pairs(around):
            runs = self._paired(around)
        else:
            runs = self._fresh(around)
        x = describe_nodes(self._features, around.nodes, self._progress).to(self._device, self._edges.encoder.a.dtype)
        self._progress("aggregating", None)
        return Embedded(aggregate_graph(self._gtea, x, runs, around.num_within), x[: len(nodes)])

    def _in_pairs(self, around: FullSubgraph) -> bool:
        """Whether to encode edge by edge: most are looked at from both ends, and all looks fit into memory."""
        encoder, num_slots = self._edges.encoder, len(around.slot)
        size = num_slots * encoder.d_edge * encoder.a.itemsize
        return num_slots > len(self._reader.graph.edge_a) and size <= _AT_HAND

    def _paired(self, around: FullSubgraph) -> list[AttendedRun]:
        """Whom each target attends to, each edge having been read once for both of its ends."""
        graph = self._reader.graph
        slot, seen_from = around.slots_of(range(len(around.offset) - 1))
        looks = slots_by_edge(graph.slot_edge[slot], len(graph.edge_a))
        rows = self._edges.encode_pairs(looks, seen_from, partial(self._progress, "encoding edges"))
        return self._weighed(around, rows)

    def _fresh(self, around: FullSubgraph) -> list[AttendedRun]:
        """Whom each target attends to, and the embeddings of these looks alone."""
        before = np.concatenate([[0], np.cumsum(self._edges.at_most(around.slot))])
        looks, events = np.diff(around.offset), np.diff(before[around.offset])
        runs = target_runs(looks, events, around.num_within, self._edges)
        large = (looks > self._edges.max_slots) | (events > self._edges.max_events)
        hubs, others = [run for run in runs if large[run.start]], [run for run in runs if not large[run.start]]
        made: list[AttendedRun] = []
        for run in parallel_map(partial(self._run, around), others, self._device):
            made.append(run)
            self._progress("encoding edges", len(made) / len(runs))
        for hub in hubs:
            made.append(self._hub(around, hub))
            self._progress("encoding edges", len(made) / len(runs))
        return sorted(made, key=lambda run: run.targets.start)

    def _run(self, around: FullSubgraph, targets: range) -> AttendedRun:
        rows = self._edges.encode_batch(*around.slots_of(targets))
        slots = self._attend(around, targets, rows.alpha_tilde)
        all_left = len(slots.edge) == len(rows.e_tilde)
        return attended_run(targets, slots, rows.e_tilde if all_left else rows.e_tilde.index_select(0, slots.edge))

    def _hub(self, around: FullSubgraph, target: range) -> AttendedRun:
        """One whose looks might fill the memory: weighed batch by batch, and only what is left is embedded."""
        slot, seen_from = around.slots_of(target)
        slots = self._attend(around, target, self._edges.weigh(slot, seen_from, _unheard))
        left = slots.edge.numpy()
        return attended_run(target, slots, self._edges.embed(slot[left], seen_from[left], _unheard))

    def _attend(self, around: FullSubgraph, targets: range, alpha_tilde: Tensor) -> Slots:
        offset = around.offset[targets.start : targets.stop + 1]
        neighbour = torch.from_numpy(around.neighbour[offset[0] : offset[-1]])
        return attend_all(self._gtea, alpha_tilde, torch.from_numpy(offset - offset[0]), neighbour)

    def _kept(self, around: FullSubgraph, cache: EdgeCache) -> list[AttendedRun]:
        """The same by options of the cache. Chunks that are missing are computed whole, for whoever asks next."""
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
        return self._weighed(around, rows)

    def _weighed(self, around: FullSubgraph, rows: EdgeRows) -> list[AttendedRun]:
        """Whom each target attends to, the rows of all looks being known. They are written over."""
        looks = np.diff(around.offset)
        runs = target_runs(looks, np.zeros_like(looks), around.num_within, self._edges)

        def attended(targets: range) -> AttendedRun:
            some = slice(around.offset[targets.start], around.offset[targets.stop])
            slots = self._attend(around, targets, rows.alpha_tilde[some])
            return attended_run(targets, slots, _moved_up(rows.e_tilde[some], slots.edge))

        return list(parallel_map(attended, runs, self._device))

    def _chunk(self, cache: EdgeCache, number: int) -> EdgeRows:
        rows = cache.read(number)
        if rows is None:
            slots = np.asarray(cache.slots(number))
            node_offset = self._reader.graph.node_offset
            seen_from = np.searchsorted(node_offset, slots, side="right") - 1
            rows = self._edges.encode(slots, seen_from, _unheard)
            cache.write(number, rows)
        return rows


def describe_nodes(features: NodeFeatures, nodes: NDArray[np.int64], progress: Progress = no_progress) -> Tensor:
    """X of the nodes, a part at a time: raw statistics are wider and in float64."""
    x = np.empty((len(nodes), features.width), dtype=np.float32)

    def describe(first: int) -> int:
        some = slice(first, first + _NODES_AT_A_TIME)
        x[some] = features.compute(nodes[some])
        return first

    for first in parallel_map(describe, range(0, len(nodes), _NODES_AT_A_TIME), torch.device("cpu")):
        progress("describing accounts", first / len(nodes))
    return torch.from_numpy(x)


def _moved_up(e_tilde: Tensor, left: Tensor) -> Tensor:
    """The rows that are left, in the place of those that are not: a hub's looks are not held twice."""
    kept = e_tilde[: len(left)]
    if len(left) < len(e_tilde):
        # A row only ever moves forward, so that what a part writes over has been read.
        for first in range(0, len(left), _ROWS_AT_A_TIME):
            some = slice(first, first + _ROWS_AT_A_TIME)
            kept[some] = e_tilde.index_select(0, left[some])
    return kept


def _unheard(done: float) -> None:
    """For parts of a whole whose progress is told already."""


def target_runs(
    looks: NDArray[np.int64], events: NDArray[np.int64], num_within: Sequence[int], limits: EdgePass
) -> list[range]:
    """Targets in runs that are within the limits of a batch, or a single target; none goes across ``num_within``."""
    slots_before, events_before = (np.concatenate([[0], np.cumsum(each)]) for each in (looks, events))
    runs = []
    first = 0
    for end in sorted(set(num_within[:-1])):
        while first < end:
            by_slots = np.searchsorted(slots_before, slots_before[first] + limits.max_slots, side="right") - 1
            by_events = np.searchsorted(events_before, events_before[first] + limits.max_events, side="right") - 1
            last = min(max(int(min(by_slots, by_events)), first + 1), end)
            runs.append(range(first, last))
            first = last
    return runs


def embed_exactly(
    gtea: GTEA,
    saved: SavedModel,
    preprocessing: Preprocessing,
    config: RunConfig,
    view: View,
    nodes: NDArray[np.int64],
    options: ScoringOptions,
    device: torch.device,
) -> Embedded:
    """Z and x of some nodes, each named once; edges come from the cache, and go into it, if the options names one."""
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(edge_cache(options.cache, saved, view.store, view.cut)) if options.cache else None
        embedder = ExactEmbedder(gtea, view, preprocessing, config, device, cache=cache, progress=options.progress)
        return embedder.embed_with_features(nodes)
