"""All accounts, block by block: which targets are encoded together, and what is encoded of them.

Which slots are encoded together can change the last bit of an embedding. So that neither the number of processes nor
of parts changes a byte, runs of targets begin anew at every block of a fixed number of accounts that have an event
before the cut, in the order of the store, and the slots of a hub are cut into pieces (``Grain``). What is computed of a
block or a piece depends on nothing beyond it. One process computes all blocks one after the other, a part of a cluster
some of them (``gtea.cluster``).

Neighbours are named by their numbers in the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun, HeldRun, PiecedRun, attend_all, attended_run
from gtea.nn.model import GTEA
from gtea.runtime.parallel import parallel_map
from gtea.scoring.edge_pass import EdgePass, ShareListener
from gtea.scoring.options import Grain
from gtea.store.graph import Graph
from gtea.store.view import View


@dataclass(frozen=True)
class ActiveAccounts:
    """Accounts with an event before the cut, in the order of the store, and their slots."""

    nodes: NDArray[np.int64]
    start: NDArray[np.int64]
    """The first slot of each."""
    count: NDArray[np.int64]
    """How many of its slots have an event before the cut: at least one."""

    @staticmethod
    def of(view: View, nodes: NDArray[np.int64]) -> ActiveAccounts:
        """Those of some nodes, in ascending order, that have an event before the cut."""
        start, stop = view.slot_ranges(nodes)
        active = stop > start
        return ActiveAccounts(nodes[active], start[active], (stop - start)[active])

    def slots_of(self, run: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The slot numbers of consecutive targets, and the node number of the target that owns each."""
        some = slice(run.start, run.stop)
        count = self.count[some]
        before = np.cumsum(count) - count
        slot = np.repeat(self.start[some] - before, count) + np.arange(count.sum())
        return slot, np.repeat(self.nodes[some], count)

    def offset_of(self, run: range) -> NDArray[np.int64]:
        """Where the slots of each target of a run start among those of the run."""
        return np.concatenate([[0], np.cumsum(self.count[run.start : run.stop])])


class AccountBlocks:
    """Encodes targets of one view with one network."""

    def __init__(self, gtea: GTEA, edges: EdgePass, graph: Graph, grain: Grain) -> None:
        self._gtea = gtea
        self._edges = edges
        self._graph = graph
        self._grain = grain

    def runs(self, targets: ActiveAccounts, listener: ShareListener, *, with_pieced: bool = True) -> list[HeldRun]:
        """The attended slots of targets, of which the first begins a block; run by run.

        Args:
            with_pieced: Encode hubs with more than one piece, too.
        """
        others, hubs = list[range](), list[range]()
        for run, is_hub in self._plan(targets):
            (hubs if is_hub else others).append(run)
        if not with_pieced:
            hubs = [hub for hub in hubs if targets.count[hub.start] <= self._grain.slots]
        done: list[HeldRun] = []
        for made in parallel_map(lambda run: self._run(targets, run), others, self._edges.device):
            done.append(made)
            listener(len(done) / (len(others) + len(hubs)))
        for hub in hubs:
            done.append(self._hub(targets, hub))
            listener(len(done) / (len(others) + len(hubs)))
        return sorted(done, key=lambda run: run.targets.start)

    def weigh_piece(self, slots: range, node: int) -> Tensor:
        """The attention logits of a piece of a hub's slots."""
        return self._edges.weigh(*_piece(slots, node), _ignore)

    def attend_to(self, alpha_tilde: Tensor, slots: range) -> list[Slots]:
        """The slots to which a hub gives a weight, piece by piece, given the logits of all its slots.

        ``edge`` is the index of the slot in its piece.
        """
        neighbour = torch.from_numpy(self._graph.slot_neighbour[slots.start : slots.stop].astype(np.int64))
        left = attend_all(self._gtea, alpha_tilde, torch.tensor([0, len(slots)]), neighbour)
        firsts = np.arange(0, len(slots), self._grain.slots)
        bounds = np.searchsorted(left.edge.numpy(), np.append(firsts, len(slots)))
        parts = [left.part(slice(bounds[i], bounds[i + 1])) for i in range(len(firsts))]
        return [replace(part, edge=part.edge - int(first)) for part, first in zip(parts, firsts, strict=True)]

    def embed_piece(self, target: range, slots: range, node: int, left: Slots) -> AttendedRun:
        """A piece of a hub with the embeddings of the slots that are left."""
        slot, seen_from = _piece(slots, node)
        places = left.edge.numpy()
        return attended_run(target, left, self._edges.embed(slot[places], seen_from[places], _ignore))

    def _plan(self, targets: ActiveAccounts) -> Iterator[tuple[range, bool]]:
        """All runs, and whether each is of a single hub that is weighed before it is embedded."""
        # A hub of several pieces is always a run of its own, so that it can be left to others.
        max_slots, max_events = min(self._edges.max_slots, self._grain.slots), self._edges.max_events
        for first in range(0, len(targets.nodes), self._grain.accounts):
            block = range(first, min(first + self._grain.accounts, len(targets.nodes)))
            slots = targets.count[block.start : block.stop]
            events = self._events(targets, block)
            large = (slots > max_slots) | (events > max_events)
            for run in target_runs(slots, events, [len(block)], max_slots, max_events):
                yield range(first + run.start, first + run.stop), bool(large[run.start])

    def _events(self, targets: ActiveAccounts, block: range) -> NDArray[np.int64]:
        """The number of events in the histories of each target; a hub's are counted a piece at a time."""
        counts = np.zeros(len(block), dtype=np.int64)
        slots = targets.count[block.start : block.stop]
        for run in target_runs(slots, counts, [len(block)], self._edges.max_slots, self._edges.max_events):
            some = range(block.start + run.start, block.start + run.stop)
            if len(some) == 1:
                start, count = int(targets.start[some.start]), int(targets.count[some.start])
                pieces = pieces_of(range(start, start + count), self._grain)
                counts[run.start] = sum(int(self._edges.num_events(np.arange(p.start, p.stop)).sum()) for p in pieces)
            else:
                slot, _ = targets.slots_of(some)
                starts = targets.offset_of(some)[:-1]
                counts[run.start : run.stop] = np.add.reduceat(self._edges.num_events(slot), starts)
        return counts

    def _run(self, targets: ActiveAccounts, run: range) -> HeldRun:
        slot, seen_from = targets.slots_of(run)
        rows = self._edges.encode_batch(slot, seen_from)
        neighbour = torch.from_numpy(self._graph.slot_neighbour[slot].astype(np.int64))
        left = attend_all(self._gtea, rows.alpha_tilde, torch.from_numpy(targets.offset_of(run)), neighbour)
        all_left = len(left.edge) == len(rows.e_tilde)
        return attended_run(run, left, rows.e_tilde if all_left else rows.e_tilde.index_select(0, left.edge))

    def _hub(self, targets: ActiveAccounts, hub: range) -> HeldRun:
        """A target whose encodings might fill the memory: weigh it piece by piece, then embed only what is left."""
        node, start = int(targets.nodes[hub.start]), int(targets.start[hub.start])
        slots = range(start, start + int(targets.count[hub.start]))
        pieces = pieces_of(slots, self._grain)
        left = self.attend_to(torch.cat([self.weigh_piece(piece, node) for piece in pieces]), slots)
        made = [self.embed_piece(hub, piece, node, some) for piece, some in zip(pieces, left, strict=True)]
        return made[0] if len(made) == 1 else PiecedRun(hub, tuple(made))


