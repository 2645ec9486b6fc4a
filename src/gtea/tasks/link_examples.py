"""Labelled pairs from the events of a store, as arrays.

A pair is a link if it has an event at or after ``as_of``. For each link, one negative is drawn as in training
(``sampling/negatives.py``): a pair without any event so far. A drawn pair that does have an event later is dropped,
because its label would be wrong. Both accounts of every pair have events before ``as_of``: other accounts do not exist
yet at that time, so no one can ask for their links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.sampling.negatives import NegativeSampler
from gtea.store.store import Store
from gtea.store.time_units import Instant
from gtea.tasks.link_split import links_in_window
from gtea.tasks.splits import first_events


def link_examples(
    store: Store, *, as_of: Instant, until: Instant | None = None, seed: int = 0
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the pairs with an event in ``[as_of, until)``, and about as many pairs without one.

    Args:
        store: The store to take the events from.
        as_of: The start of the window. A model that is trained on these pairs must not see events at or after it.
        until: The end of the window, exclusive. Defaults to just after the last event.
        seed: The seed of the negatives.

    Returns:
        The pairs and their labels. Pairs are account ids of shape [num_pairs, 2]: sender and receiver of the first
        event in the window, in the order of these events. Each link is followed by its negative. Labels are 1 for a
        link and 0 for a negative.
    """
    cut, end = store.as_of(as_of).cut, store.as_of(until).cut
    if cut >= end:
        raise UsageError(
            f"until: must be after as_of (got {store.date(end)}, and {store.date(cut)} for as_of). Give a later until."
        )
    links = links_in_window(store, (cut, end), cut)
    existing = np.flatnonzero((first_events(store, links.src) < cut) & (first_events(store, links.dst) < cut))
    if not len(existing):
        raise DataError(
            f"links: from {store.date(cut)} to before {store.date(end)} there must be events between accounts "
            "with earlier events (got none). Give another as_of, or a later until."
        )
    src, dst = links.src[existing], links.dst[existing]
    drawn = NegativeSampler(store.as_of(cut), seed).draw(src, existing)
    unlinked = ~np.isin(_keys(store, src, drawn), _keys(store, links.src, links.dst))
    # Two links of one account may have drawn the same negative.
    unlinked[_repeated(_keys(store, src, drawn))] = False
    ends = np.stack([np.repeat(src, 2), np.stack([dst, drawn], axis=1).ravel()], axis=1)
    kept = np.stack([np.ones(len(src), dtype=bool), unlinked], axis=1).ravel()
    y = np.tile(np.array([1, 0]), len(src))[kept]
    return _ids(store, ends[kept]), y


def _keys(store: Store, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one integer key per pair. In an undirected store, (u, v) and (v, u) have the same key."""
    if store.directed:
        return src * store.num_nodes + dst
    return np.minimum(src, dst) * store.num_nodes + np.maximum(src, dst)


def _repeated(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of all but the first of equal keys."""
    _, first = np.unique(keys, return_index=True)
    return np.setdiff1d(np.arange(len(keys)), first)


def _ids(store: Store, nodes: NDArray[np.int64]) -> NDArray[Any]:
    ids: NDArray[Any] = store.accounts.take(nodes.ravel()).to_numpy(zero_copy_only=False)
    return ids.reshape(nodes.shape)
