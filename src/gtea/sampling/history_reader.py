"""Histories as a model reads them: the last events of edges before a view's cut, scaled, as tensors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.batch import Histories
from gtea.errors import UsageError
from gtea.sampling.event_features import EventEncoder
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.graph import graph_of
from gtea.store.histories import gather_histories
from gtea.store.view import View


class HistoryReader:
    """The one way from edges of a view to histories: sampled and exact answers read the very same events."""

    def __init__(self, view: View, preprocessing: Preprocessing, max_events: int) -> None:
        if max_events < 0:
            raise UsageError(f"max_events: must not be negative (got {max_events}). 0 keeps whole histories.")
        self.graph = graph_of(view)
        self._max_events = max_events
        self._events = EventEncoder(view.store, preprocessing.events, preprocessing.times)

    def read(self, edges: NDArray[np.int64], seen_from: NDArray[np.int64]) -> Histories:
        """The histories of edges, each as the given one of its ends sees it."""
        return self._events.encode(gather_histories(self.graph, edges, seen_from, self._max_events))

    def at_most(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many events each of these histories has at most: as if none lay beyond the cut."""
        offset = self.graph.edge_offset
        stored = offset[edges + 1] - offset[edges]
        return np.minimum(stored, self._max_events) if self._max_events else stored
