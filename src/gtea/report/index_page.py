"""The index of a report: which accounts to look at first, and how many it pays to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from gtea.report.assets import render
from gtea.report.case_page import Place
from gtea.report.clock import Clock
from gtea.report.common_facts import CommonFacts
from gtea.report.effect_bar import draw_small_effect
from gtea.report.figures import score_text
from gtea.report.index_row import IndexRow
from gtea.report.lanes import draw_axis
from gtea.report.precision_figure import FLOOR, LEFT, TALL, WIDE, draw_precision
from gtea.report.standing_figure import draw_standing

_WIDTH = 430.0
_LANE_WIDTH = 230.0
_MINUTES = 30
"""How long an account takes, at first. Whoever reads the page can change it there."""


def render_index(
    common: CommonFacts,
    rows: Sequence[IndexRow],
    clock: Clock,
    window: tuple[int, int],
    as_of: int,
    footer: Sequence[tuple[str, str]],
    *,
    unlabelled: bool,
) -> str:
    """The page as text.

    Args:
        window: The page time that the lanes show.
        as_of: The cut in page time.
        footer: Names and values that tell where the report is from.
        unlabelled: Whether accounts that the model was trained with are left out.
    """
    expected = common.expected
    place = Place(0, len(rows), len(str(len(rows))))
    lowest = rows[-1].score
    content = {
        "title": f"{len(rows):,} accounts to look at first · gtea",
        "number": len(rows),
        "minutes": _MINUTES,
        "as_of": clock.instant(as_of),
        "standing": draw_standing(
            np.array(common.score_counts), width=_WIDTH, alerts_from=lowest, label=f"first {len(rows)}: from"
        ),
        "total": common.num_accounts,
        "curve": None if expected is None else draw_precision(expected.intervals[: len(rows)]),
        "expected": expected,
        "model": common.model_name,
        "rows": [_row(row, place.file(number)) for number, row in enumerate(rows, start=1)],
        "unlabelled": unlabelled,
        "known": sum(row.known is not None for row in rows),
        "axis": draw_axis(clock.ticks(*window, most=4), _LANE_WIDTH),
        "footer": footer,
    }
    return render("index.html", content, _data(common, rows))


def _row(row: IndexRow, file: str) -> dict[str, Any]:
    largest = max((abs(effect) for _, effect in row.strongest), default=0.0)
    return {
        "file": file,
        "account": row.account,
        "whole": row.whole,
        "known": row.known,
        "positive": row.positive,
        "words": f"{row.whole} {row.known or ''} {row.reason}",
        "kind": "new" if row.known is None else "known",
        "score": score_text(row.score),
        "score_key": f"{row.score:.9g}",
        "strongest": [(draw_small_effect(effect, largest), name) for name, effect in row.strongest],
        "largest": f"{largest:.6g}",
        "counting": row.num_counting,
        "pairs": row.num_pairs,
        "moved": row.moved,
        "last_day": row.last_day,
        "last_time": row.last_time,
        "activity": Markup(row.activity),  # noqa: S704 (a drawing of ours)
        "reason": row.reason,
    }


def _data(common: CommonFacts, rows: Sequence[IndexRow]) -> dict[str, Any]:
    expected = common.expected
    return {
        "kind": "index",
        "thing": "account",
        "things": "accounts",
        "width": _WIDTH,
        "frame": [LEFT, WIDE, FLOOR, TALL],
        "scores": [round(row.score, 6) for row in rows],
        "expected": None
        if expected is None
        else [
            [round(each.value, 4), round(each.low, 4), round(each.high, 4)] for each in expected.intervals[: len(rows)]
        ],
    }
