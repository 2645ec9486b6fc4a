"""Link prediction from split to scores: the same bytes again, after a kill, and only from what it may see."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.kills import Killed, killed_after, weights_digest

from gtea.config import read_config
from gtea.errors import ModelError, UsageError
from gtea.models.registry import default_config, model_config
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.tasks.link_split import split_links
from gtea.tasks.thresholds import Threshold
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report

Make = Callable[..., LinkTask]
Run = Callable[..., Any]
Row = tuple[str, str, int, float]
USERS, ITEMS = 12, 8
SMALL = (
    "model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "sampling.fanout=4", "sampling.max_events=8",
    "sampling.batch_size=8", "train.epochs=3", "train.lr=0.02", "model.dropout=0.1", "train.metric=average_precision",
)  # fmt: skip
WORDS = tuple(word for setting in SMALL for word in ("--set", setting))


def habits() -> list[Row]:
    """Each user goes on to visit the same three items, now and then another one of the first six."""
    rng = np.random.default_rng(0)
    rows = []
    for time in range(240):
        user = int(rng.integers(USERS))
        item = (user + 2 * int(rng.integers(3))) % ITEMS if rng.random() < 0.95 else int(rng.integers(6))
        rows.append((f"u{user:02}", f"i{item}", time, float(rng.normal())))
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("links") / "s")


def stored(rows: Sequence[Row], out: Path) -> Store:
    import pyarrow as pa

    from gtea.ingestion.ingest import ingest

    columns = dict(zip(("src", "dst", "time", "amount"), map(list, zip(*rows, strict=True)), strict=True))
    table = pa.table(columns)
    return ingest(table, src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=out)


@pytest.fixture
def run_of(store: Store, tmp_path: Path) -> Make:
    def make(name: str = "m", *settings: str, events: Store = store) -> LinkTask:
        config = read_config(None, [*SMALL, *settings])
        split = split_links(events, protocol=config.split.protocol)
        return LinkTask(events, split, config, tmp_path / name, torch.device("cpu"))

    return make


def test_the_same_seed_gives_the_same_bytes(run_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again, other = run_of("a"), run_of("b"), run_of("c", "train.seed=1")
    train_task(first, no_report)
    with monkeypatch.context() as patch:
        patch.setenv("GTEA_WORKERS", "0")
        train_task(again, no_report)
    train_task(other, no_report)
    assert weights_digest(first.folder) == weights_digest(again.folder)
    assert weights_digest(first.folder) != weights_digest(other.folder)


@pytest.mark.parametrize("batches", [1, 4, 9])
@pytest.mark.parametrize("seconds", ["0", "1000"])
def test_a_killed_run_goes_on_to_the_same_bytes(
    run_of: Make, monkeypatch: pytest.MonkeyPatch, batches: int, seconds: str
) -> None:
    whole, run = run_of("whole"), run_of("killed")
    train_task(whole, no_report)
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", seconds)
    with pytest.raises(Killed):
        train_task(run, killed_after(batches))
    with pytest.raises(ModelError, match="is a run that has not finished"):
        LinkModel.open(run.folder, torch.device("cpu"))
    train_task(run, no_report, resume=True)
    assert weights_digest(run.folder) == weights_digest(whole.folder)
    assert (run.folder / "metrics.jsonl").read_text() == (whole.folder / "metrics.jsonl").read_text()


def test_a_resumed_run_must_have_the_same_windows(run_of: Make, store: Store) -> None:
    run = run_of()
    with pytest.raises(Killed):
        train_task(run, killed_after(1))
    later = dataclasses.replace(run, split=split_links(store, graph_until=140))
    with pytest.raises(UsageError, match=r"task\.split\.graph_until was"):
        train_task(later, no_report, resume=True)


@pytest.mark.parametrize("head", ["pair", "ordered_pair"])
def test_habits_are_learnt_from_the_pairs_own_histories(run_of: Make, head: str) -> None:
    """A pair that has met meets again; the negatives never met."""
    model = train_task(run_of("m", f"model.link_head={head}", "train.epochs=15", "model.dropout=0"), no_report)
    assert model.config["task"] == "links"
    assert model.metrics["test"]["average_precision"] > 0.85
    assert set(model.metrics["test"]) >= {"accuracy", "macro_f1", "roc_auc", "mrr"}
    assert model.thresholds is not None
    threshold = Threshold.from_json(model.thresholds["threshold"])
    assert model.predictions is not None
    rows = {name: np.array(model.predictions[name]) for name in ("part", "target", "p")}
    for part in ("validation", "test"):
        chosen = rows["part"] == part
        right = (rows["p"][chosen] >= threshold.value) == rows["target"][chosen]
        assert model.metrics[part]["accuracy"] == pytest.approx(right.mean())


def test_the_paper_s_setting_trains(run_of: Make) -> None:
    run = run_of("m", "features.nodes=random", "split.protocol=paper")
    assert run.split.test.as_of == run.split.train.as_of
    model = train_task(run, no_report)
    card = (run.folder / "MODEL_CARD.md").read_text()
    assert "will two accounts have an event" in card
    assert f"{model.metrics['test']['roc_auc']:.4f}" in card


def test_the_test_window_changes_no_weight(run_of: Make, tmp_path: Path) -> None:
    """Other partners, other amounts and accounts never heard of, from the test window's start on."""
    run = run_of("a", "model.link_head=pair")
    start = run.split.test.window[0]
    rows = [
        (src, dst, time, amount) if time < start else (("i00x", "u00")[time % 2], f"i{time % 7}", time, 1e6)
        for src, dst, time, amount in habits()
    ]
    other = run_of("b", "model.link_head=pair", events=stored(rows, tmp_path / "s"))
    assert other.split.validation.window == run.split.validation.window
    assert other.store.num_nodes == run.store.num_nodes + 1
    first, second = train_task(run, no_report), train_task(other, no_report)
    assert weights_digest(run.folder) == weights_digest(other.folder)
    assert first.metrics["validation"] == second.metrics["validation"]
    for name in ("preprocessing.json", "calibration.json", "thresholds.json"):
        assert (run.folder / name).read_bytes() == (other.folder / name).read_bytes()


