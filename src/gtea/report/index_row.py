"""A case in one row of the index, ready for JSON: rows are made where their pages are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gtea.report.case import Case
from gtea.report.figures import amount_text
from gtea.report.lanes import draw_activity, lane_of
from gtea.report.shown import short_id, shown
from gtea.report.summary import one_line

_STRONGEST = 3
_BINS = 120


@dataclass(frozen=True)
class IndexRow:
    """What the index says about a case."""

    account: str
    whole: str
    known: str | None
    positive: bool
    score: float
    strongest: tuple[tuple[str, float], ...]
    """The short ids and effects of the strongest counterparties."""
    num_counting: int
    num_pairs: int
    moved: tuple[tuple[str, float], tuple[str, float]]
    """Received and sent, as text and to sort by."""
    last_day: str
    last_time: int
    activity: str
    """A drawing."""
    reason: str

    def to_json(self) -> dict[str, Any]:
        """For a worker to send."""
        return asdict(self)


def index_row(case: Case, window: tuple[int, int]) -> IndexRow:
    """Sum a case up.

    Args:
        window: The page time that all rows of the index show.
    """
    dealings, about = case.dealings, case.explanation
    order = np.argsort(dealings.time, kind="stable")
    times = dealings.page_time[order]
    size = np.abs(dealings.amount[order]) if case.has_amounts else np.ones(len(order))
    lane = lane_of(times, dealings.sent[order], size, window, len(order), bins=_BINS)
    return IndexRow(
        short_id(about.account, 10),
        shown(about.account),
        None if case.known is None else shown(case.known, 40),
        case.known is not None and case.known == case.common.positive,
        about.score,
        tuple((short_id(pair.about.account, 6), pair.about.effect) for pair in case.pairs[:_STRONGEST]),
        len(case.counting),
        len(case.pairs),
        (_moved(case, sent=False), _moved(case, sent=True)),
        case.clock.day(int(times[-1])),
        int(times[-1]),
        str(draw_activity(lane)),
        one_line(case),
    )


def _moved(case: Case, *, sent: bool) -> tuple[str, float]:
    side = case.dealings.sent == sent
    if case.has_amounts:
        amount = float(case.dealings.amount[side].sum())
        return amount_text(amount), amount
    return f"{side.sum():,}", float(side.sum())
