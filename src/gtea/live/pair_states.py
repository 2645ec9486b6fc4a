"""What the network knows of each pair, from each of its ends: edge embedding, attention logit, attention weight.

A pair seen from an end has the number 2 * edge, or 2 * edge + 1 from the edge's second end. The logits of a new event's
pair change, and no others. An LSTM takes one step from its state where the history still fits into the window; a pair
whose window slides, or that a late event has changed, is encoded again, as is any pair of another encoder. States are
kept of the pairs that had events since the start: all others would take 1 kB each and may never be needed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, from_numpy

from gtea.live.growing_array import GrowingArray
from gtea.nn.batch import Histories
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.encoders.ragged_lstm import LSTMState
from gtea.sampling.collate import HistoryReader
from gtea.scoring.edge_pass import batch_starts
from gtea.store.graph import Graph

_MOST_PAIRS = 1 << 13
_MOST_EVENTS = 1 << 16


class PairStates:
    """The states of all pairs of a growing graph."""

    def __init__(self, encoder: EdgeEncoder, max_events: int) -> None:
        self._encoder, self._max_events = encoder, max_events
        self._e_tilde = GrowingArray(np.zeros((0, encoder.d_edge), dtype=np.float32))
        self._logit = GrowingArray(np.zeros(0, dtype=np.float32))
        self._alpha = GrowingArray(np.zeros(0, dtype=np.float32))
        self._lstm = _KeptStates(encoder) if isinstance(encoder.enc_i, LSTMEncoder) else None

    @property
    def alpha(self) -> NDArray[np.float32]:
        """The attention weight of each pair. It may be written to."""
        weights: NDArray[np.float32] = self._alpha.rows
        return weights

    @property
    def num_bytes(self) -> int:
        """What the states take."""
        kept = 0 if self._lstm is None else self._lstm.num_bytes
        return kept + sum(array.num_bytes for array in (self._e_tilde, self._logit, self._alpha))

    def grow(self, num_edges: int) -> None:
        """Have room for that many edges."""
        for array in (self._e_tilde, self._logit, self._alpha):
            array.grow(2 * num_edges)
        if self._lstm is not None:
            self._lstm.grow(2 * num_edges)

    def e_tilde(self, pairs: NDArray[np.int64]) -> Tensor:
        """The edge embeddings of some pairs."""
        return from_numpy(self._e_tilde.rows[pairs])

    def logits(self, pairs: NDArray[np.int64]) -> Tensor:
        """The attention logits of some pairs."""
        return from_numpy(self._logit.rows[pairs])

    @torch.inference_mode()
    def encode(self, reader: HistoryReader, graph: Graph, edges: NDArray[np.int64], *, keep: bool = True) -> None:
        """Encode some edges, each named once, from both ends.

        Args:
            keep: Whether to keep the states of the encoder, for pairs that are likely to have more events.
        """
        second = edges[graph.edge_a[edges] != graph.edge_b[edges]]
        pairs = np.concatenate([2 * edges, 2 * second + 1])
        seen_from = np.concatenate([graph.edge_a[edges], graph.edge_b[second]]).astype(np.int64)
        counts = (graph.edge_stop - graph.edge_offset[: len(graph.edge_stop)])[pairs >> 1] if len(pairs) else pairs
        lstm = self._lstm if keep else None
        new = counts if lstm is None else lstm.new_events(pairs, counts)
        window = counts if self._max_events == 0 else np.minimum(counts, self._max_events)
        slides = counts > window
        length = np.where(slides | (new < 0), window, new)
        starts = batch_starts(length, _MOST_PAIRS, _MOST_EVENTS) if len(pairs) else np.zeros(1, dtype=np.int64)
        for first, stop in pairwise(starts):
            some = slice(int(first), int(stop))
            histories = reader.read_last(graph, pairs[some] >> 1, seen_from[some], length[some])
            if lstm is None:
                e_tilde, logit = self._encoder(histories)
            else:
                begun = (new[some] >= 0) & ~slides[some]
                e_tilde, logit = lstm.advance(pairs[some], histories, begun, counts[some], ~slides[some])
            self._e_tilde.rows[pairs[some]], self._logit.rows[pairs[some]] = e_tilde.numpy(), logit.numpy()

    def forget(self, edges: NDArray[np.int64]) -> None:
        """Encode these edges from the start the next time: an event came between those that were read."""
        if self._lstm is not None:
            self._lstm.forget(np.concatenate([2 * edges, 2 * edges + 1]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that is known, to be saved."""
        found = {"e_tilde": self._e_tilde.rows, "logit": self._logit.rows, "alpha": self._alpha.rows}
        return found | ({} if self._lstm is None else self._lstm.arrays())

    def restore(self, arrays: dict[str, NDArray[Any]], num_edges: int) -> None:
        """Take what ``arrays`` gave. Raises a ValueError if it does not fit."""
        for name, known in self.arrays().items():
            found = arrays[name]
            rows = len(found) if name in ("states", "free") else 2 * num_edges
            if (found.dtype, found.shape) != (known.dtype, (rows, *known.shape[1:])):
                raise ValueError("it has other pairs")
        if "place" in arrays:
            places = np.concatenate([arrays["place"], arrays["free"], [0]])
            if not 0 <= places.min() <= places.max() < len(arrays["states"]):
                raise ValueError("its states are damaged")
        self._e_tilde, self._logit, self._alpha = (GrowingArray(arrays[name]) for name in ("e_tilde", "logit", "alpha"))
        if self._lstm is not None:
            self._lstm.restore(arrays)