def pieces_of(slots: range, grain: Grain) -> list[range]:
    """A hub's slots in pieces."""
    starts = range(slots.start, slots.stop, grain.slots)
    return [range(start, min(start + grain.slots, slots.stop)) for start in starts]


def is_most(num_requested: int, num_active: int) -> bool:
    """Whether so many accounts are requested that all of them are embedded."""
    return 2 * num_requested > num_active


def block_starts(ranks: NDArray[np.int64], grain: Grain) -> NDArray[np.int64]:
    """Where another block begins among accounts, given their places among all active ones; and last their number."""
    block = ranks // grain.accounts
    return np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [len(ranks)]])


def renumbered(run: HeldRun, place: NDArray[np.int32]) -> HeldRun:
    """A run whose neighbours are named by their places."""
    if isinstance(run, PiecedRun):
        return replace(run, pieces=tuple(_renumbered(piece, place) for piece in run.pieces))
    return _renumbered(run, place)


def _renumbered(run: AttendedRun, place: NDArray[np.int32]) -> AttendedRun:
    neighbour = torch.from_numpy(place[run.slots.neighbour.numpy()].astype(np.int64))
    return replace(run, slots=replace(run.slots, neighbour=neighbour))


def _piece(slots: range, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.arange(slots.start, slots.stop), np.full(len(slots), node, dtype=np.int64)


def _ignore(done: float) -> None:
    """The listener of a piece whose whole reports progress already."""


def target_runs(
    slots: NDArray[np.int64], events: NDArray[np.int64], ends: Sequence[int], max_slots: int, max_events: int
) -> list[range]:
    """ActiveAccounts in runs within the limits of a batch, or a single target; no run crosses any of ``ends``."""
    slots_before, events_before = (np.concatenate([[0], np.cumsum(each)]) for each in (slots, events))
    runs = []
    first = 0
    for end in sorted(set(ends)):
        while first < end:
            by_slots = np.searchsorted(slots_before, slots_before[first] + max_slots, side="right") - 1
            by_events = np.searchsorted(events_before, events_before[first] + max_events, side="right") - 1
            last = min(max(int(min(by_slots, by_events)), first + 1), end)
            runs.append(range(first, last))
            first = last
    return runs
