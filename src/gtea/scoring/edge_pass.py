"""Encoding many slots: each once, in batches that are bounded by slots and by events.

Each batch is read and encoded by one thread, several batches at a time. The events are never all in memory at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.nn.batch import Histories
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.runtime.parallel import parallel_map
from gtea.sampling.collate import HistoryReader
from gtea.store.graph import Graph

_MAX_SLOTS = 1 << 13
_MAX_EVENTS = 1 << 16
"""Limits of a batch: its encodings take some tens of megabytes. A single history may be longer."""

ShareListener = Callable[[float], None]
"""Called with the share of the slots that are done."""


@dataclass(frozen=True)
class EdgeRows:
    """What the layers need of each slot: e_tilde [num_slots, d_edge] and alpha_tilde [num_slots]."""

    e_tilde: Tensor
    alpha_tilde: Tensor

    @staticmethod
    def empty(num_slots: int, encoder: EdgeEncoder) -> EdgeRows:
        """Uninitialised rows on the CPU, in the encoder's precision."""
        dtype = encoder.a.dtype
        return EdgeRows(torch.empty(num_slots, encoder.d_edge, dtype=dtype), torch.empty(num_slots, dtype=dtype))


class EdgePass:
    """Encodes slots of one view with one encoder."""

    def __init__(
        self,
        encoder: EdgeEncoder,
        reader: HistoryReader,
        device: torch.device,
        *,
        max_slots: int = _MAX_SLOTS,
        max_events: int = _MAX_EVENTS,
    ) -> None:
        self.encoder = encoder
        self.max_slots, self.max_events = max_slots, max_events
        self._reader = reader
        self.device = device

    @property
    def graph(self) -> Graph:
        """The graph of the view."""
        return self._reader.graph

    def num_events(self, slot: NDArray[np.int64]) -> NDArray[np.int64]:
        """The length of each slot's history."""
        return self._reader.num_events(self._reader.graph.slot_edge[slot])

    @torch.inference_mode()
    def encode_batch(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64]) -> EdgeRows:
        """Encode slots as one batch."""
        e_tilde, alpha_tilde = self.encoder(self._read(slot, seen_from))
        return EdgeRows(e_tilde.cpu(), alpha_tilde.cpu())

    def encode(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64], listener: ShareListener) -> EdgeRows:
        """Encode slots, in order."""
        rows = EdgeRows.empty(len(slot), self.encoder)
        self._fill((rows.e_tilde, rows.alpha_tilde), self.encoder, slot, seen_from, listener)
        return rows

    def weigh(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64], listener: ShareListener) -> Tensor:
        """alpha_tilde alone."""
        alpha_tilde = torch.empty(len(slot), dtype=self.encoder.a.dtype)
        self._fill(
            (alpha_tilde,), lambda histories: (self.encoder.attention_logits(histories),), slot, seen_from, listener
        )
        return alpha_tilde

    def embed(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64], listener: ShareListener) -> Tensor:
        """e_tilde alone."""
        e_tilde = torch.empty(len(slot), self.encoder.d_edge, dtype=self.encoder.a.dtype)
        self._fill((e_tilde,), lambda histories: (self.encoder.embed(histories),), slot, seen_from, listener)
        return e_tilde

    def _read(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64]) -> Histories:
        return self._reader.read(self._reader.graph.slot_edge[slot], seen_from).to(self.device)

    def _fill(
        self,
        columns: tuple[Tensor, ...],
        encode: Callable[[Histories], tuple[Tensor, ...]],
        slot: NDArray[np.int64],
        seen_from: NDArray[np.int64],
        listener: ShareListener,
    ) -> None:
        starts = batch_starts(self.num_events(slot), self.max_slots, self.max_events)

        @torch.inference_mode()
        def fill(batch: int) -> int:
            some = slice(int(starts[batch]), int(starts[batch + 1]))
            for column, rows in zip(columns, encode(self._read(slot[some], seen_from[some])), strict=True):
                column[some] = rows.cpu()
            return some.stop

        for done in parallel_map(fill, range(len(starts) - 1), self.device):
            listener(done / len(slot))


def batch_starts(lengths: NDArray[np.int64], max_slots: int, max_events: int) -> NDArray[np.int64]:
    """Where each batch of slots starts, and last the number of slots. Every batch has at least one slot."""
    ends = np.cumsum(lengths)
    starts = [0]
    while starts[-1] < len(lengths):
        first = starts[-1]
        before = ends[first - 1] if first else 0
        fitting = int(np.searchsorted(ends, before + max_events, side="right"))
        starts.append(min(max(fitting, first + 1), first + max_slots, len(lengths)))
    return np.array(starts)
