"""What changed between two nights, by the command line, against a comparison row by row."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.training.test_baselines import CPU, node_run, payers, stored

from gtea.errors import UsageError
from gtea.ingestion.append import append
from gtea.scoring.table import Since, score_accounts
from gtea.store.store import Store
from gtea.training.fit import train_task
from gtea.training.loop import no_report

NEW = [("u002", "s3", 800, 9.0), ("u002", "s3", 801, 9.0), ("u002", "new-shop", 802, 9.0), ("fresh", "u006", 803, 9.0)]
LATE = [("u004", "s5", 120, 9.0)]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A store that has grown since its accounts were scored, the model, and the folder with the earlier scores."""
    folder = tmp_path_factory.mktemp("night")
    store = stored(payers(), folder / "s")
    train_task(node_run(store, folder / "m", "tree", as_of=None), no_report)
    for name in ("before.parquet", "before.csv"):
        score_accounts(folder / "m", store.path, folder / name, device=CPU)
    columns = dict(zip(("src", "dst", "time", "amount"), map(list, zip(*NEW, *LATE, strict=True)), strict=True))
    append(folder / "s", pa.table(columns))
    return folder / "s", folder / "m", folder


def test_changes_are_those_of_a_comparison_row_by_row(night: tuple[Path, Path, Path], tmp_path: Path) -> None:
    store, model, folder = night
    done = score_accounts(
        model, store, tmp_path / "now.parquet", since=Since(str(folder / "before.parquet"), min_change=0.0), device=CPU
    )
    then = {row["account"]: row for row in pq.read_table(folder / "before.parquet").to_pylist()}
    wanted = {}
    for row in pq.read_table(tmp_path / "now.parquet").to_pylist():
        old = then.get(row["account"])
        if old is None:
            wanted[row["account"]] = ("new", row["score"], None, row["rank"], None)
        elif abs(row["score"] - old["score"]) >= 1e-6 or row["alert"] != old["alert"]:
            kind = "risen" if row["score"] > old["score"] else "fallen"
            wanted[row["account"]] = (kind, row["score"], old["score"], row["rank"], old["rank"])
    found = pq.read_table(tmp_path / "now.changes.parquet").to_pylist()
    assert {
        row["account"]: (row["change"], row["score"], row["previous_score"], row["rank"], row["previous_rank"])
        for row in found
    } == wanted
    assert [row["rank"] for row in found] == sorted(row["rank"] for row in found)
    assert {"fresh", "new-shop"} <= set(wanted)
    changes = done["changes"]
    assert changes["new"] == 2
    assert changes["new"] + changes["risen"] + changes["fallen"] == len(found)
    assert changes["top"] == found[:10]
    assert (changes["model_changed"], changes["late_events"], changes["not_scored_now"]) == (False, 2, 0)
    assert changes["since"] == "800"


def test_each_change_says_which_new_events_are_behind_it(night: tuple[Path, Path, Path], tmp_path: Path) -> None:
    store, model, folder = night
    since = Since(str(folder / "before.parquet"), min_change=0.0)
    score_accounts(model, store, tmp_path / "now.parquet", since=since, device=CPU)
    rows = {row["account"]: row for row in pq.read_table(tmp_path / "now.changes.parquet").to_pylist()}
    one = rows["u002"]
    assert (one["why"], one["new_events"], one["late_events"], one["num_counterparties"]) == ("own events", 3, 0, 2)
    assert (one["first_new_event"], one["last_new_event"]) == ("800", "802")
    assert json.loads(one["counterparties"]) == [
        {"account": "s3", "events": 2, "first": "800", "last": "801"},
        {"account": "new-shop", "events": 1, "first": "802", "last": "802"},
    ]
    if "u004" in rows:
        assert (rows["u004"]["why"], rows["u004"]["new_events"], rows["u004"]["late_events"]) == ("own events", 0, 1)
    touched = {"u002", "s3", "new-shop", "fresh", "u006", "u004", "s5"}
    assert {account for account, row in rows.items() if row["why"] == "own events"} <= touched
    assert rows["fresh"]["previous_alert"] is None


