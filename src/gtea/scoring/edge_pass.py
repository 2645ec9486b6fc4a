"""Every look at an edge encoded once, in batches that are bounded by looks and by events.

Weighing (Enc_a) and embedding (Enc_i) can be asked for one after the other: a sparse attention discards most looks, and
what is discarded need not be embedded. Of a trained GTEA_L+T's looks 18 % were left (the demo's payments). The price is
that the events of these are read twice. The next batch's histories are read in a background thread while the model
encodes this one's; the events are never held all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.batch import Histories
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.sampling.history_reader import HistoryReader
from gtea.sampling.loader import Loader

MAX_LOOKS = 1 << 14
MAX_EVENTS = 1 << 17
"""Of one batch: what the encoder makes of them takes some tens of megabytes. A single history may be longer."""


Listener = Callable[[float], None]
"""Told which share of the looks is done."""


@dataclass(frozen=True)
class EdgeRows:
    """What the layers need of each look: e_tilde [num_looks, d_edge] and alpha_tilde [num_looks]."""

    e_tilde: Tensor
    alpha_tilde: Tensor

    @staticmethod
    def empty(num_looks: int, encoder: EdgeEncoder) -> EdgeRows:
        """Room for so many looks, on the CPU, in the encoder's precision."""
        dtype = encoder.a.dtype
        return EdgeRows(torch.empty(num_looks, encoder.d_edge, dtype=dtype), torch.empty(num_looks, dtype=dtype))


class EdgePass:
    """Encodes looks of one view with one encoder."""

    def __init__(
        self,
        encoder: EdgeEncoder,
        reader: HistoryReader,
        device: torch.device,
        *,
        max_looks: int = MAX_LOOKS,
        max_events: int = MAX_EVENTS,
        workers: int = 1,
    ) -> None:
        self.encoder = encoder
        self._reader = reader
        self._device = device
        self._limits = (max_looks, max_events)
        self._workers = workers

    def encode(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64], listener: Listener) -> EdgeRows:
        """Both rows of each look, in order."""
        rows = EdgeRows.empty(len(slot), self.encoder)
        self._fill((rows.e_tilde, rows.alpha_tilde), self.encoder, slot, seen_from, listener)
        return rows

    def weigh(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64], listener: Listener) -> Tensor:
        """alpha_tilde alone."""
        alpha_tilde = EdgeRows.empty(len(slot), self.encoder).alpha_tilde
        self._fill((alpha_tilde,), lambda histories: (self.encoder.weigh(histories),), slot, seen_from, listener)
        return alpha_tilde

    def embed(self, slot: NDArray[np.int64], seen_from: NDArray[np.int64], listener: Listener) -> Tensor:
        """e_tilde alone."""
        e_tilde = EdgeRows.empty(len(slot), self.encoder).e_tilde
        self._fill((e_tilde,), lambda histories: (self.encoder.embed(histories),), slot, seen_from, listener)
        return e_tilde

    @torch.inference_mode()
    def _fill(
        self,
        columns: tuple[Tensor, ...],
        make: Callable[[Histories], tuple[Tensor, ...]],
        slot: NDArray[np.int64],
        seen_from: NDArray[np.int64],
        listener: Listener,
    ) -> None:
        edges = self._reader.graph.slot_edge[slot]
        starts = batch_starts(self._reader.lengths(edges), *self._limits)

        def read(batches: NDArray[np.int64], epoch: int) -> tuple[slice, Histories]:
            some = slice(int(starts[batches[0]]), int(starts[batches[0] + 1]))
            return some, self._reader.read(edges[some], seen_from[some])

        loader = Loader(read, len(starts) - 1, batch_size=1, shuffle=False, workers=self._workers)
        for _, (some, histories) in loader.epoch(0):
            for column, made in zip(columns, make(histories.to(self._device)), strict=True):
                column[some] = made.cpu()
            listener(some.stop / len(edges))


def batch_starts(lengths: NDArray[np.int64], max_looks: int, max_events: int) -> NDArray[np.int64]:
    """Where each batch of looks starts, and last where the looks end. Every batch has at least one look."""
    ends = np.cumsum(lengths)
    starts = [0]
    while starts[-1] < len(lengths):
        first = starts[-1]
        before = ends[first - 1] if first else 0
        fitting = int(np.searchsorted(ends, before + max_events, side="right"))
        starts.append(min(max(fitting, first + 1), first + max_looks, len(lengths)))
    return np.array(starts)
