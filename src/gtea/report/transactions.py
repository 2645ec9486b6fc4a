"""The transactions of an account as CSV, the newest within a limit of bytes if one is set."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.report.dealings import Dealings
from gtea.runtime.spreadsheet import spreadsheet_safe


class TransactionsFile(NamedTuple):
    """The content of the file, and how many transactions it has of how many."""

    content: bytes
    written: int
    of: int


def transactions_csv(
    dealings: Dealings, *, limit: int | None = None, for_spreadsheets: bool = True
) -> TransactionsFile:
    """All transactions before the cut, oldest first; with a limit, the newest that fit.

    Args:
        limit: The most bytes that the file may have.
        for_spreadsheets: Whether a text that a spreadsheet would take for a formula gets a quote in front.
    """
    order = np.argsort(dealings.time, kind="stable")
    content = _written(dealings, order, for_spreadsheets)
    if limit is None or len(content) <= limit:
        return TransactionsFile(content, len(order), len(order))
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        fits = len(_written(dealings, order[len(order) - middle :], for_spreadsheets)) <= limit
        low, high = (middle, high) if fits else (low, middle)
    content = _written(dealings, order[len(order) - low :], for_spreadsheets)
    if len(content) > limit:
        raise UsageError(f"--csv-limit: must hold at least the header (got {limit} bytes). Try 1MB.")
    return TransactionsFile(content, low, len(order))


def _written(dealings: Dealings, chosen: NDArray[np.int64], for_spreadsheets: bool) -> bytes:
    store, events = dealings.view.store, dealings.events[chosen]
    partner = np.searchsorted(dealings.offset, chosen, side="right") - 1
    others, own = dealings.partners[partner], np.full(len(chosen), dealings.node)
    sent = dealings.sent[chosen]
    columns = {
        "time": pa.array([store.date(int(time)) for time in dealings.time[chosen]], pa.string()),
        "src": store.accounts.take(np.where(sent, own, others)),
        "dst": store.accounts.take(np.where(sent, others, own)),
    }
    for place, name in enumerate(store.features):
        columns[name] = pa.array(np.ascontiguousarray(dealings.view.arrays.event_features[events, place]))
    for place, name in enumerate(store.categorical):
        columns[name] = store.vocabularies[place].take(dealings.view.arrays.event_categories[events, place])
    table = pa.table(columns)
    stream = io.BytesIO()
    pacsv.write_csv(spreadsheet_safe(table) if for_spreadsheets else table, stream)
    return stream.getvalue()
