"""Scores as ranked tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.training.test_baselines import CPU, habits, link_run, node_run, payers, stored

from gtea.errors import UsageError
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.scoring.table import score_accounts, score_pairs
from gtea.store.store import Store
from gtea.training.fit import train_task
from gtea.training.loop import no_report


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    """A store, and a model of its accounts."""
    folder = tmp_path_factory.mktemp("shops")
    store = stored(payers(), folder / "s")
    train_task(node_run(store, folder / "m", "tree", as_of=None), no_report)
    return store, folder / "m"


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    """A store, and a model of its links."""
    folder = tmp_path_factory.mktemp("visits")
    store = stored(habits(), folder / "s")
    train_task(link_run(store, folder / "m", "edgebank"), no_report)
    return store, folder / "m"


def test_accounts_from_the_highest_score_to_the_lowest(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    done = score_accounts(model, store.path, tmp_path / "scores.parquet", device=CPU)
    table = pq.read_table(tmp_path / "scores.parquet")
    assert table.column_names == ["account", "score", "rank", "p_small", "p_big", "alert", "active", "events"]
    assert table["active"].to_pylist() == [True] * len(table)
    assert done["inactive"] == 0
    assert done["accounts"] == len(table) == store.num_nodes
    assert (done["as_of"], done["sampled"]) == (store.end, False)
    assert done["top"] == table.slice(0, 10).to_pylist()
    scores = table["score"].to_numpy()
    assert (np.diff(scores) <= 0).all()
    nodes = np.array([store.node(account) for account in table["account"].to_pylist()])
    assert (np.diff(nodes)[np.diff(scores) == 0] > 0).all()
    wanted = NodeModel.open(model, CPU).probabilities(store, store.end, nodes)
    np.testing.assert_array_equal(np.stack([table["p_small"], table["p_big"]], axis=1), wanted)


def test_ids_are_exact_unless_the_file_is_for_a_spreadsheet(tmp_path: Path) -> None:
    rows = [(f"={src}", dst, time, amount) for src, dst, time, amount in habits()]
    store, model = stored(rows, tmp_path / "s"), tmp_path / "m"
    train_task(link_run(store, model, "edgebank"), no_report)
    (tmp_path / "pairs.csv").write_text("src,dst\n=u01,i1\n")
    for safe, shown in ((False, "=u01"), (True, "'=u01")):
        done = score_pairs(
            model, store.path, tmp_path / "pairs.csv", tmp_path / "x.csv", for_spreadsheets=safe, device=CPU
        )
        assert pacsv.read_csv(tmp_path / "x.csv")["src"].to_pylist() == [shown]
        assert done["top"][0]["src"] == "=u01"
    message = r"^--spreadsheet-safe: goes with a CSV file only \(got 'x.parquet'\). Try scores.csv.$"
    with pytest.raises(UsageError, match=message):
        score_accounts(model, store.path, tmp_path / "x.parquet", for_spreadsheets=True, device=CPU)


def test_alerts_are_at_or_above_the_threshold(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    done = score_accounts(model, store.path, tmp_path / "scores.parquet", device=CPU)
    rows = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    threshold = NodeModel.open(model, CPU).threshold
    assert threshold is not None
    assert done["threshold"] == threshold.value
    assert [row["alert"] for row in rows] == [row["score"] >= threshold.value for row in rows]
    assert 0 < done["alerts"] == sum(row["alert"] for row in rows) < len(rows)


def test_a_prevalence_changes_scores_and_neither_ranks_nor_alerts(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    plain = score_accounts(model, store.path, tmp_path / "a.parquet", device=CPU)
    rare = score_accounts(model, store.path, tmp_path / "b.parquet", prevalence=0.001, device=CPU)
    one, other = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert one["account"].to_pylist() == other["account"].to_pylist()
    assert one["alert"].to_pylist() == other["alert"].to_pylist()
    assert (np.array(one["score"]) > np.array(other["score"])).all()
    assert plain["threshold"] > rare["threshold"]
    assert plain["alerts"] == rare["alerts"]


def test_an_old_model_has_no_alerts(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    manifest = json.loads((shutil.copytree(model, tmp_path / "m") / "manifest.json").read_text())
    for name in ("calibration.json", "thresholds.json"):
        del manifest["files"][name]
    del manifest["sha256"]  # old manifests had no digest of themselves
    (tmp_path / "m" / "manifest.json").write_text(json.dumps({**manifest, "format_version": 4}))
    done = score_accounts(tmp_path / "m", store.path, tmp_path / "s.parquet", device=CPU)
    assert "alert" not in pq.read_table(tmp_path / "s.parquet").column_names
    assert "threshold" not in done
    with pytest.raises(UsageError, match="--prevalence: needs a model of accounts of two classes, trained by gtea 0"):
        score_accounts(tmp_path / "m", store.path, tmp_path / "s.parquet", prevalence=0.1, device=CPU)


def test_accounts_of_which_nothing_is_known_are_marked(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    first = int(store.arrays.event_time.min())
    done = score_accounts(model, store.path, tmp_path / "scores.parquet", as_of=str(first), device=CPU)
    table = pq.read_table(tmp_path / "scores.parquet")
    assert done["inactive"] == store.num_nodes
    assert set(table["active"].to_pylist()) == {False}
    assert len(set(table["score"].to_pylist())) == 1
    # However high that score is, it is no reason to act.
    assert set(table["alert"].to_pylist()) == {False}


def test_some_accounts_as_of_a_cut(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    (tmp_path / "some.csv").write_text("account\nu007\nu003\nnobody\n")
    done = score_accounts(
        model, store.path, tmp_path / "s.csv", accounts=tmp_path / "some.csv", unknown="skip", as_of="300", device=CPU
    )
    assert (done["accounts"], done["as_of"]) == (2, 300)
    assert set(pacsv.read_csv(tmp_path / "s.csv")["account"].to_pylist()) == {"u003", "u007"}


def test_pairs(visits: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = visits
    (tmp_path / "pairs.csv").write_text("src,dst\nu00,i7\nu00,i0\nu01,i1\n")
    done = score_pairs(model, store.path, tmp_path / "pairs.csv", tmp_path / "s.parquet", device=CPU)
    table = pq.read_table(tmp_path / "s.parquet")
    assert (done["pairs"], table["rank"].to_pylist()) == (3, [1, 2, 3])
    src, dst = (np.array([store.node(name) for name in table[end].to_pylist()]) for end in ("src", "dst"))
    wanted = LinkModel.open(model, CPU).probabilities(store, store.end, src, dst)
    assert table["score"].to_pylist() == wanted.tolist() == sorted(wanted, reverse=True)


def test_what_is_refused(shops: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = shops
    with pytest.raises(UsageError, match=r"--out s\.xlsx: must end in \.parquet or \.csv"):
        score_accounts(model, store.path, tmp_path / "s.xlsx", device=CPU)
    with pytest.raises(UsageError, match=r"--cache: keeps edge embeddings of a GTEA model \(got a tree\)"):
        score_accounts(model, store.path, tmp_path / "s.csv", options=ScoringOptions(cache=tmp_path / "c"), device=CPU)
    assert not list(tmp_path.iterdir())
