"""The page of a monitored model: no script, nothing fetched, hostile names inert."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

from tests.report.hostile_ids import HOSTILE

from gtea.monitoring.limits import Crossing, Limits
from gtea.monitoring.monitor_page import render_monitor

NAMES = [str(name) for name in HOSTILE]


def record(*, alerts: bool = True, labels: bool = True) -> dict[str, Any]:
    """A made-up result with hostile names everywhere."""
    drift = {f"event {name}": {"psi": number / 20, "by_chance": 0.1} for number, name in enumerate(NAMES)}
    days = [
        {
            "day": f"2024-06-{number:02}",
            "from": 0,
            "to": 1,
            "checked": number == 14,
            "accounts": 100 * number,
            "events": 1000,
            "score_drift": {"psi": number / 20, "by_chance": 0.2},
            "mean_score": 0.1 if number else None,
            "alerts": number if alerts else None,
            "alert_share": 0.01 if alerts else None,
            "unseen": number,
            "unseen_share": number / 20 if number else None,
            "feature_drift": drift,
        }
        for number in range(15)
    ]
    calibration: dict[str, Any] = {
        **dict.fromkeys(("labels", "used", "known_later", "no_event_before", "unknown"), 3),
        "trained_with": None,
        **dict.fromkeys(("predicted", "observed", "standard_error", "brier", "calibration_error"), 0.25),
        "reliability": {"predicted": [0.1, 0.9], "observed": [0.2, 0.8], "counts": [5, 6]},
    }
    crossings = [Crossing("--max-feature-drift", "2024-06-14", name, 1.0, 0.2, name).to_json() for name in NAMES]
    share = 0.01 if alerts else None
    return {
        "model": NAMES[0],
        "model_digest": "d" * 64,
        "store": NAMES[1],
        "as_of_date": "2024-06-15T00:00:00Z",
        "training_cut_date": "2024-05-01T00:00:00Z",
        "reference": {"days": 14, "from": "a", "to": "b", "accounts": 900, "events": 1, "alert_share": share},
        "days": days,
        "calibration": calibration if labels else None,
        "limits": Limits(alerts=9).to_json(),
        "crossed": crossings,
    }


def test_the_policy_lets_in_our_style_and_nothing_else() -> None:
    page = render_monitor(record())
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert policy in page.replace("&#39;", "'")
    assert "<script" not in page
    assert re.findall(r"(?:src|href)=\"(?!#)", page) == []
    assert " style=" not in page


def test_names_from_strangers_are_text() -> None:
    plain = re.findall(r"<\w+", render_monitor({**record(), "crossed": []}))
    assert set(plain) <= {f"<{tag}" for tag in _TAGS}


_TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "header",
        "span",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
        "p",
        "dl",
        "div",
        "dt",
        "dd",
        "small",
        "figure",
        "figcaption",
        "svg",
        "rect",
        "line",
        "text",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "footer",
        "ul",
        "li",
    ]
)


def test_without_alerts_limits_and_labels() -> None:
    unlimited = dict.fromkeys(Limits().to_json())
    page = render_monitor({**record(alerts=False, labels=False), "crossed": [], "limits": unlimited})
    assert "<h1>All limits hold</h1>" in page
    assert "Labels that came in" not in page
    unused = record()
    unused["calibration"] = {**unused["calibration"], "used": 0, "trained_with": 2}
    assert "0 of 3 labels (2 the model was trained with" in render_monitor(unused)
