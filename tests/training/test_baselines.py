"""The baselines through the very training, saving and scoring that GTEA goes through."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.training.kills import Killed, killed_after, weights_digest

from gtea.config import RunConfig, read_config
from gtea.errors import ModelError
from gtea.features.neighbour_labels import NeighbourLabelShares
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import Preprocessing
from gtea.ingestion.ingest import ingest
from gtea.models.boosted_trees import STRONG, BoostedTrees
from gtea.models.registry import BASELINES, MODELS, default_config, model_config
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.tasks.labels import Labels, labels_from_arrays, positive_class
from gtea.tasks.link_split import LinkPart, split_links
from gtea.tasks.splits import temporal_split
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

TREES = ("tree", "strong-tree")
NETWORKS = [name for name in BASELINES if name not in (*TREES, "edgebank")]
CLASSIFIERS = [*NETWORKS, *TREES]
CPU = torch.device("cpu")
SMALL = (
    "model.d_node=8", "model.d_mlp=8", "model.d_time=4", "model.dropout=0.1", "sampling.fanout=4", "train.lr=0.02",
    "sampling.max_events=8", "sampling.batch_size=16", "train.epochs=2", "train.metric=average_precision",
)  # fmt: skip
Row = tuple[str, str, int, float]


def habits() -> list[Row]:
    """Each user goes on to visit the same three items."""
    chance = np.random.default_rng(0)
    rows = []
    for time in range(360):
        user = int(chance.integers(24)) if time > 120 else time % 24
        item = (user + 2 * int(chance.integers(3))) % 8
        rows.append((f"u{user:02}", f"i{item}", time, float(chance.normal())))
    return rows


def payers() -> list[Row]:
    """Users pay four shops each: around 9 if their number is odd, else around 1."""
    chance = np.random.default_rng(0)
    order = np.repeat(chance.permutation(200), 4)
    amounts = (1 + 8 * (order % 2)) * chance.uniform(0.5, 1.5, len(order))
    shops = chance.integers(0, 10, len(order))
    return [(f"u{u:03}", f"s{s}", t, float(a)) for t, (u, s, a) in enumerate(zip(order, shops, amounts, strict=True))]


def stored(rows: Sequence[Row], out: Path) -> Store:
    columns = dict(zip(("src", "dst", "time", "amount"), map(list, zip(*rows, strict=True)), strict=True))
    table = pa.table(columns)
    return ingest(table, src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=out)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("habits") / "s")


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(payers(), tmp_path_factory.mktemp("shops") / "s")


def labels_in(store: Store) -> Labels:
    users = [account for account in store.accounts.to_arrow().to_pylist() if account.startswith("u")]
    nodes = np.array([store.node(account) for account in users])
    targets = np.array([int(account[1:]) % 2 for account in users])
    return labels_from_arrays(nodes, targets, ("small", "big"), store, "users", np.ones(len(nodes)))


def node_run(store: Store, folder: Path, family: str, *settings: str, as_of: int | None = 240) -> NodeTask:
    labels = labels_in(store)
    config = read_config(None, [*SMALL, *settings], RunConfig(model_config(family)))
    split = temporal_split(labels, store, as_of=as_of)
    return NodeTask(store, labels, positive_class(labels, "big"), split, config, folder, CPU)


def link_run(store: Store, folder: Path, family: str, *settings: str) -> LinkTask:
    config = read_config(None, [*SMALL, *settings], RunConfig(model_config(family)))
    return LinkTask(store, split_links(store), config, folder, CPU)


RUNS: dict[str, Callable[..., NodeTask | LinkTask]] = {"nodes": node_run, "links": link_run}
every_task_and_family = pytest.mark.parametrize(
    ("task", "family"), [*(("nodes", name) for name in CLASSIFIERS), *(("links", name) for name in BASELINES)]
)


def scores(task: str, folder: Path, store: Store, cut: int) -> Any:
    """The scores of users by their names, or of users with items, as of a cut."""
    users = np.array([store.node(f"u{user:02}") for user in range(24)])
    items = np.array([store.node(f"i{user % 6}") for user in range(24)])
    if task == "nodes":
        return NodeModel.open(folder, CPU).probabilities(store, cut, users)
    return LinkModel.open(folder, CPU).probabilities(store, cut, users, items)


@every_task_and_family
def test_the_same_seed_gives_the_same_bytes_and_the_card_says_what_it_is(
    store: Store, tmp_path: Path, task: str, family: str
) -> None:
    first, again = (RUNS[task](store, tmp_path / name, family) for name in "ab")
    model = train_task(first, no_report)
    train_task(again, no_report)
    assert weights_digest(first.folder) == weights_digest(again.folder)
    card = (first.folder / "MODEL_CARD.md").read_text()
    assert family in card.lower() or "trees" in card
    assert "A baseline" in card
    assert f"{model.metrics['test']['roc_auc']:.4f}" in card
    answers = scores(task, first.folder, store, 300)
    assert np.isfinite(answers).all()
    assert ((answers >= 0) & (answers <= 1)).all()


@pytest.mark.parametrize("task", ["nodes", "links"])
@pytest.mark.parametrize("family", NETWORKS)
def test_a_killed_run_goes_on_to_the_same_bytes(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, family: str
) -> None:
    whole, killed = (RUNS[task](store, tmp_path / name, family) for name in ("whole", "killed"))
    train_task(whole, no_report)
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        train_task(killed, killed_after(2))
    train_task(killed, no_report, resume=True)
    assert weights_digest(killed.folder) == weights_digest(whole.folder)


@pytest.mark.parametrize("family", TREES)
def test_a_run_that_is_fitted_at_once_can_be_resumed(store: Store, tmp_path: Path, family: str) -> None:
    whole, broken = (node_run(store, tmp_path / name, family) for name in ("whole", "broken"))
    train_task(whole, no_report)
    train_task(broken, no_report)
    (broken.folder / "manifest.json").unlink()
    train_task(broken, no_report, resume=True)
    assert weights_digest(broken.folder) == weights_digest(whole.folder)


@every_task_and_family
def test_the_future_changes_neither_weights_nor_scores(store: Store, tmp_path: Path, task: str, family: str) -> None:
    """Other partners, other amounts and accounts never heard of, from a moment on that training doesn't reach."""
    run = RUNS[task](store, tmp_path / "a", family)
    cut = 240 if task == "nodes" else cast(LinkPart, run.split.test).window[0]
    rows = [
        (src, dst, time, amount) if time < cut else (("i00x", "u00")[time % 2], f"i{time % 7}", time, 1e6)
        for src, dst, time, amount in habits()
    ]
    changed = stored(rows, tmp_path / "s")
    assert changed.num_nodes == store.num_nodes + 1
    other = RUNS[task](changed, tmp_path / "b", family)
    train_task(run, no_report)
    train_task(other, no_report)
    assert weights_digest(run.folder) == weights_digest(other.folder)
    before, after = (scores(task, run.folder, events, cut) for events in (store, changed))
    # The order of the accounts moves, and with it that of sums within a batch.
    assert np.allclose(before, after, rtol=0, atol=1e-6)


