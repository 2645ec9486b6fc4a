"""Labelled pairs from a store's own events, for whoever wants them as arrays: to cross-validate, to keep, to add to.

A pair is a link if it has an event from ``as_of`` on. For each link one pair is drawn that has none and never had: as
for training (``sampling/negatives.py``), except that a drawn pair which does meet is dropped, since its label would be
wrong. Both ends of every pair have events before ``as_of``: nobody could have asked about the others then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.sampling.negatives import NegativeSampler
from gtea.store.store import Store
from gtea.store.time_units import Instant
from gtea.tasks.link_split import links_in
from gtea.tasks.splits import first_events


def link_examples(
    store: Store, *, as_of: Instant, until: Instant | None = None, seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Pairs that have an event from ``as_of`` to before ``until``, and about as many that have none.

    Args:
        as_of: What a model may see ends here, and what it is asked begins.
        until: By default just after the last event.
        seed: Decides which pairs without an event are drawn.

    Returns:
        The pairs, [num_pairs, 2], as ids (sender and receiver of the first event), in the order of those events, each
        link followed by the pair that was drawn beside it; and 1 or 0 for each.
    """
    cut, end = store.as_of(as_of).cut, store.as_of(until).cut
    if cut >= end:
        raise UsageError(f"until: must be after as_of (got {store.date(end)}, and {store.date(cut)} for as_of).")
    links = links_in(store, (cut, end), cut)
    known = np.flatnonzero((first_events(store, links.src) < cut) & (first_events(store, links.dst) < cut))
    if not len(known):
        raise DataError(
            f"links: from {store.date(cut)} to before {store.date(end)} there must be events between accounts that "
            "were there before (got none). Give another as_of, or a later until."
        )
    src, dst = links.src[known], links.dst[known]
    drawn = NegativeSampler(store.as_of(cut), seed).draw(src, known)
    apart = ~np.isin(_keys(store, src, drawn), _keys(store, links.src, links.dst))
    # Two links of one account may have drawn the same pair.
    apart[_repeated(_keys(store, src, drawn))] = False
    ends = np.stack([np.repeat(src, 2), np.stack([dst, drawn], axis=1).ravel()], axis=1)
    kept = np.stack([np.ones(len(src), dtype=bool), apart], axis=1).ravel()
    y = np.tile(np.array([1, 0]), len(src))[kept]
    return _ids(store, ends[kept]), y


def _keys(store: Store, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number a pair; where the store is undirected, the same for both orders."""
    if store.directed:
        return src * store.num_nodes + dst
    return np.minimum(src, dst) * store.num_nodes + np.maximum(src, dst)


def _repeated(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of all but the first of equal keys."""
    _, first = np.unique(keys, return_index=True)
    return np.setdiff1d(np.arange(len(keys)), first)


def _ids(store: Store, nodes: NDArray[np.int64]) -> NDArray[Any]:
    ids: NDArray[Any] = store.accounts.take(nodes.ravel()).to_numpy(zero_copy_only=False)
    return ids.reshape(nodes.shape)
