"""The network's answer about one account in many alternative pasts, as many at a time as fit into the cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.explain.account_row import CELLS, AccountRow
from gtea.explain.alternative_pass import AlternativePass
from gtea.explain.changed_edge import ChangedEdge


class LocalPass(AccountRow):
    """The embeddings of one account in alternative pasts."""

    def embed(
        self,
        kept: NDArray[np.bool_],
        x: NDArray[np.float32],
        partners: dict[int, NDArray[np.float32]],
        changed: Sequence[ChangedEdge] = (),
    ) -> Tensor:
        """The embedding z of the account in each alternative, [num_alternatives, d_node].

        Args:
            kept: Which of the account's slots are left in each, [num_alternatives, num_slots].
            x: The account's features in each.
            partners: The features of the counterparties that lost events, by node, in each alternative or, with one
                row, in every alternative in which the account has lost a slot to them.
            changed: The edges with one counterparty that have lost some of their events: one, or one each way.
        """
        size = max(1, CELLS // max(1, kept.shape[1]))
        parts = []
        for first in range(0, len(kept), size):
            some = slice(first, first + size)
            here = {node: rows if len(rows) == 1 else rows[some] for node, rows in partners.items()}
            parts.append(
                AlternativePass(self, kept[some], x[some], here, [each.part(some) for each in changed]).embed()
            )
        return torch.cat(parts)
