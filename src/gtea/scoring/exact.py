"""Exact embeddings of nodes: every neighbour of every neighbour, no sampling, no randomness.

An edge's embedding and attention logit do not depend on the layer (Algorithm 2). So each slot is encoded once, and then
L layers run over the slots to which attention gives a weight.

If most accounts are requested, all accounts are embedded, block by block (``gtea.scoring.account_blocks``). Else the
search goes outwards from the requested accounts, hop by hop, and follows only the neighbours to which attention gives a
weight: whatever lies beyond the others is multiplied by zero. Targets are processed in runs, each by one thread: its
slots are encoded and weighed, and those of weight zero are dropped. Accounts L hops away are read by the first layer
alone, so the outermost targets are summed up at once, a batch at a time, and nothing of their neighbours is kept.
Memory holds d_edge numbers for each slot within L - 1 hops that is left, a few times d_node for each node there, and
some numbers per slot while a hub is weighed.

Nothing at or after the cut may decide anything, not even how accounts are grouped: another grouping can change the last
bit of a sum. Accounts without an event before the cut are therefore embedded apart from the others, in blocks of a
fixed size. How many of them there are depends on what came later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.config import RunConfig
from gtea.errors import UsageError
from gtea.features.node_features import Statistics
from gtea.features.preprocessing import Preprocessing
from gtea.models.model_folder import SavedModel
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun, Run, SummedRun, aggregate_graph, attend_all, attended_run, sum_first_layer
from gtea.nn.model import GTEA
from gtea.runtime.parallel import parallel_map
from gtea.runtime.progress import Progress, no_progress
from gtea.sampling.collate import HistoryReader
from gtea.sampling.subgraph import FullSubgraph, full_subgraph
from gtea.scoring.account_blocks import (
    AccountBlocks,
    ActiveAccounts,
    block_starts,
    is_most,
    renumbered,
    target_runs,
)
from gtea.scoring.attended_subgraph import AttendedSubgraph
from gtea.scoring.descriptions import Descriptions
from gtea.scoring.edge_cache import EdgeCache, edge_cache
from gtea.scoring.edge_pass import EdgePass, EdgeRows, batch_starts
from gtea.scoring.options import EXACT, Grain, ScoringOptions
from gtea.store.view import View

_ROWS_AT_A_TIME = 1 << 13
_ROWS_TO_ANSWER = 1 << 14
_ISOLATED_BLOCK = 256
"""Accounts without an event before the cut are embedded in blocks of this size."""
_Finish = Callable[[AttendedRun], Run]
"""What becomes of a run as soon as it is attended."""


class Embedded(NamedTuple):
    """Some nodes, on the device."""

    z: Tensor  # [num_nodes, d_node]
    x: Tensor  # [num_nodes, d_node_features]
    starts: NDArray[np.int64]
    """Where each block of rows starts that the head must answer at once, and last the number of rows."""
    fill_up: int = 0
    """To how many rows a block is filled up before the head answers; 0 if it is answered as it is."""


class ExactEmbedder:
    """Embeds nodes of one view with one network in eval mode."""

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
        grain: Grain = EXACT.grain,
        partners: Statistics | None = None,
    ) -> None:
        """Prepare to embed.

        Args:
            partners: What computes raw partner statistics of nodes; None reads them from the view.
        """
        self._gtea = gtea.eval()
        self._view = view
        self._device = device
        self._cache = cache
        self._progress = progress
        self._grain = grain
        self._num_hops = config.model.num_layers
        self._reader = HistoryReader(view, preprocessing, config.sampling.max_events)
        self._descriptions = Descriptions(view, preprocessing, partners)
        self._edges = EdgePass(gtea.edge_encoder, self._reader, device)

    def embed(self, nodes: NDArray[np.int64]) -> Tensor:
        """Z [num_nodes, d_node] of some nodes, each named once, on the device."""
        return self.embed_with_features(nodes).z

    def embed_with_features(self, nodes: NDArray[np.int64]) -> Embedded:
        """Embeddings and features of some nodes, each named once."""
        if len(np.unique(nodes)) < len(nodes):
            raise UsageError("nodes: must be distinct. Use numpy.unique with return_inverse=True.")
        active = self._view.has_events(nodes)
        if active.all():
            return self._embed_active(nodes)
        if not active.any():
            return self.embed_isolated(nodes)
        parts = [self._embed_active(nodes[active]), self.embed_isolated(nodes[~active])]
        order = torch.from_numpy(np.argsort(np.argsort(~active, kind="stable"), kind="stable")).to(self._device)
        z, x = (torch.cat(columns)[order] for columns in ([each.z for each in parts], [each.x for each in parts]))
        return Embedded(z, x, _starts(len(nodes), _ROWS_TO_ANSWER))

    def _embed_active(self, nodes: NDArray[np.int64]) -> Embedded:
        if self._cache is None:
            everybody = ActiveAccounts.of(self._view, np.arange(self._view.store.num_nodes))
            if is_most(len(nodes), len(everybody.nodes)):
                return self._embed_all(everybody, nodes)
        reached, num_within, runs = self._outwards(nodes)
        x = self._describe(reached)
        self._progress("aggregating", None)
        z = aggregate_graph(self._gtea, x, runs, num_within)
        return Embedded(z, x[: len(nodes)], _starts(len(nodes), _ROWS_TO_ANSWER))

    def _embed_all(self, everybody: ActiveAccounts, nodes: NDArray[np.int64]) -> Embedded:
        """Embed all active accounts in blocks, whichever of them are requested: then the bytes are always the same."""
        blocks = AccountBlocks(self._gtea, self._edges, self._reader.graph, self._grain)
        place = np.zeros(self._view.store.num_nodes, dtype=np.int32)
        place[everybody.nodes] = np.arange(len(everybody.nodes))
        runs = blocks.runs(everybody, partial(self._progress, "encoding edges"))
        local = [renumbered(run, place) for run in runs]
        x = self._describe(everybody.nodes)
        self._progress("aggregating", None)
        z = aggregate_graph(self._gtea, x, local, [len(x)] * (self._num_hops + 1), block=self._grain.accounts)
        rows = place[nodes].astype(np.int64)
        chosen = torch.from_numpy(rows).to(self._device)
        return Embedded(z[chosen], x[chosen], block_starts(rows, self._grain))

    def _outwards(self, seeds: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[int, ...], list[Run]]:
        """The nodes that attention reaches, their ``num_within``, and their runs.

        There are no nodes L hops away: those are summed up.
        """
        subgraph, runs = AttendedSubgraph(len(self._reader.graph.node_offset) - 1, seeds), list[Run]()
        for hop in range(self._num_hops):
            ring = full_subgraph(self._reader.graph, subgraph.ring, 1)
            attended = self._from_cache(ring, hop, self._cache) if self._cache else self._slot_by_slot(ring, hop)
            runs += subgraph.follow(ring, attended)
        return subgraph.nodes, subgraph.num_within, runs

    def embed_isolated(self, nodes: NDArray[np.int64]) -> Embedded:
        """Embed nodes without neighbours, in blocks that are filled up by repeating a node."""
        padded = np.resize(nodes, -(-len(nodes) // _ISOLATED_BLOCK) * _ISOLATED_BLOCK)
        x = self._describe(padded)
        none = torch.empty(0, dtype=torch.int64)
        slots = Slots(none, none, none, torch.empty(0, dtype=x.dtype))
        run = attended_run(range(_ISOLATED_BLOCK), slots, torch.empty(0, self._edges.encoder.d_edge, dtype=x.dtype))
        within = [_ISOLATED_BLOCK] * (self._num_hops + 1)
        blocks = range(0, len(padded), _ISOLATED_BLOCK)
        z = [aggregate_graph(self._gtea, x[first : first + _ISOLATED_BLOCK], [run], within) for first in blocks]
        return Embedded(
            torch.cat(z)[: len(nodes)], x[: len(nodes)], _starts(len(nodes), _ISOLATED_BLOCK), _ISOLATED_BLOCK
        )

    def _describe(self, nodes: NDArray[np.int64]) -> Tensor:
        return self._on_device(self._descriptions.table(nodes, self._progress))

    def _on_device(self, x: Tensor) -> Tensor:
        return x.to(self._device, self._edges.encoder.a.dtype)

    def _slot_by_slot(self, subgraph: FullSubgraph, hop: int) -> list[Run]:
        """The attended slots of each target, which are ``hop`` hops away; only their encodings are kept."""
        before = np.concatenate([[0], np.cumsum(self._edges.num_events(subgraph.slot))])
        slots, events = np.diff(subgraph.offset), np.diff(before[subgraph.offset])
        runs = target_runs(slots, events, subgraph.num_within[:-1], *self._limits)
        large = (slots > self._edges.max_slots) | (events > self._edges.max_events)
        hubs, others = [run for run in runs if large[run.start]], [run for run in runs if not large[run.start]]
        done: list[Run] = []
        for run in parallel_map(partial(self._run, subgraph, self._finish(subgraph, hop)), others, self._device):
            done.append(run)
            self._report(hop, len(done) / len(runs))
        for hub in hubs:
            done.append(self._hub(subgraph, hub, hop))
            self._report(hop, len(done) / len(runs))
        return sorted(done, key=lambda run: run.targets.start)

    @property
    def _limits(self) -> tuple[int, int]:
        return self._edges.max_slots, self._edges.max_events

    def _run(self, subgraph: FullSubgraph, finish: _Finish, targets: range) -> Run:
        rows = self._edges.encode_batch(*subgraph.slots_of(targets))
        slots = self._attend(subgraph, targets, rows.alpha_tilde)
        all_left = len(slots.edge) == len(rows.e_tilde)
        e_tilde = rows.e_tilde if all_left else rows.e_tilde.index_select(0, slots.edge)
        return finish(attended_run(targets, slots, e_tilde))

    def _hub(self, subgraph: FullSubgraph, target: range, hop: int) -> Run:
        """A target whose encodings might fill the memory: weigh in batches, then embed only what is left.

        If only the first layer updates it, each batch is summed up as soon as it is embedded.
        """
        slot, seen_from = subgraph.slots_of(target)
        slots = self._attend(subgraph, target, self._edges.weigh(slot, seen_from, _ignore))
        left = slots.edge.numpy()
        slot, seen_from = slot[left], seen_from[left]
        if not self._is_outermost(hop):
            return attended_run(target, slots, self._edges.embed(slot, seen_from, _ignore))
        starts = batch_starts(self._edges.num_events(slot), self._edges.max_slots, self._edges.max_events)

        def summed(batch: int) -> SummedRun:
            some = slice(int(starts[batch]), int(starts[batch + 1]))
            e_tilde = self._edges.embed(slot[some], seen_from[some], _ignore)
            return self._sum(subgraph, attended_run(target, slots.part(some), e_tilde))

        return reduce(SummedRun.plus, parallel_map(summed, range(len(starts) - 1), self._device))

    def _is_outermost(self, hop: int) -> bool:
        """Whether targets that many hops away are updated by the first layer alone."""
        return hop == self._num_hops - 1

    def _finish(self, subgraph: FullSubgraph, hop: int) -> _Finish:
        """Sum up the neighbours of outermost targets at once; keep the slots of others for later layers."""
        return partial(self._sum, subgraph) if self._is_outermost(hop) else _kept

    def _sum(self, subgraph: FullSubgraph, run: AttendedRun) -> SummedRun:
        """The sums of the first layer, which is the only one that reads the neighbours of the run."""
        neighbour, place = np.unique(run.slots.neighbour.numpy(), return_inverse=True)
        x = self._on_device(self._descriptions.rows(subgraph.nodes[neighbour]))
        slots = replace(run.slots, neighbour=torch.from_numpy(place))
        return sum_first_layer(self._gtea, x, replace(run, slots=slots))

    def _report(self, hop: int, done: float) -> None:
        self._progress("encoding edges", (hop + done) / self._num_hops)

    def _attend(self, subgraph: FullSubgraph, targets: range, alpha_tilde: Tensor) -> Slots:
        offset = subgraph.offset[targets.start : targets.stop + 1]
        neighbour = torch.from_numpy(subgraph.neighbour[offset[0] : offset[-1]])
        return attend_all(self._gtea, alpha_tilde, torch.from_numpy(offset - offset[0]), neighbour)

    def _from_cache(self, subgraph: FullSubgraph, hop: int, cache: EdgeCache) -> list[Run]:
        """The same from the cache. Missing chunks are encoded as a whole and kept."""
        rows = EdgeRows.empty(len(subgraph.slot), self._edges.encoder)
        order = np.argsort(subgraph.slot, kind="stable")
        chunk = subgraph.slot[order] // cache.chunk
        numbers, starts = np.unique(chunk, return_index=True)
        for i, (number, places) in enumerate(zip(numbers, np.split(order, starts)[1:], strict=True)):
            found = self._chunk(cache, int(number))
            to, source = torch.from_numpy(places), torch.from_numpy(subgraph.slot[places] - number * cache.chunk)
            rows.e_tilde[to] = found.e_tilde[source]
            rows.alpha_tilde[to] = found.alpha_tilde[source]
            self._report(hop, (i + 1) / len(numbers))
        return self._weighed(subgraph, rows, self._finish(subgraph, hop))

    def _weighed(self, subgraph: FullSubgraph, rows: EdgeRows, finish: _Finish) -> list[Run]:
        """The attended slots of each target, given the rows of all slots, which are overwritten."""
        num_slots = np.diff(subgraph.offset)
        runs = target_runs(num_slots, np.zeros_like(num_slots), subgraph.num_within[:-1], *self._limits)

        def attended(targets: range) -> Run:
            some = slice(subgraph.offset[targets.start], subgraph.offset[targets.stop])
            slots = self._attend(subgraph, targets, rows.alpha_tilde[some])
            return finish(attended_run(targets, slots, _compact(rows.e_tilde[some], slots.edge)))

        return list(parallel_map(attended, runs, self._device))

    def _chunk(self, cache: EdgeCache, number: int) -> EdgeRows:
        rows = cache.read(number, self._edges.encoder)
        if rows is None:
            slots = np.asarray(cache.slots(number))
            node_offset = self._reader.graph.node_offset
            seen_from = np.searchsorted(node_offset, slots, side="right") - 1
            rows = self._edges.encode(slots, seen_from, _ignore)
            cache.write(number, rows)
        return rows


def _compact(e_tilde: Tensor, left: Tensor) -> Tensor:
    """Move the rows that are left to the front, in place: a hub's encodings are not held twice."""
    kept = e_tilde[: len(left)]
    if len(left) < len(e_tilde):
        # Rows only ever move towards the front, so what a part overwrites has been read.
        for first in range(0, len(left), _ROWS_AT_A_TIME):
            some = slice(first, first + _ROWS_AT_A_TIME)
            kept[some] = e_tilde.index_select(0, left[some])
    return kept


def _kept(run: AttendedRun) -> Run:
    """What finishes a run that later layers read too."""
    return run


def _ignore(done: float) -> None:
    """The listener of a part whose whole reports progress already."""


def _starts(count: int, size: int) -> NDArray[np.int64]:
    """Where blocks of a fixed size start, and last the number of rows."""
    return np.append(np.arange(0, count, size), count)


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
    """Z and x of some nodes, each named once; edge embeddings go through the cache if the options name one."""
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(edge_cache(options.cache, saved, view.store, view.cut)) if options.cache else None
        embedder = ExactEmbedder(
            gtea, view, preprocessing, config, device, cache=cache, progress=options.progress, grain=options.grain
        )
        return embedder.embed_with_features(nodes)