class _KeptStates:
    """The states of both LSTMs after the events that were read, for some of the pairs."""

    def __init__(self, encoder: EdgeEncoder) -> None:
        self._encoder = encoder
        assert isinstance(encoder.enc_i, LSTMEncoder)
        self._shape = (len(encoder.enc_i.b), encoder.d_edge)
        # Place 0 is of nobody: it holds the state before the first event.
        self._states = GrowingArray(np.zeros((1, 4, *self._shape), dtype=np.float32))
        self._place = GrowingArray(np.zeros(0, dtype=np.int32))
        self._read = GrowingArray(np.zeros(0, dtype=np.int32))
        self._free: list[int] = []

    @property
    def num_bytes(self) -> int:
        return self._states.num_bytes + self._place.num_bytes + self._read.num_bytes

    def grow(self, num_pairs: int) -> None:
        self._place.grow(num_pairs)
        self._read.grow(num_pairs)

    def new_events(self, pairs: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many events have not been read; -1 where no state is kept."""
        return np.where(self._place.rows[pairs] > 0, counts - self._read.rows[pairs], -1)

    def forget(self, pairs: NDArray[np.int64]) -> None:
        """Keep no states of some pairs."""
        kept = pairs[self._place.rows[pairs] > 0]
        self._free += self._place.rows[kept].tolist()
        self._place.rows[kept] = 0

    def advance(
        self,
        pairs: NDArray[np.int64],
        histories: Histories,
        begun: NDArray[np.bool_],
        counts: NDArray[np.int64],
        keep: NDArray[np.bool_],
    ) -> tuple[Tensor, Tensor]:
        """Read events; returns the edge embeddings and the logits.

        Args:
            begun: Which pairs go on from their state; the others start anew.
            counts: How many events each has been read of then.
            keep: Of which pairs to keep the new states.
        """
        enc_i, enc_a = self._encoder.enc_i, self._encoder.enc_a
        assert isinstance(enc_i, LSTMEncoder)
        assert isinstance(enc_a, LSTMEncoder)
        places = np.where(begun, self._place.rows[pairs], 0)
        before = from_numpy(self._states.rows[places])  # [pairs, 4, layers, d]
        h_i, c_i, h_a, c_a = (before[:, k].transpose(0, 1).contiguous() for k in range(4))
        e_hat = self._encoder.e_hat(histories)
        of_i = enc_i.advance(e_hat, histories.offset, LSTMState(h_i, c_i))
        of_a = enc_a.advance(e_hat, histories.offset, LSTMState(h_a, c_a))
        after = torch.stack([of_i.h, of_i.c, of_a.h, of_a.c]).permute(2, 0, 1, 3)
        self.forget(pairs[~keep])
        self._take_places(pairs[keep])
        self._states.rows[self._place.rows[pairs[keep]]] = after.numpy()[keep]
        self._read.rows[pairs[keep]] = counts[keep]
        return of_i.h[-1], of_a.h[-1] @ self._encoder.a

    def _take_places(self, pairs: NDArray[np.int64]) -> None:
        new = pairs[self._place.rows[pairs] == 0]
        freed = [self._free.pop() for _ in range(min(len(new), len(self._free)))]
        first = len(self._states)
        self._states.grow(first + len(new) - len(freed))
        self._place.rows[new] = np.concatenate([freed, np.arange(first, len(self._states))]).astype(np.int32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        free = np.array(self._free, dtype=np.int64)
        return {"states": self._states.rows, "place": self._place.rows, "read": self._read.rows, "free": free}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._states, self._place, self._read = (GrowingArray(arrays[name]) for name in ("states", "place", "read"))
        self._free = arrays["free"].tolist()