@pytest.mark.parametrize("name", ["hybrid", "gtea-l", "edgebank"])
def test_predictions_are_those_of_the_saved_model(store: Store, tmp_path: Path, name: str) -> None:
    """Links first, each with its negative in the second half; as of the start of their window."""
    small = [word for word in WORDS if "=" in str(word)]
    config = read_config(None, [*small, "sampling.fanout=1000"], default_config(model_config(name), "links"))
    run = LinkTask(store, split_links(store), config, tmp_path / "m", torch.device("cpu"))
    saved = train_task(run, no_report)
    assert saved.predictions is not None
    halves = ["network", "trees"] if name == "hybrid" else []
    assert saved.predictions.column_names == ["part", "src", "dst", "target", "p", *halves]
    model = LinkModel.open(run.folder, torch.device("cpu"))
    # The validation part is answered by the trees that had not seen it: those before the last fit.
    refit = config.train.refit_trees
    for name, part in (("validation", run.split.validation), ("test", run.split.test)):
        rows = saved.predictions.filter(np.array(saved.predictions["part"]) == name)
        src, dst = (np.array([store.node(account) for account in rows[end].to_pylist()]) for end in ("src", "dst"))
        assert src.tolist() == [*part.src, *part.src]
        assert dst[: len(part)].tolist() == part.dst.tolist()
        assert rows["target"].to_pylist() == [1] * len(part) + [0] * len(part)
        for options in (EXACT, ScoringOptions(sampled=True)):
            found = model.probabilities(store, part.as_of, src, dst, options)
            assert np.allclose(found, rows["p"], atol=1e-4) == (name == "test" or not refit)


@pytest.fixture
def trained(gtea: Run, store: Store, tmp_path: Path) -> Path:
    model = tmp_path / "model"
    outcome = gtea("train", store.path, "--task", "links", "--graph-until", 120, *WORDS, "--out", model)
    assert outcome.code == 0, outcome.err
    assert "  average precision  " in outcome.out
    return model


