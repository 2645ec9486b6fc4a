"""Pairs to pair batches: the batch of both ends and, if the model reads them, the pairs' histories and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.features.preprocessing import Preprocessing
from gtea.nn.batch import Histories, PairBatch
from gtea.runtime.jit import jit
from gtea.sampling.collate import Collator, HistoryReader, distinct
from gtea.sampling.event_batches import EventCollator
from gtea.store.graph import Graph, edge_between
from gtea.store.view import View

Rows = Callable[[NDArray[np.integer[Any]], NDArray[np.integer[Any]]], Tensor]
"""From the two ends of pairs to one row per pair."""


class PairCollator:
    """Makes pair batches from one view. What is sampled for a pair does not depend on the other pairs."""

    def __init__(
        self, collator: Collator | EventCollator, *, with_histories: bool, with_statistics: bool = True
    ) -> None:
        """Wrap a collator of nodes.

        Args:
            collator: Makes the batch of both ends.
            with_histories: Read the pairs' own histories.
            with_statistics: Read pair statistics, if the model was trained with them.
        """
        self._collator = collator
        self._histories = None
        self._statistics = None
        if with_histories:
            assert isinstance(collator, Collator), "event batches have no histories"
            self._histories = PairHistories(collator.reader, collator.view.store.directed)
        if with_statistics:
            assert isinstance(collator, Collator), "event batches have no pair statistics"
            self._statistics = ranked_statistics(collator.view, collator.preprocessing)

    def batch(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]], epoch: int = 0) -> PairBatch:
        """The batch of some pairs. Row i of the model's output belongs to pair i."""
        seeds, (left, right) = distinct(src, dst)
        histories = self._histories.read(src, dst) if self._histories else None
        batch = self._collator.batch(seeds, epoch)
        statistics = self._statistics(src, dst) if self._statistics else None
        return PairBatch(batch, torch.from_numpy(left), torch.from_numpy(right), histories, statistics)


def ranked_statistics(view: View, preprocessing: Preprocessing) -> Rows | None:
    """A function that computes ranked pair statistics; None if the model was trained without them."""
    scaler = preprocessing.pair_statistics
    if scaler is None:
        return None
    statistics = preprocessing.pair_statistics_of(view)

    def rows(src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]]) -> Tensor:
        return torch.from_numpy(scaler.transform(statistics.rows(src.astype(np.int64), dst.astype(np.int64))))

    return rows


class PairHistories:
    """Reads the pairs' own histories before a view's cut."""

    def __init__(self, reader: HistoryReader, directed: bool) -> None:
        self._reader = reader
        self._directed = directed

    def read(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]]) -> Histories:
        """One history per pair, seen from src; empty if there are no events. In a directed store, src to dst only."""
        edges = _edges(self._reader.graph, src.astype(np.int64), dst.astype(np.int64), self._directed)
        with_edge = np.flatnonzero(edges >= 0)
        found = self._reader.read(edges[with_edge], src[with_edge].astype(np.int64))
        lengths = torch.zeros(len(edges), dtype=torch.int64)
        lengths[torch.from_numpy(with_edge)] = found.offset.diff()
        # Pairs without an edge have no events, so the event rows stay the same.
        offset = torch.cat([found.offset[:1], lengths.cumsum(0)])
        return Histories(offset, found.time, found.features)


@jit
def _edges(graph: Graph, src: NDArray[np.int64], dst: NDArray[np.int64], directed: bool) -> NDArray[np.int64]:
    """The edge of each pair, or -1."""
    edges = np.empty(len(src), dtype=np.int64)
    for i in range(len(src)):
        swap = not directed and src[i] > dst[i]
        edges[i] = edge_between(graph, dst[i], src[i]) if swap else edge_between(graph, src[i], dst[i])
    return edges