LEARN = ("train.epochs=25", "train.patience=25", "model.dropout=0", "train.metric=accuracy")


@pytest.mark.parametrize("family", CLASSIFIERS)
def test_what_accounts_do_is_learnt(shops: Store, tmp_path: Path, family: str) -> None:
    run = node_run(shops, tmp_path / "m", family, *LEARN, as_of=None)
    accuracy = train_task(run, no_report).metrics["test"]["accuracy"]
    # A GCN and a GAT hardly tell an account from the shops around it, which everybody pays.
    assert accuracy >= (0.7 if family in ("gcn", "gat") else 0.9)


@pytest.mark.parametrize("family", ["ecconv", "tgat"])
def test_events_tell_where_accounts_have_no_features_of_their_own(shops: Store, tmp_path: Path, family: str) -> None:
    run = node_run(shops, tmp_path / "m", family, *LEARN, "features.nodes=random", "features.d_random=2", as_of=None)
    assert train_task(run, no_report).metrics["test"]["accuracy"] >= 0.9


@pytest.mark.parametrize("family", BASELINES)
def test_habits_are_learnt(store: Store, tmp_path: Path, family: str) -> None:
    settings = ("features.nodes=random", "features.d_random=16", "train.epochs=20", "train.patience=20")
    run = link_run(store, tmp_path / "m", family, *settings, "model.dropout=0")
    least = 0.9 if family in (*TREES, "edgebank") else 0.6
    assert train_task(run, no_report).metrics["test"]["average_precision"] > least


