"""Partner statistics of an account without some of its partners, in many alternatives; see ``gtea.features.removals``.

Sums over partners are taken up where the first partner that is gone begins, and a side that loses no partner stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.features.partner_statistics import PartnerStatistics, add_partner, fill_summary, finish_side
from gtea.features.removals import Removals
from gtea.runtime.jit import jit

_NUM_MARKS = 1024
"""How many running sums are kept."""


def partner_rows_without(statistics: PartnerStatistics, accounts: Removals) -> NDArray[np.float64]:
    """The rows of an account without some of its partners; see ``PartnerStatistics.rows``."""
    known = statistics.flows_of(accounts.account.node)
    left = np.ascontiguousarray(~accounts.lost[:, np.searchsorted(accounts.account.partners, known.partner)])
    every = 1 + len(known.partner) // _NUM_MARKS
    rows = np.zeros((len(left), statistics.width))
    _fill_left(known.flows, known.profiles, left, every, rows)
    return rows


class _Sums(NamedTuple):
    """Running sums of the three sides."""

    counts: NDArray[np.float64]
    """The number of partners, and the sum of their squared numbers of events."""
    means: NDArray[np.float64]
    """What becomes a row of the statistics."""
    flows: NDArray[np.float64]
    largest: NDArray[np.float64]


@jit
def _add_partners(
    flows: NDArray[np.float64],
    profiles: NDArray[np.float64],
    listed: NDArray[np.int64],
    left: NDArray[np.bool_],
    side: int,
    sums: _Sums,
) -> None:
    """Add those of the listed partners that are left to one side."""
    means, totals, largest = sums.means, sums.flows, sums.largest
    count, squares = sums.counts[side, 0], sums.counts[side, 1]
    for i in listed:
        if left[i]:
            count += 1
            squares += flows[i, side, 0] * flows[i, side, 0]
            add_partner(flows, i, side, profiles, i, means, totals, largest)
    sums.counts[side, 0], sums.counts[side, 1] = count, squares


@jit
def _finish(sums: _Sums, side: int, row: NDArray[np.float64]) -> None:
    """Write the columns of one side."""
    count = int(sums.counts[side, 0])
    row[:] = sums.means[side]
    if count > 0:
        finish_side(row, count, sums.counts[side, 1], sums.flows[side], sums.largest[side])


@jit
def _copy(source: _Sums, target: _Sums) -> None:
    target.counts[:], target.means[:] = source.counts, source.means
    target.flows[:], target.largest[:] = source.flows, source.largest


@jit
def _fill_left(
    flows: NDArray[np.float64],
    profiles: NDArray[np.float64],
    left: NDArray[np.bool_],
    every: int,
    rows: NDArray[np.float64],
) -> None:
    """Fill the rows, each with some of the partners left; flows and profiles are by partner."""
    num_partners, num_flows, width = len(flows), flows.shape[2], (rows.shape[1] - 2) // 3
    num_marks = num_partners // every + 1
    counts, means = np.zeros((num_marks + 1, 3, 2)), np.zeros((num_marks + 1, 3, width))
    totals, largest = np.zeros((num_marks + 1, 3, num_flows)), np.zeros((num_marks + 1, 3, num_flows))
    # The last one is for what is being added up.
    sums = _Sums(counts[num_marks], means[num_marks], totals[num_marks], largest[num_marks])
    # Listed by side, because most partners have one: asking each of them every time costs more than the sums.
    listed, length = np.empty((3, num_partners), dtype=np.int64), np.zeros((num_marks + 1, 3), dtype=np.int64)
    whole, everybody = np.zeros((3, width)), np.ones(num_partners, dtype=np.bool_)
    for mark in range(num_marks):
        _copy(sums, _Sums(counts[mark], means[mark], totals[mark], largest[mark]))
        length[mark + 1] = length[mark]
        for i in range(mark * every, min((mark + 1) * every, num_partners)):
            for side in range(3):
                if flows[i, side, 0] > 0:
                    listed[side, length[mark + 1, side]] = i
                    length[mark + 1, side] += 1
        for side in range(3):
            new = listed[side, length[mark, side] : length[mark + 1, side]]
            _add_partners(flows, profiles, new, everybody, side, sums)
    for side in range(3):
        _finish(sums, side, whole[side])
    for row in range(len(left)):
        by_side = rows[row, : 3 * width].reshape(3, width)
        by_side[:] = whole
        first, lost = _lost_sides(flows, left[row])
        mark = first // every
        if first < num_partners:
            _copy(_Sums(counts[mark], means[mark], totals[mark], largest[mark]), sums)
            for side in range(3):
                if lost >> side & 1:
                    again = listed[side, length[mark, side] : length[num_marks, side]]
                    _add_partners(flows, profiles, again, left[row], side, sums)
                    _finish(sums, side, by_side[side])
        if left[row].any():
            fill_summary(flows, left[row], rows[row, 3 * width :])


@jit
def _lost_sides(flows: NDArray[np.float64], left: NDArray[np.bool_]) -> tuple[int, int]:
    """The first partner that is gone, and the sides that have lost one, as bit flags."""
    first, lost = len(left), 0
    for i in range(len(left)):
        if not left[i]:
            first = min(first, i)
            lost |= 4 | (flows[i, 0, 0] > 0) | (flows[i, 1, 0] > 0) << 1
    return first, lost
