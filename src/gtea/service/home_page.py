"""The home page: the accounts with the highest scores, and what of it moves as events arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gtea.report.assets import render_live, render_part
from gtea.report.figures import score_text
from gtea.report.shown import short_id, shown
from gtea.service.published import Published

_SHORT = 24


def render_home(
    published: Published,
    rows: Sequence[Mapping[str, Any]],
    positive: str | None,
    text: str,
    limit: int,
    *,
    only_alerts: bool,
) -> str:
    """The page as text.

    Args:
        text: What was searched for.
    """
    asked = {"text": text, "limit": limit, "only_alerts": only_alerts}
    return render_live("live.html", _content(published, rows, positive) | asked)


def render_list(published: Published, rows: Sequence[Mapping[str, Any]], positive: str | None) -> str:
    """The part of the page that moves."""
    return render_part("live_list.html", _content(published, rows, positive))


def _content(published: Published, rows: Sequence[Mapping[str, Any]], positive: str | None) -> dict[str, Any]:
    standing = published.standing
    return {
        "title": "Accounts by score · gtea",
        "label": "the predicted class" if positive is None else f"“{shown(positive, 80)}”",
        "total": standing.num_ranked,
        "alerts": None if standing.threshold is None else standing.num_alerts,
        "threshold": None if standing.threshold is None else score_text(standing.threshold),
        "number": published.number,
        "pending": standing.pending,
        "rows": [
            {
                "rank": row["rank"],
                "key": row["key"],
                "short": short_id(row["account"], _SHORT),
                "whole": shown(row["account"]),
                "score": score_text(row["score"]),
                "alert": row["alert"],
            }
            for row in rows
        ],
    }
