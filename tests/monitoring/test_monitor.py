"""A model is monitored by the command line: days that fit, days that don't, and nothing from the future."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.monitoring.conftest import like_before

from gtea.errors import UsageError
from gtea.ingestion.append import append
from gtea.monitoring.monitor import MonitorOptions
from gtea.store.store import Store

DAYS = ("--steps-per-day", "100", "--days", "3")


def test_days_like_before_cross_no_limit_and_other_ones_do(
    trained: tuple[Path, Path], grown: Callable[..., Store], tmp_path: Path, gtea: Callable[..., Any]
) -> None:
    same = grown(like_before(800, 1000), "same")
    quiet = ("--max-unseen", "none", "--max-feature-drift", "none", "--max-score-drift", "3")
    done = gtea("monitor", trained[1], same.path, "--out", tmp_path / "a", *DAYS, *quiet)
    assert done.code == 0, done.err
    record = json.loads((tmp_path / "a" / "monitor.json").read_text())
    assert record["crossed"] == []
    other = grown(like_before(800, 1000, factor=50.0, prefix="v"), "other")
    done = gtea("monitor", trained[1], other.path, "--out", tmp_path / "b", *DAYS, "--checked-days", "2")
    assert done.code == 6
    assert "is outside of" in done.err
    assert "Traceback" not in done.err
    record = json.loads((tmp_path / "b" / "monitor.json").read_text())
    crossed = {(each["limit"], each["subject"]) for each in record["crossed"]}
    assert ("--max-feature-drift", "event amount") in crossed
    assert ("--max-unseen", "unseen accounts") in crossed
    assert [day["checked"] for day in record["days"]] == [False, True, True]
    last = record["days"][-1]
    assert last["feature_drift"]["event amount"]["psi"] > last["feature_drift"]["event amount"]["by_chance"]
    assert (tmp_path / "b" / "index.html").exists()
    as_json = gtea("monitor", trained[1], other.path, "--out", tmp_path / "c", *DAYS, "--checked-days", "2", "--json")
    assert as_json.code == 6
    assert json.loads(as_json.out) == record


def test_the_future_changes_no_byte(
    trained: tuple[Path, Path], grown: Callable[..., Store], tmp_path: Path, gtea: Callable[..., Any]
) -> None:
    store = grown(like_before(800, 1000))
    (tmp_path / "l.csv").write_text("account,label,known_at\nu001,big,900\nu002,small,901\nu003,big,960\n")
    written = []
    for name in ("a", "b"):
        words = ("--as-of", "950", "--labels", tmp_path / "l.csv", *DAYS, "--out", tmp_path / name)
        assert gtea("monitor", trained[1], store.path, *words).code in (0, 6)
        written.append([(tmp_path / name / file).read_bytes() for file in ("monitor.json", "index.html")])
        if name == "b":
            break
        later = {"src": ["zz", "a0"], "dst": ["zy", "u001"], "time": [950, 2000], "amount": [1e6, 1e6]}
        append(store.path, pa.table(later))
        (tmp_path / "l.csv").write_text("account,label,known_at\nu001,big,900\nu002,small,901\nu003,big,961\n")
    assert written[0] == written[1]


def test_labels_that_came_in_are_compared(
    trained: tuple[Path, Path], grown: Callable[..., Store], tmp_path: Path, gtea: Callable[..., Any]
) -> None:
    store = grown(like_before(800, 1000))
    rows = [f"u{number:03},{'small' if number % 2 else 'big'},{810 + number % 100}" for number in range(200)]
    (tmp_path / "l.csv").write_text("\n".join(["account,label,known_at", *rows]))
    words = ("--labels", tmp_path / "l.csv", "--out", tmp_path / "o", *DAYS, "--max-unseen", "none")
    done = gtea("monitor", trained[1], store.path, *words, "--max-calibration", "0.0001", "--json")
    record = json.loads(done.out)
    assert record["calibration"]["used"] == 200
    assert abs(record["calibration"]["observed"] - np.mean([row.split(",")[1] == "big" for row in rows])) < 1e-12
    assert "average_precision" in record["calibration"]
    page = (tmp_path / "o" / "index.html").read_text()
    assert "200 of 200 labels" in page


def test_what_is_refused(trained: tuple[Path, Path], tmp_path: Path, gtea: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="--days, --checked-days, --steps-per-day: must be at least 1"):
        MonitorOptions(days=2, checked_days=3)
    for words, message in (
        (("--as-of", "5"), "must be after the training cut"),
        (("--trained-as-of", "0"), "the store must hold events from before the training cut"),
        (("--max-unseen", "many"), "--max-unseen: must be a number, or none (got 'many')"),
    ):
        done = gtea("monitor", trained[1], trained[0], "--out", tmp_path / "o", *words)
        assert (done.code, message in done.err) == (2, True), done.err
    assert not (tmp_path / "o").exists()


def test_the_page_of_a_report_is_not_replaced(
    trained: tuple[Path, Path], tmp_path: Path, gtea: Callable[..., Any]
) -> None:
    (tmp_path / "index.html").write_text("a report")
    done = gtea("monitor", trained[1], trained[0], "--out", tmp_path)
    assert (done.code, "has an index.html that is not of gtea monitor" in done.err) == (2, True), done.err
    assert (tmp_path / "index.html").read_text() == "a report"
