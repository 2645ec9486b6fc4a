"""The page of a monitored model, made of what monitor.json holds: one file, no script, nothing fetched."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

from gtea.monitoring.day_figure import draw_days
from gtea.report.assets import render_still
from gtea.report.figures import NOTHING, counted, percent_text
from gtea.report.shown import shown

_FEATURES = 30
"""How many features are shown, those that drifted most first. All are in monitor.json."""
_COLUMNS = ("Active accounts", "Events", "Score PSI", "Mean score", "Alerts", "Of all", "Never seen", "Of all")


def render_monitor(record: Mapping[str, Any]) -> str:
    """The page as text.

    Args:
        record: The content of monitor.json.
    """
    days, limits, crossed = record["days"], record["limits"], record["crossed"]
    names = [day["day"] for day in days]
    features = _features(days, limits["--max-feature-drift"])
    content = {
        "title": "All limits hold" if not crossed else f"{counted(len(crossed), 'limit')} crossed",
        "crossed": [{**each, "text": shown(each["text"], 200)} for each in crossed],
        "as_of": record["as_of_date"],
        "note": _note(record),
        "facts": _facts(record),
        "charts": _charts(days, names, limits, record["reference"]),
        "columns": _COLUMNS,
        "rows": [{"name": day["day"], "checked": day["checked"], "cells": _cells(day, limits)} for day in days],
        "features_note": (
            f"PSI of the {min(_FEATURES, len(features))} features that drifted most, of {len(features)}: red where it "
            "is above the limit and more than chance explains. Event: a column of the day's events. Input: what the "
            "model reads of an account."
        ),
        "features": features[:_FEATURES],
        "day_names": names,
        "labels": _labels(record["calibration"]),
        "labels_note": _labels_note(record["calibration"]),
        "footer": [
            ("Model", f"{shown(record['model'])} sha256:{record['model_digest']}"),
            ("Data", f"{shown(record['store'])}, as of {record['as_of_date']}"),
            ("Limits", ", ".join(f"{name} {'none' if value is None else value}" for name, value in limits.items())),
            ("Made by", f"gtea {importlib.metadata.version('gtea')}"),
        ],
    }
    return render_still("monitor.html", content)


def _note(record: Mapping[str, Any]) -> str:
    reference, checked = record["reference"], [day["day"] for day in record["days"] if day["checked"]]
    which = checked[0] if len(checked) == 1 else f"{checked[0]} to {checked[-1]}"
    return (
        f"Held against the limits: {which}. Compared with the {counted(reference['days'], 'day')} before the training "
        f"cut, {record['training_cut_date']}. Each day's active accounts are scored as of the end of that day."
    )


def _facts(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    last, reference = record["days"][-1], record["reference"]
    facts = [
        ("Last day", last["day"], counted(last["events"], "event")),
        ("Active accounts", f"{last['accounts']:,}", f"{reference['accounts']:,} in the reference"),
        ("Score PSI", f"{last['score_drift']['psi']:.3f}", f"by chance up to {last['score_drift']['by_chance']:.3f}"),
    ]
    if last["alerts"] is not None:
        expected = (reference["alert_share"] or 0) * last["accounts"]
        facts.append(("Alerts", f"{last['alerts']:,}", f"{expected:,.1f} expected"))
    facts.append(("Never seen in training", _share(last["unseen_share"]), counted(last["unseen"], "account")))
    return facts


def _charts(
    days: Sequence[Mapping[str, Any]], names: list[str], limits: Mapping[str, Any], reference: Mapping[str, Any]
) -> list[tuple[str, Any, str]]:
    drifts = [day["score_drift"]["psi"] for day in days]
    unseen = [day["unseen_share"] for day in days]
    limit, most = limits["--max-score-drift"], limits["--max-unseen"]
    charts = [
        (
            "Drift of scores",
            draw_days(names, drifts, [_beyond(d["score_drift"], limit) for d in days], limit, _told(names, drifts)),
            "PSI against the days before training" + (f"; line: limit {limit:g}" if limit is not None else ""),
        )
    ]
    if days[0]["alerts"] is not None:
        alerts = [day["alerts"] for day in days]
        caption = f"Expected: {_share(reference['alert_share'])} of the active accounts"
        most_alerts = limits["--max-alerts"]
        over = [most_alerts is not None and count > most_alerts for count in alerts]
        charts.append(("Alerts", draw_days(names, alerts, over, most_alerts, _told(names, alerts)), caption))
    over = [most is not None and share is not None and share > most for share in unseen]
    caption = "Share of the active accounts" + (f"; line: limit {most:.0%}" if most is not None else "")
    charts.append(("Never seen in training", draw_days(names, unseen, over, most, _told(names, unseen)), caption))
    return charts


def _told(names: Sequence[str], values: Sequence[float | None]) -> str:
    """A figure in words, for those who can't see it."""
    pairs = zip(names, values, strict=True)
    return ", ".join(f"{name} {'nothing' if value is None else f'{value:.3g}'}" for name, value in pairs)