def test_embeddings_are_there_for_networks_only(store: Store, tmp_path: Path) -> None:
    for family in ("graphsage", "tree"):
        train_task(node_run(store, tmp_path / family, family, "train.epochs=1"), no_report)
    users = np.array([store.node("u00"), store.node("u01")])
    assert NodeModel.open(tmp_path / "graphsage", CPU).embeddings(store, 240, users).shape == (2, 8)
    with pytest.raises(ModelError, match="model: has no embeddings"):
        NodeModel.open(tmp_path / "tree", CPU).embeddings(store, 240, users)


def test_a_tree_has_the_statistics_besides_the_node_table_and_no_ages(store: Store, tmp_path: Path) -> None:
    table = pa.table({"id": [f"u{user:02}" for user in range(24)], "age": np.arange(24.0)})
    rows = [list(column) for column in zip(*habits(), strict=True)]
    events = pa.table(dict(zip(("src", "dst", "time", "amount"), rows, strict=True)))
    with_table = ingest(
        events, src="src", dst="dst", time="time", features=["amount"], time_unit="step", nodes=table, node_id="id",
        node_features=["age"], out=tmp_path / "s",
    )  # fmt: skip
    model = train_task(node_run(with_table, tmp_path / "m", "tree"), no_report)
    nodes = model.preprocessing["nodes"]
    assert nodes["kinds"] == ("given", "statistics")
    assert "both_amount_mean" in nodes["statistics"]["names"]
    assert not any("since" in name for name in nodes["statistics"]["names"])


def test_a_strong_tree_has_partners_rhythm_and_neighbour_labels_of_accounts(store: Store, tmp_path: Path) -> None:
    """Those who visit the same items are of one class: nothing but the labels of neighbours tells it."""
    labels = labels_in(store)
    split, positive = temporal_split(labels, store, as_of=240), positive_class(labels, "big")
    config = read_config(None, ["train.refit_trees=false"], default_config(model_config("strong-tree"), "nodes"))
    model = train_task(NodeTask(store, labels, positive, split, config, tmp_path / "m", CPU), no_report)
    assert model.preprocessing["nodes"]["kinds"] == ("statistics", "partners", "rhythm")
    assert model.preprocessing["neighbour_labels"]["classes"] == ("small", "big")
    view, part = store.as_of(split.train.as_of), split.train.index
    fitted = Preprocessing.from_json(model.preprocessing)
    assert fitted.neighbour_labels is not None
    shares = np.sqrt(NeighbourLabelShares(view, fitted.neighbour_labels).rows(labels.nodes[part]))
    rows = np.concatenate([NodeFeatures(view, fitted.nodes).compute(labels.nodes[part]), shares], axis=1)
    trees = BoostedTrees(rows.shape[1], 2, 0, STRONG)
    examples = rows.astype(np.float32), labels.targets[part], np.ones(len(part))
    trees.fit(*map(torch.from_numpy, examples))
    assert all(torch.equal(model.weights[name], tensor) for name, tensor in trees.state_dict().items())
    assert model.weights["node_feature"].max() >= fitted.d_node