def test_csv_says_the_same(night: tuple[Path, Path, Path], tmp_path: Path, gtea: Callable[..., Any]) -> None:
    store, model, folder = night
    words = ("score", model, store, "--min-change", "0")
    with_parquet = gtea(*words, "--out", tmp_path / "a.csv", "--since", folder / "before.parquet", "--json")
    with_csv = gtea(
        *words, "--out", tmp_path / "b.csv", "--since", folder / "before.csv", "--since-as-of", "800", "--json"
    )
    assert (with_parquet.code, with_csv.code) == (0, 0), with_csv.err
    one, other = (json.loads(outcome.out)["changes"] for outcome in (with_parquet, with_csv))
    assert {**one, "out": "", "model_changed": None} == {**other, "out": "", "model_changed": None}
    assert (tmp_path / "a.changes.csv").read_bytes() == (tmp_path / "b.changes.csv").read_bytes()
    columns = pacsv.read_csv(tmp_path / "a.changes.csv").column_names
    assert columns[:4] == ["account", "change", "score", "previous_score"]
    said = gtea(*words, "--out", tmp_path / "a.csv", "--since", folder / "before.parquet")
    assert "since 800: 2 new, " in said.out
    assert "late: 2 ends of events" in said.out


def test_small_changes_are_left_out_unless_they_make_an_alert(night: tuple[Path, Path, Path], tmp_path: Path) -> None:
    store, model, folder = night
    since = Since(str(folder / "before.parquet"), min_change=1.0)
    done = score_accounts(model, store, tmp_path / "now.parquet", since=since, device=CPU)
    rows = pq.read_table(tmp_path / "now.changes.parquet").to_pylist()
    assert all(row["change"] == "new" or row["alert"] != row["previous_alert"] for row in rows)
    changes = done["changes"]
    assert changes["new_alerts"] == sum(row["alert"] and not row["previous_alert"] for row in rows)
    assert changes["ended_alerts"] == sum(bool(row["previous_alert"]) and not row["alert"] for row in rows)


def test_the_future_changes_no_byte_of_the_changes(night: tuple[Path, Path, Path], tmp_path: Path) -> None:
    store, model, folder = night
    since = Since(str(folder / "before.parquet"))
    written = []
    for number in range(2):
        score_accounts(model, store, tmp_path / "x.parquet", as_of="804", since=since, device=CPU)
        written.append([(tmp_path / name).read_bytes() for name in ("x.parquet", "x.changes.parquet")])
        if not number:
            later = {"src": ["u009"], "dst": ["zzz"], "time": [804], "amount": [5.0]}
            store = shutil.copytree(store, tmp_path / "s")
            append(store, pa.table(later))
    before, after = (pq.read_table(pa.BufferReader(content[1])) for content in written)
    # A rank is a place among all accounts of the store, also those that come later.
    assert before.drop_columns(["rank"]).equals(after.drop_columns(["rank"]))
    first, second = (pq.read_table(pa.BufferReader(content[0])) for content in written)
    # The account that comes later is in the store, and has no event yet.
    assert first["account"].to_pylist() == [name for name in second["account"].to_pylist() if name != "zzz"]
    assert first.schema.metadata == second.schema.metadata


def test_scores_of_chosen_accounts_say_nothing_of_others(night: tuple[Path, Path, Path], tmp_path: Path) -> None:
    store, model, _ = night
    (tmp_path / "some.csv").write_text("account\nu001\nu003\n")
    score_accounts(model, store, tmp_path / "a.parquet", accounts=tmp_path / "some.csv", as_of="800", device=CPU)
    done = score_accounts(model, store, tmp_path / "b.parquet", since=Since(str(tmp_path / "a.parquet")), device=CPU)
    changes = done["changes"]
    assert (changes["new"], changes["late_events"]) == (0, None)
    assert changes["not_scored_before"] == Store.open(store).num_nodes - 2


def test_what_is_refused(night: tuple[Path, Path, Path], tmp_path: Path, gtea: Callable[..., Any]) -> None:
    store, model, folder = night
    with pytest.raises(UsageError, match="--since: must be of the same time or earlier"):
        score_accounts(
            model, store, tmp_path / "x.csv", as_of="700", since=Since(str(folder / "before.parquet")), device=CPU
        )
    for name in ("before.parquet", "before.changes.parquet"):
        with pytest.raises(UsageError, match="--since: must be another file than --out writes"):
            score_accounts(model, store, folder / "before.parquet", since=Since(str(folder / name)), device=CPU)
    with pytest.raises(UsageError, match="--min-change: must be between 0 and 1"):
        Since("x", min_change=np.nan)
    assert not (tmp_path / "x.csv").exists()
    outcome = gtea("score", model, store, "--out", tmp_path / "x.csv", "--min-change", "0.5")
    assert (outcome.code, "only go with --since" in outcome.err) == (2, True)
    outcome = gtea("score", model, store, "--out", tmp_path / "x.csv", "--pairs", "p.csv", "--since", "q.csv")
    assert (outcome.code, "compares scores of accounts" in outcome.err) == (2, True)