def test_pairs_are_scored_and_ranked(gtea: Run, store: Store, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("src,dst\nu00,i0\nu00,i1\nu03,i5\n")
    words = ("score", trained, store.path, "--pairs", tmp_path / "pairs.csv")
    outcome = gtea(*words, "--out", tmp_path / "scores.csv")
    assert outcome.code == 0, outcome.err
    assert "3 pairs as of" in outcome.out
    with (tmp_path / "scores.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["src", "dst", "score", "rank", "active"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    (tmp_path / "pairs.csv").write_text(f"src,dst\n{rows[1]['src']},{rows[1]['dst']}\n")
    alone = json.loads(gtea(*words, "--out", tmp_path / "one.parquet", "--json").out)
    assert alone["top"][0]["score"] == pytest.approx(scores[1], abs=1e-6)


def test_labelled_pairs_judge_a_model(gtea: Run, store: Store, trained: Path, tmp_path: Path) -> None:
    """The habits: u00 goes on with three items. Which label means a link can be said."""
    ids = [f"i{item}" for item in range(6)]
    scored = tmp_path / "scores.csv"
    (tmp_path / "pairs.csv").write_text("src,dst\n" + "".join(f"u00,{name}\n" for name in ids))
    assert gtea("score", trained, store.path, "--pairs", tmp_path / "pairs.csv", "--out", scored).code == 0
    with scored.open(newline="") as stream:
        likeliest = [row["dst"] for row in csv.DictReader(stream)][:2]
    told = "src,dst,label\n" + "".join(f"u00,{name},{'yes' if name in likeliest else 'no'}\n" for name in ids)
    (tmp_path / "pairs.csv").write_text(told)
    words = ("evaluate", trained, store.path, "--pairs", tmp_path / "pairs.csv")
    evaluated = json.loads(gtea(*words, "--json").out)
    assert evaluated["pairs"] == 6
    assert evaluated["metrics"]["average_precision"] == 1
    assert json.loads(gtea(*words, "--positive", "no", "--json").out)["metrics"]["roc_auc"] == 0
    assert "average_precision" in gtea(*words).out
    outcome = gtea(*words, "--positive", "maybe")
    assert (outcome.code, "--positive: must be one of the labels 'no', 'yes'" in outcome.err) == (2, True)
    (tmp_path / "pairs.csv").write_text("src,dst\nu00,i0\n")
    outcome = gtea(*words)
    assert (outcome.code, "must have a column label with two classes" in outcome.err) == (3, True)
    for odd in ((), ("--pairs", "p.csv", "--labels", "l.csv")):
        outcome = gtea("evaluate", trained, store.path, *odd)
        assert (outcome.code, "--labels, --pairs: give one of them" in outcome.err) == (2, True)


def test_accounts_that_the_store_does_not_know(gtea: Run, store: Store, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("src,dst\nu00,i0\nnobody,i1\n")
    words = ("score", trained, store.path, "--pairs", tmp_path / "pairs.csv", "--out", tmp_path / "scores.csv")
    outcome = gtea(*words)
    assert (outcome.code, "nobody" in outcome.err) == (3, True)
    assert "1 pairs" in gtea(*words, "--unknown", "skip").out


def test_models_answer_their_own_questions(
    gtea: Run, store: Store, trained: Path, payments: Any, tmp_path: Path, quick: tuple[str, ...]
) -> None:
    outcome = gtea("score", trained, store.path, "--out", tmp_path / "scores.csv")
    assert (outcome.code, "does not classify accounts (its task is 'links')" in outcome.err) == (5, True)
    with pytest.raises(ModelError, match="Score pairs with gtea score --pairs"):
        NodeModel.open(trained, torch.device("cpu"))
    nodes = tmp_path / "nodes"
    words = ("--labels", payments.labels, *quick, "--set", "train.epochs=1")
    assert gtea("train", payments.store.path, *words, "--out", nodes).code == 0
    (tmp_path / "pairs.csv").write_text("src,dst\nA0000001,A0000002\n")
    pairs = ("--pairs", tmp_path / "pairs.csv", "--out", tmp_path / "scores.csv")
    outcome = gtea("score", nodes, payments.store.path, *pairs)
    assert (outcome.code, "does not predict links (its task is 'nodes')" in outcome.err) == (5, True)
    outcome = gtea("score", nodes, payments.store.path, *pairs, "--accounts", tmp_path / "pairs.csv")
    assert (outcome.code, "--accounts, --pairs: give one" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "links", "--labels", "l.csv"], "--labels: does not apply to --task links"),
        (["--task", "links", "--folds", "5"], "--folds: does not apply to --task links"),
        (["--task", "links", "--set", "split.kind=folds"], "split.kind: is gone: use --folds for stratified folds"),
        (["--task", "links", "--graph-until", "5000"], "Give an earlier graph_until"),
        (["--graph-until", "100", "--labels", "l.csv"], "--graph-until: does not apply to --task nodes"),
        ([], "--labels: must be given with --task nodes"),
    ],
)
def test_requests_that_can_not_be(gtea: Run, store: Store, tmp_path: Path, words: list[str], message: str) -> None:
    outcome = gtea("train", store.path, *words, "--out", tmp_path / "m")
    assert outcome.code in (2, 3)
    assert message in outcome.err
    assert not (tmp_path / "m").exists()