def test_links_are_foretold_with_ages_and_accounts_without(gtea: Any, store: Store, tmp_path: Path) -> None:
    words: tuple[object, ...] = ("train", store.path, "--task", "links", "--variant", "tree", "--out")
    assert gtea(*words, tmp_path / "on").code == 0
    assert gtea(*words, tmp_path / "off", "--set", "features.recency=false").code == 0
    on, off = (json.loads((tmp_path / name / "preprocessing.json").read_text()) for name in ("on", "off"))
    assert set(on["nodes"]["statistics"]["names"]) - set(off["nodes"]["statistics"]["names"]) == {
        f"{side}_since_{which}" for side in ("out", "in", "both") for which in ("first", "last")
    }
    assert not read_config(None).features.recency


def test_accounts_are_told_what_stayed_and_links_are_not(gtea: Any, store: Store, tmp_path: Path) -> None:
    words: tuple[object, ...] = ("train", store.path, "--task", "links", "--variant", "tree", "--out")
    assert gtea(*words, tmp_path / "off").code == 0
    assert gtea(*words, tmp_path / "on", "--set", "features.net_flow=true").code == 0
    on, off = (json.loads((tmp_path / name / "preprocessing.json").read_text()) for name in ("on", "off"))
    told = set(on["nodes"]["statistics"]["names"]) - set(off["nodes"]["statistics"]["names"])
    assert told == {f"{name}_{feature}" for feature in store.features for name in ("net", "left")}
    assert told
    assert read_config(None).features.net_flow


def test_from_the_command_line(gtea: Any, store: Store, shops: Store, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("account,label\n" + "".join(f"u{i:03},{('small', 'big')[i % 2]}\n" for i in range(200)))
    outcome = gtea("train", shops.path, "--labels", labels, "--variant", "tree", "--folds", 3, "--out", tmp_path / "f")
    assert outcome.code == 0, outcome.err
    model = tmp_path / "f" / "fold-1"
    evaluated = json.loads(gtea("evaluate", model, shops.path, "--labels", labels, "--json").out)
    assert evaluated["metrics"]["accuracy"] >= 0.9
    assert "210 accounts as of" in gtea("score", model, shops.path, "--out", tmp_path / "scores.csv").out
    words: tuple[object, ...] = (
        "train",
        store.path,
        "--task",
        "links",
        "--variant",
        "edgebank",
        "--out",
        tmp_path / "bank",
    )
    assert "  average precision  " in gtea(*words).out
    (tmp_path / "pairs.csv").write_text("src,dst\nu00,i7\nu00,i0\n")
    words = ("score", tmp_path / "bank", store.path, "--pairs", tmp_path / "pairs.csv", "--json")
    ranked = json.loads(gtea(*words, "--out", tmp_path / "pairs.parquet").out)
    threshold = json.loads((tmp_path / "bank" / "thresholds.json").read_text())["threshold"]["value"]
    assert [(row["dst"], row["score"] >= threshold) for row in ranked["top"]] == [("i0", True), ("i7", False)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--variant", "edgebank"], "edgebank: only predicts links. Pass --task links, or choose another --variant."),
        (["--variant", "graphsag"], "(got 'graphsag'). Did you mean 'graphsage'?"),
        (["--variant", "gat", "--set", "model.d_node=6"], "model.num_heads must divide model.d_node (got 4 and 6)"),
        (["--variant", "tgat", "--set", "model.d_time=5"], "model.d_time must be even for tgat"),
        (["--variant", "gcn", "--set", "model.link_head=pair"], "model.link_head must be 'dot' for gcn"),
    ],
)
def test_requests_that_can_not_be(gtea: Any, store: Store, tmp_path: Path, words: list[str], message: str) -> None:
    outcome = gtea("train", store.path, "--labels", "l.csv", *words, "--out", tmp_path / "m")
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "m").exists()


def test_help_lists_every_model(gtea: Any) -> None:
    text = gtea("train", "--help").out
    assert [name for name in MODELS if name not in text] == []
