"""The statistics of all accounts in NumPy: one sort of all events by account and time, then sums over segments.

The columns are those of ``gtea.features`` in the same order. Everything is held in memory at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.store.store import Store

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_DAY = 86_400


@dataclass(frozen=True)
class Segments:
    """Events of accounts: a segment per account that has any."""

    node: Ints
    time: Ints
    sent: NDArray[np.bool_]
    received: NDArray[np.bool_]
    partner: Ints
    values: Floats

    def __getitem__(self, chosen: NDArray[np.bool_] | Ints) -> Segments:
        columns = (self.node, self.time, self.sent, self.received, self.partner, self.values)
        return Segments(*(column[chosen] for column in columns))  # type: ignore[arg-type]

    @property
    def first(self) -> Ints:
        """Where each segment starts."""
        return np.flatnonzero(np.diff(self.node, prepend=-1))

    def sides(self) -> Iterator[Segments]:
        """What was sent, received, and all."""
        yield self[self.sent]
        yield self[self.received]
        yield self


def read_segments(store: Store) -> Segments:
    """All events of a store as seen by each end, by account and time. The unit of time must be seconds."""
    arrays = store.arrays
    node = np.repeat(np.arange(store.num_nodes), np.diff(arrays.node_offset))
    lengths = np.diff(arrays.edge_offset)[arrays.slot_edge]
    slot = np.repeat(np.arange(len(node)), lengths)
    within = np.arange(len(slot)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    edge = arrays.slot_edge[slot]
    event = arrays.edge_offset[edge] + within
    sent = (arrays.event_reverse[event] == 0) == (arrays.edge_a[edge] == node[slot])
    loop = arrays.edge_a[edge] == arrays.edge_b[edge]
    values = arrays.event_features[event].astype(np.float64)
    partner = arrays.slot_neighbour[slot].astype(np.int64)
    rows = Segments(node[slot], arrays.event_time[event], sent | loop, ~sent | loop, partner, values)
    return rows[np.lexsort((rows.time, rows.node))]


def own_statistics(rows: Segments, num_nodes: int, cut: int) -> Floats:
    """What ``account_statistics.statistics`` computes."""
    sides: list[Floats] = []
    sums: list[Floats] = []
    for own in rows.sides():
        first, node = own.first, own.node[own.first]
        last = np.append(first[1:], len(own.node)) - 1
        count, start, end = last - first + 1, own.time[first], own.time[last]
        pairs = np.unique(own.node << 32 | own.partner) >> 32
        columns = [count, np.bincount(pairs, minlength=num_nodes)[node], cut - start, cut - end, end - start]
        columns += _gaps(own.time, first, count)
        for value in own.values.T:
            total = np.add.reduceat(value, first)
            squares = (value - np.repeat(total / count, count)) ** 2
            columns += [total, total / count, np.sqrt(np.add.reduceat(squares, first) / count)]
            columns += [np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)]
            sums.append(np.bincount(own.node, value, num_nodes).astype(np.float64))
        sides.append(_spread(columns, node, num_nodes))
    num_features = rows.values.shape[1]
    return np.concatenate([*sides, *(_net(sums[num_features + k], sums[k]) for k in range(num_features))], axis=1)


def _gaps(time: Ints, first: Ints, count: Ints) -> list[Floats]:
    """Mean, deviation, least and largest gap; zeros for one event."""
    gaps = np.diff(time, prepend=0).astype(np.float64)
    gaps[first] = 0
    several = np.maximum(count - 1, 1)
    mean = np.add.reduceat(gaps, first) / several
    squares = (gaps - np.repeat(mean, count)) ** 2
    squares[first] = 0
    longest = np.maximum.reduceat(gaps, first)
    gaps[first] = np.inf
    shortest = np.where(count > 1, np.minimum.reduceat(gaps, first), 0)
    return [mean, np.sqrt(np.add.reduceat(squares, first) / several), shortest, longest]


def _net(received: Floats, sent: Floats) -> Floats:
    larger = np.maximum(np.abs(received), np.abs(sent))
    share = np.clip(np.abs(received - sent) / np.where(larger > 0, larger, 1), 1e-6, 1)
    return np.stack([received - sent, np.where(larger > 0, np.log10(share), 0)], axis=1)


def partner_statistics(rows: Segments, num_nodes: int) -> Floats:
    """What ``partner_statistics.PartnerStatistics`` computes."""
    own = rows[rows.node != rows.partner]
    own = own[np.argsort(own.node << 32 | own.partner, kind="stable")]
    first = np.flatnonzero(np.diff(own.node << 32 | own.partner, prepend=-1))
    node, partner = own.node[first], own.partner[first]
    sizes = np.column_stack([np.ones(len(own.node)), np.abs(own.values)])
    sent, received = (np.add.reduceat(sizes * side[:, None], first) for side in (own.sent, own.received))
    events = np.maximum(np.bincount(own.node, minlength=num_nodes), 1)
    degree = np.bincount(node, minlength=num_nodes).astype(np.float64)
    profiles = [np.log1p(degree), np.log1p(events), np.bincount(own.node, own.sent, num_nodes) / events]
    means = [np.bincount(own.node, value, num_nodes) / events for value in own.values.T]
    sides = []
    for flow in (sent, received, sent + received):
        chosen = flow[:, 0] > 0
        sides.append(_partner_side(node[chosen], partner[chosen], flow[chosen], [degree, *profiles, *means], num_nodes))
    count = np.maximum(degree, 1)
    mutual = np.bincount(node[(sent[:, 0] > 0) & (received[:, 0] > 0)], minlength=num_nodes)
    summary = np.stack([mutual / count, np.bincount(own.node, minlength=num_nodes) / count], axis=1)
    return np.concatenate([*sides, summary], axis=1)


def _partner_side(node: Ints, partner: Ints, flow: Floats, profiles: list[Floats], num_nodes: int) -> Floats:
    degree, log_degree, log_events, sent, *means = (profile[partner] for profile in profiles)
    first = np.flatnonzero(np.diff(node, prepend=-1))
    count = np.diff(first, append=len(node))
    sums, largest = np.add.reduceat(flow, first), np.maximum.reduceat(flow, first)
    share = largest / np.where(sums > 0, sums, 1)
    squares = np.add.reduceat(flow[:, 0] ** 2, first) / sums[:, 0] ** 2
    columns = [np.add.reduceat(log_degree, first) / count, np.maximum.reduceat(degree, first)]
    columns += [np.add.reduceat(x, first) / count for x in (log_events, sent)]
    columns += [share[:, 0], squares]
    for k, mean in enumerate(means):
        columns += [np.add.reduceat(mean, first) / count, share[:, 1 + k]]
    return _spread(columns, node[first], num_nodes)


def rhythm_statistics(rows: Segments, num_nodes: int) -> Floats:
    """What ``rhythm_statistics.rhythm_statistics`` computes."""
    return np.concatenate([*(_rhythm_side(own, num_nodes) for own in rows.sides()), _whole(rows, num_nodes)], axis=1)


def _rhythm_side(own: Segments, num_nodes: int) -> Floats:
    first = own.first
    count = np.diff(first, append=len(own.node))
    start = own.time[first]
    span = own.time[first + count - 1] - start
    known, divisor = span > 0, np.maximum(span, 1)
    mean, deviation, _, _ = _gaps(own.time, first, count)
    since = own.time - np.repeat(start, count)
    # Accounts one after the other on one axis of time: one search finds the start of every event's window.
    axis = since + np.repeat(np.cumsum(span + 1) - span - 1, count)
    begin = np.maximum(np.searchsorted(axis, axis - np.repeat(span // 10, count)), np.repeat(first, count))
    within = np.maximum.reduceat(np.arange(len(axis)) - begin + 1, first)
    columns = [
        (count - 1) * _DAY / divisor * known,
        (deviation - mean) / np.where(known, deviation + mean, 1) * known,
        np.where(known, within / count, 1),
        np.where(known, np.add.reduceat(since / np.repeat(divisor, count), first) / count, 0.5),
    ]
    columns += [np.add.reduceat(value, first) * _DAY / divisor * known for value in own.values.T]
    return _spread(columns, own.node[first], num_nodes)


def _whole(rows: Segments, num_nodes: int) -> Floats:
    first = rows.first
    count = np.diff(first, append=len(rows.node))
    index, begin = np.arange(len(rows.node)), np.repeat(first, count)
    latest = np.maximum.accumulate(np.where(rows.received, index, -1))
    before = np.append(-1, latest[:-1])
    held = np.flatnonzero(rows.sent & (before >= begin))
    got = before[held]
    wait = (rows.time[held] - rows.time[got]).astype(np.float64)
    holds = np.bincount(rows.node[held], minlength=num_nodes)[rows.node[first]]
    shortest = np.full(num_nodes, np.inf)
    starts = np.flatnonzero(np.diff(rows.node[held], prepend=-1))
    shortest[rows.node[held][starts]] = np.minimum.reduceat(wait, starts)
    side = 2 * rows.received + rows.sent
    changed = np.diff(side, prepend=0) != 0
    changed[first] = False
    angle = 2 * np.pi * (rows.time % _DAY) / _DAY
    columns = [
        _mean_of_held(np.log1p(wait), rows, held, holds, num_nodes),
        np.where(holds > 0, shortest[rows.node[first]], -1),
        np.add.reduceat(changed, first, dtype=np.float64) / np.maximum(count - 1, 1),
        np.add.reduceat(np.cos(angle), first) / count,
        np.add.reduceat(np.sin(angle), first) / count,
    ]
    for value in np.abs(rows.values).T:
        one, other = value[held], value[got]
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where(one == other, 0, np.minimum(np.abs(np.log(one / other)), np.log(1000)))
        columns.append(_mean_of_held(distance, rows, held, holds, num_nodes))
    return _spread(columns, rows.node[first], num_nodes)


def _mean_of_held(values: Floats, rows: Segments, held: Ints, holds: Ints, num_nodes: int) -> Floats:
    total = np.bincount(rows.node[held], values, num_nodes)[rows.node[rows.first]]
    return np.where(holds > 0, total / np.maximum(holds, 1), -1)


def _spread(columns: list[Floats], node: Ints, num_nodes: int) -> Floats:
    """One row per account; zeros for accounts without events."""
    rows = np.zeros((num_nodes, len(columns)))
    rows[node] = np.stack(columns, axis=1)
    return rows
