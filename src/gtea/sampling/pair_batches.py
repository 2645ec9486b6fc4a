"""Pairs in, a pair batch out: the full_subgraph of both ends and, where it is read, what the two did together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.features.pair_statistics import PairStatistics
from gtea.features.preprocessing import Preprocessing
from gtea.nn.batch import Histories, PairBatch
from gtea.runtime.jit import jit
from gtea.sampling.collate import Collator, HistoryReader, distinct
from gtea.sampling.event_batches import EventCollator
from gtea.store.graph import Graph, edge_between
from gtea.store.view import View

Rows = Callable[[NDArray[np.integer[Any]], NDArray[np.integer[Any]]], Tensor]
"""One row for each pair of ends."""


class PairCollator:
    """Makes batches of pairs from one view. What a pair is given does not depend on the other pairs."""

    def __init__(
        self, collator: Collator | EventCollator, *, with_histories: bool, with_statistics: bool = True
    ) -> None:
        """From what makes batches of nodes.

        Args:
            with_statistics: Whether statistics are told, where there are any.
        """
        self._collator = collator
        self._histories = None
        self._statistics = None
        if with_histories:
            assert isinstance(collator, Collator), "batches of single events have no histories"
            self._histories = PairHistories(collator.reader, collator.view.store.directed)
        if with_statistics:
            assert isinstance(collator, Collator), "who reads single events is told no statistics of pairs"
            self._statistics = ranked_statistics(collator.view, collator.preprocessing)

    def batch(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]], epoch: int = 0) -> PairBatch:
        """The batch of some pairs; answer i of the model is pair i's."""
        seeds, (left, right) = distinct(src, dst)
        histories = self._histories.read(src, dst) if self._histories else None
        batch = self._collator.batch(seeds, epoch)
        statistics = self._statistics(src, dst) if self._statistics else None
        return PairBatch(batch, torch.from_numpy(left), torch.from_numpy(right), histories, statistics)


def ranked_statistics(view: View, preprocessing: Preprocessing) -> Rows | None:
    """What makes the ranks of pairs' statistics, if the model was trained with them."""
    scaler = preprocessing.pair_statistics
    if scaler is None:
        return None
    statistics = PairStatistics(view, preprocessing.times.stored_per_unit(view.store.unit))

    def rows(src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]]) -> Tensor:
        return torch.from_numpy(scaler.transform(statistics.rows(src.astype(np.int64), dst.astype(np.int64))))

    return rows


class PairHistories:
    """What the two ends of pairs did together before a view's cut."""

    def __init__(self, reader: HistoryReader, directed: bool) -> None:
        self._reader = reader
        self._directed = directed

    def read(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]]) -> Histories:
        """One history for each pair, as src sees it, empty where they never met; directed, what src sent to dst."""
        edges = _edges(self._reader.graph, src.astype(np.int64), dst.astype(np.int64), self._directed)
        known = np.flatnonzero(edges >= 0)
        found = self._reader.read(edges[known], src[known].astype(np.int64))
        lengths = torch.zeros(len(edges), dtype=torch.int64)
        lengths[torch.from_numpy(known)] = found.offset.diff()
        # Pairs without an edge hold no events, so that the rows stay where they are.
        offset = torch.cat([found.offset[:1], lengths.cumsum(0)])
        return Histories(offset, found.time, found.features)


@jit
def _edges(graph: Graph, src: NDArray[np.int64], dst: NDArray[np.int64], directed: bool) -> NDArray[np.int64]:
    """The edge of each pair, -1 where there is none."""
    edges = np.empty(len(src), dtype=np.int64)
    for i in range(len(src)):
        swap = not directed and src[i] > dst[i]
        edges[i] = edge_between(graph, dst[i], src[i]) if swap else edge_between(graph, src[i], dst[i])
    return edges