def _cells(day: Mapping[str, Any], limits: Mapping[str, Any]) -> list[tuple[str, bool]]:
    most = limits["--max-unseen"]
    return [
        (f"{day['accounts']:,}", False),
        (f"{day['events']:,}", False),
        (f"{day['score_drift']['psi']:.3f}", _beyond(day["score_drift"], limits["--max-score-drift"])),
        (NOTHING if day["mean_score"] is None else f"{day['mean_score']:.4f}", False),
        (NOTHING if day["alerts"] is None else f"{day['alerts']:,}", False),
        (_share(day["alert_share"]), False),
        (f"{day['unseen']:,}", False),
        (_share(day["unseen_share"]), most is not None and (day["unseen_share"] or 0) > most),
    ]


def _features(days: Sequence[Mapping[str, Any]], limit: float | None) -> list[dict[str, Any]]:
    """A row for each feature, the largest drift of any day first."""
    names = sorted(
        days[0]["feature_drift"], key=lambda name: (-max(d["feature_drift"][name]["psi"] for d in days), name)
    )
    return [
        {
            "name": shown(name, 60),
            "cells": [
                (f"{day['feature_drift'][name]['psi']:.3f}", _beyond(day["feature_drift"][name], limit)) for day in days
            ],
        }
        for name in names
    ]


def _labels(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    if not found["used"]:
        return {"rows": []}
    curve = found["reliability"]
    rows = zip(curve["predicted"], curve["observed"], curve["counts"], strict=True)
    return {
        "rows": [(percent_text(predicted), percent_text(observed), f"{count:,}") for predicted, observed, count in rows]
    }


def _labels_note(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    left = [
        (found["trained_with"], "the model was trained with"),
        (found["known_later"], "became known later"),
        (found["no_event_before"], "are of accounts without an event by then"),
        (found["unknown"], "are of accounts that the store does not have"),
    ]
    out = "; ".join(f"{count:,} {why}" for count, why in left if count)
    told = f"{found['used']:,} of {found['labels']:,} labels" + (f" ({out})" if out else "")
    if found["trained_with"] is None:
        told += ". The model keeps no labels of its training: leave those out yourself"
    if not found["used"]:
        return f"{told}."
    return (
        f"{told}. Predicted {percent_text(found['predicted'])}, observed {percent_text(found['observed'])} (standard "
        f"error {percent_text(found['standard_error'])}); Brier score {found['brier']:.4f}, calibration error "
        f"{found['calibration_error']:.4f}."
    )


def _beyond(found: Mapping[str, float], limit: float | None) -> bool:
    return limit is not None and found["psi"] > limit and found["psi"] > found["by_chance"]


def _share(share: float | None) -> str:
    return NOTHING if share is None else percent_text(share)
