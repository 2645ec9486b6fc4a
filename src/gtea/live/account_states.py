"""The embeddings of all accounts, layer by layer, and which of them have to be computed again.

An account's level is the lowest layer that is out of date; layer 0 is its features. An account without a mark is exact.
Marks are set when events arrive (``gtea.live.attention_marks``). What is asked for is computed with all that it needs:
layer l of an account needs layer l - 1 of itself and of those it attends to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.live.attention_marks import attended_of, rows_of, spread
from gtea.live.growing_array import GrowingArray
from gtea.live.pair_states import PairStates
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun, LayerPass, update_targets
from gtea.nn.groups import SegmentGroups
from gtea.nn.model import GTEA, AggregationLayer
from gtea.store.graph import Graph, events_of

_MOST_ROWS = 1 << 12
_MOST_SLOTS = 1 << 16

Describe = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""The features of some accounts, one row each."""


@dataclass(frozen=True)
class _Attended:
    """What some accounts attend to."""

    offset: NDArray[np.int64]
    neighbours: NDArray[np.int64]
    pairs: NDArray[np.int64]


class AccountStates:
    """The layers of all accounts of a growing graph."""

    def __init__(self, gtea: GTEA, pairs: PairStates, d_features: int) -> None:
        self._gtea, self._pairs = gtea, pairs
        layers = [cast(AggregationLayer, layer) for layer in gtea.layers]
        sizes = [d_features, *(layer.mlp_2.out.out_features for layer in layers)]
        self._layers = [LayerPass.of(layer, d_in) for layer, d_in in zip(layers, sizes[:-1], strict=True)]
        self._z = [GrowingArray(np.zeros((0, size), dtype=np.float32)) for size in sizes]
        self._level = GrowingArray(np.zeros(0, dtype=np.uint8))
        self._row_moved = GrowingArray(np.zeros(0, dtype=np.bool_))
        self._num_events = GrowingArray(np.zeros(0, dtype=np.int64))

    @property
    def num_bytes(self) -> int:
        """What the states take."""
        return sum(array.num_bytes for array in (*self._z, self._level, self._row_moved, self._num_events))

    def grow(self, num_nodes: int) -> None:
        """Have room for that many accounts. New ones have to be computed."""
        for array in (*self._z, self._level, self._row_moved, self._num_events):
            before = len(array)
            array.grow(num_nodes)
            if array is self._row_moved:
                array.rows[before:] = True

    def count(self, ends: NDArray[np.int64]) -> None:
        """Count events of accounts, each as often as it is named."""
        np.add.at(self._num_events.rows, ends, 1)

    def count_all(self, graph: Graph) -> None:
        """Count the events of all accounts."""
        self._num_events.rows[:] = events_of(graph, np.arange(len(self._num_events)))

    def x(self, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        """The features of some accounts that have been computed."""
        rows: NDArray[np.float32] = self._z[0].rows[nodes]
        return rows

    def z(self, nodes: NDArray[np.int64]) -> Tensor:
        """The embeddings of some accounts that have been computed."""
        return from_numpy(self._z[-1].rows[nodes])

    def mark(self, graph: Graph, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Mark accounts whose features have changed, and what follows from it. Returns all that were marked."""
        return spread(graph, self._pairs.alpha, self._level.rows, nodes, len(self._layers))

    def mark_rows(self, nodes: NDArray[np.int64]) -> None:
        """Mark accounts of which a pair has a new logit: their weights have to be computed again."""
        self._row_moved.rows[nodes] = True

    def mark_all(self) -> None:
        """Mark every account's features."""
        self._level.rows[:] = 0

    @torch.inference_mode()
    def compute(
        self, graph: Graph, nodes: NDArray[np.int64], describe: Describe, most_events: int | None = None
    ) -> NDArray[np.int64]:
        """Bring some accounts up to date, with all that they need. Returns those that are.

        Args:
            most_events: Leave accounts with more events as they are, and those that need one of them. None: no limit.
        """
        wanted, attended = nodes, list[tuple[NDArray[np.int64], _Attended]]()
        for layer in range(len(self._layers), 0, -1):
            wanted = self._to_compute(wanted, layer, most_events)
            self._attend(graph, wanted)
            found = _Attended(*attended_of(graph, self._pairs.alpha, wanted))
            attended.append((wanted, found))
            wanted = np.union1d(wanted, found.neighbours)
        wanted = self._to_compute(wanted, 0, most_events)
        for first in range(0, len(wanted), _MOST_ROWS):
            some = wanted[first : first + _MOST_ROWS]
            self._z[0].rows[some] = describe(some)
        self._level.rows[wanted] = 1
        for layer, (targets, found) in enumerate(reversed(attended), start=1):
            ready, known = self._ready(targets, found, layer)
            for part, run in _parts(ready, known):
                self._z[layer].rows[part] = self._updated(layer - 1, part, run).numpy()
            self._level.rows[ready] = layer + 1
        return nodes[self._level.rows[nodes] > len(self._layers)]

    def _to_compute(self, nodes: NDArray[np.int64], layer: int, most_events: int | None) -> NDArray[np.int64]:
        found = nodes[self._level.rows[nodes] <= layer]
        return found if most_events is None else found[self._num_events.rows[found] <= most_events]

    def _ready(self, targets: NDArray[np.int64], found: _Attended, layer: int) -> tuple[NDArray[np.int64], _Attended]:
        """The targets for which all that a layer reads is up to date."""
        behind = self._level.rows[found.neighbours] < layer
        waiting = self._level.rows[targets] < layer
        if not behind.any() and not waiting.any():
            return targets, found
        lengths = np.diff(found.offset)
        owner = np.repeat(np.arange(len(targets)), lengths)
        waiting[owner[behind]] = True
        left = ~waiting[owner]
        offset = np.concatenate([[0], np.cumsum(lengths[~waiting])])
        return targets[~waiting], _Attended(offset, found.neighbours[left], found.pairs[left])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that is known, to be saved."""
        layers = {f"z_{layer}": array.rows for layer, array in enumerate(self._z)}
        counts = {"num_events": self._num_events.rows}
        return layers | counts | {"level": self._level.rows, "row_moved": self._row_moved.rows}

    def restore(self, arrays: dict[str, NDArray[Any]], num_nodes: int) -> None:
        """Take what ``arrays`` gave. Raises a ValueError if it does not fit."""
        expected = {name: (array.dtype, (num_nodes, *array.shape[1:])) for name, array in self.arrays().items()}
        if {name: (array.dtype, array.shape) for name, array in arrays.items()} != expected:
            raise ValueError("it has other accounts")
        self._z = [GrowingArray(arrays[f"z_{layer}"]) for layer in range(len(self._z))]
        self._level, self._row_moved = GrowingArray(arrays["level"]), GrowingArray(arrays["row_moved"])
        self._num_events = GrowingArray(arrays["num_events"])

    def _attend(self, graph: Graph, nodes: NDArray[np.int64]) -> None:
        """Eq. 5 for those of some accounts whose logits have moved."""
        moved = nodes[self._row_moved.rows[nodes]]
        for first in range(0, len(moved), _MOST_ROWS):
            some = moved[first : first + _MOST_ROWS]
            offset, pairs = rows_of(graph, some)
            groups = SegmentGroups(from_numpy(offset), len(pairs))
            self._pairs.alpha[pairs] = self._gtea.normaliser(self._pairs.logits(pairs), groups).numpy()
        self._row_moved.rows[moved] = False

    def _updated(self, layer: int, targets: NDArray[np.int64], found: _Attended) -> Tensor:
        """One layer of some accounts."""
        near, place = np.unique(found.neighbours, return_inverse=True)
        owner = np.repeat(np.arange(len(targets)), np.diff(found.offset))
        runs = []
        for first in range(0, len(place), _MOST_SLOTS):
            some = slice(first, first + _MOST_SLOTS)
            pairs, index = found.pairs[some], torch.arange(len(found.pairs[some]))
            alpha = from_numpy(self._pairs.alpha[pairs])
            slots = Slots(from_numpy(owner[some]), from_numpy(place[some]), index, alpha)
            runs.append(AttendedRun(range(len(targets)), slots, self._pairs.e_tilde(pairs)))
        return update_targets(self._layers[layer], self._read(layer, targets), self._read(layer, near), runs)

    def _read(self, layer: int, nodes: NDArray[np.int64]) -> Tensor:
        rows = from_numpy(self._z[layer].rows[nodes])
        return rows if layer else self._gtea.initial_embeddings(rows)


def _parts(targets: NDArray[np.int64], found: _Attended) -> list[tuple[NDArray[np.int64], _Attended]]:
    """The targets in parts of a bounded size; a hub may be larger."""
    parts, first = [], 0
    while first < len(targets):
        most = int(np.searchsorted(found.offset, found.offset[first] + _MOST_SLOTS, side="right")) - 1
        stop = min(max(most, first + 1), first + _MOST_ROWS, len(targets))
        slots = slice(found.offset[first], found.offset[stop])
        offset = found.offset[first : stop + 1] - found.offset[first]
        parts.append((targets[first:stop], _Attended(offset, found.neighbours[slots], found.pairs[slots])))
        first = stop
    return parts
