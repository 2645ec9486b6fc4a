"""What changed since earlier scores: who is new, whose score rose or fell, and which new events stand behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.scoring.new_events import EventsSince
from gtea.scoring.previous_scores import PreviousScores
from gtea.store.view import View

_ROUNDING = 1e-6
"""A smaller difference is no change: the order of sums may differ."""
_NAMED = 10
"""How many counterparties of an account are named."""
_TOP = 10
_OWN, _NEAR, _NEITHER = "own events", "counterparties' events", "neither"


class ChangesSummary(TypedDict):
    """What changed, ready for JSON."""

    out: str
    since: str
    new: int
    risen: int
    fallen: int
    new_alerts: int | None
    """None if one of the two models has no threshold."""
    ended_alerts: int | None
    not_scored_before: int
    """Accounts that the earlier table left out, where it was of chosen accounts."""
    not_scored_now: int
    late_events: int | None
    """Ends of events that are older than the earlier cut and came after it. None if the table can't tell."""
    model_changed: bool | None
    """None for a CSV file, which doesn't say."""
    top: list[dict[str, Any]]


@dataclass(frozen=True)
class ScoredAccounts:
    """Today's scores, in the order of their table."""

    nodes: NDArray[np.int64]
    scores: NDArray[np.float64]
    alerts: NDArray[np.bool_] | None
    active: NDArray[np.bool_]
    model_digest: str


def changes_since(
    view: View, now: ScoredAccounts, before: PreviousScores, min_change: float, out: str
) -> tuple[pa.Table, ChangesSummary]:
    """The table of changed accounts, the most suspicious first, and its summary.

    Args:
        min_change: The smallest difference that counts. Accounts that became alerts or ceased to be one always do.
        out: Where the table goes.
    """
    if before.cut > view.cut:
        raise UsageError(
            f"--since: must be of the same time or earlier (got {view.store.date(before.cut)}, and now "
            f"{view.store.date(view.cut)}). Name earlier scores."
        )
    accounts = view.store.accounts.take(now.nodes)
    row = before.rows_of(accounts)
    known = row >= 0
    earlier = np.where(known, before.scores[row], np.nan)
    # An account without an event had a score that said nothing.
    is_new = now.active & np.where(known, ~before.active[row], before.all_accounts)
    difference = np.where(is_new, np.nan, now.scores - earlier)
    flipped = np.zeros(len(row), dtype=bool)
    if now.alerts is not None and before.alerts is not None:
        flipped = known & (now.alerts != before.alerts[row])
    moved = known & ~is_new & ((np.abs(now.scores - earlier) >= max(min_change, _ROUNDING)) | flipped)
    up = now.scores > earlier
    if now.alerts is not None:
        up = np.where(now.scores == earlier, now.alerts, up)
    kind = np.select([is_new, moved & up, moved], ["new", "risen", "fallen"], "")
    events = EventsSince(view, before.cut)
    late = _late_events(events, before)
    shown = np.flatnonzero(kind != "")
    table = _table(view, now, before, events, late, shown, kind, row, earlier, difference)
    alerts = now.alerts is not None and before.alerts is not None
    alert_now = np.zeros(len(row), dtype=bool) if now.alerts is None else now.alerts
    alert_then = np.zeros(len(row), dtype=bool) if before.alerts is None else known & before.alerts[row]
    summary = ChangesSummary(
        out=out,
        since=view.store.date(before.cut),
        new=int((kind == "new").sum()),
        risen=int((kind == "risen").sum()),
        fallen=int((kind == "fallen").sum()),
        new_alerts=int((alert_now & ~alert_then & (known | is_new)).sum()) if alerts else None,
        ended_alerts=int((~alert_now & alert_then).sum()) if alerts else None,
        not_scored_before=0 if before.all_accounts else int((~known).sum()),
        not_scored_now=len(before.scores) - int(known.sum()),
        late_events=None if late is None else int(late.sum()),
        model_changed=None if before.model_digest is None else before.model_digest != now.model_digest,
        top=table.slice(0, _TOP).to_pylist(),
    )
    return table, summary


def _late_events(events: EventsSince, before: PreviousScores) -> NDArray[np.int64] | None:
    """By node; None if the table doesn't say how many events each account had, or not of all accounts."""
    if before.events is None:
        return None
    store = events.view.store
    rows = before.rows_of(store.accounts.take(np.arange(store.num_nodes)))
    if not before.all_accounts and (rows < 0).any():
        return None
    return events.late(np.where(rows >= 0, before.events[rows], 0), before.name)


def _table(
    view: View,
    now: ScoredAccounts,
    before: PreviousScores,
    events: EventsSince,
    late: NDArray[np.int64] | None,
    shown: NDArray[np.int64],
    kind: NDArray[np.str_],
    row: NDArray[np.int64],
    earlier: NDArray[np.float64],
    difference: NDArray[np.float64],
) -> pa.Table:
    nodes, row = now.nodes[shown], row[shown]
    has_new = events.counts > 0 if late is None else (events.counts > 0) | (late > 0)
    own, near = has_new[nodes], events.near(has_new)[nodes]
    dealings = [events.dealings(int(node)) if events.counts[node] else [] for node in nodes]
    date = view.store.date
    columns: dict[str, Any] = {
        "account": view.store.accounts.take(nodes),
        "change": pa.array(kind[shown].tolist(), pa.string()),
        "score": now.scores[shown],
        "previous_score": pa.array(earlier[shown], from_pandas=True),
        "difference": pa.array(difference[shown], from_pandas=True),
        "rank": shown + 1,
        "previous_rank": pa.array(np.where(row >= 0, before.ranks[row], 0), mask=row < 0),
    }
    if now.alerts is not None:
        columns["alert"] = now.alerts[shown]
    if before.alerts is not None:
        columns["previous_alert"] = pa.array(before.alerts[row], mask=row < 0)
    columns |= {
        "why": pa.array(np.select([own, near], [_OWN, _NEAR], _NEITHER).tolist(), pa.string()),
        "new_events": events.counts[nodes],
        "late_events": pa.nulls(len(nodes), pa.int64()) if late is None else late[nodes],
        "num_counterparties": events.num_counterparties[nodes],
        "first_new_event": pa.array(
            [date(min(d.first for d in each)) if each else None for each in dealings], pa.string()
        ),
        "last_new_event": pa.array(
            [date(max(d.last for d in each)) if each else None for each in dealings], pa.string()
        ),
        "counterparties": pa.array([_named(view, each) for each in dealings], pa.string()),
    }
    return pa.table(columns)


def _named(view: View, dealings: list[Any]) -> str:
    """The counterparties with the most new events, as a JSON list."""
    return json.dumps(
        [
            {
                "account": view.store.account(each.node),
                "events": each.events,
                "first": view.store.date(each.first),
                "last": view.store.date(each.last),
            }
            for each in dealings[:_NAMED]
        ],
        ensure_ascii=False,
    )
