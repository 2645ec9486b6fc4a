"""GTEA on the shoulders of a tree: it begins as the tree, and is never told what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.training.kills import Killed, killed_after, weights_digest
from tests.training.test_baselines import CPU, SMALL, habits, labels_in, payers, stored

from gtea.baselines.forest import Forest
from gtea.baselines.tree_first import CrossFitted, TreeFirstClassifier, TreeFirstPredictor
from gtea.config import HYBRID, InputSpec, ModelConfig, link_defaults, read_config, variant
from gtea.errors import UsageError
from gtea.scoring.model import LinkModel, NodeModel
from gtea.scoring.way import Way
from gtea.store.store import Store
from gtea.tasks.labels import positive_class
from gtea.tasks.links import split_links
from gtea.tasks.splits import temporal_split
from gtea.training.links import LinkRun
from gtea.training.loop import silent
from gtea.training.nodes import NodeRun
from gtea.training.story import train_task

Run = NodeRun | LinkRun
SMALL_GTEA = (*SMALL, "model.d_edge=8", "sampling.fanout=100")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("habits") / "s")


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(payers(), tmp_path_factory.mktemp("shops") / "s")


@pytest.fixture(params=["nodes", "links"])
def run_of(request: pytest.FixtureRequest, visits: Store, shops: Store, tmp_path: Path) -> Callable[..., Run]:
    def make(name: str, *settings: str, model: str = HYBRID) -> Run:
        folder = tmp_path / name
        if request.param == "links":
            config = read_config(None, [*SMALL_GTEA, *settings], link_defaults(variant(model)))
            return LinkRun(visits, split_links(visits, train_windows=3), config, folder, CPU)
        labels = labels_in(shops)
        config = read_config(None, [f"model.tree_first={str(model == HYBRID).lower()}", *SMALL_GTEA, *settings])
        if model == "tree":
            config = read_config(None, ["model.family=tree", *SMALL, *settings])
        return NodeRun(shops, labels, positive_class(labels, "big"), temporal_split(labels, shops), config, folder, CPU)

    return make


def spec(**sizes: int) -> InputSpec:
    return InputSpec(4, 2, 0.1, 10.0, **sizes)


def test_trees_advise_on_examples_that_they_were_not_grown_from() -> None:
    chance = np.random.default_rng(0)
    rows = torch.from_numpy(chance.normal(size=(200, 3)))
    answers = (rows[:, 0] > 0).long()
    subjects = torch.arange(100).repeat(2)
    weights = torch.ones(200)

    def advice(answers: torch.Tensor) -> torch.Tensor:
        return CrossFitted(lambda: Forest(3, 2, 0), subjects, rows, answers, weights).advice(subjects, rows)

    right = advice(answers)
    assert ((right[:, 1] > right[:, 0]).long() == answers).float().mean() > 0.9
    other = answers.clone()
    other[[7, 107]] = 1 - other[[7, 107]]  # both rows of subject 7
    changed = advice(other)
    same_trees = subjects % CrossFitted.NUM_TREES == 7 % CrossFitted.NUM_TREES
    assert torch.equal(changed[same_trees], right[same_trees])
    assert not torch.equal(changed[~same_trees], right[~same_trees])


def test_advice_comes_in_the_order_of_the_rows() -> None:
    rows = torch.linspace(-1, 1, 60)[:, None]
    trees = CrossFitted(lambda: Forest(1, 2, 0), torch.arange(60), rows, (rows[:, 0] > 0).long(), torch.ones(60))
    asked = torch.tensor([41, 3, 59, 12, 3])
    said = trees.advice(asked, rows[asked])
    for i, subject in enumerate(asked):
        assert torch.equal(said[i : i + 1], trees.advice(subject[None], rows[subject][None]))


def test_before_training_the_network_says_what_the_tree_says(run_of: Callable[..., Run]) -> None:
    run, tree = run_of("first", "train.lr=1e-12", "train.epochs=1"), run_of("tree", model="tree")
    beside = train_task(tree, silent).metrics["test"]["average_precision"]
    ours = train_task(run, silent).metrics["test"]["average_precision"]
    # For links the dot product of untrained embeddings speaks, too, and the tree reads ranks.
    assert ours == pytest.approx(beside, abs=1e-9 if isinstance(run, NodeRun) else 0.15)


def test_the_tree_reads_what_is_known_around_an_account_however_it_is_scored(shops: Store, tmp_path: Path) -> None:
    labels = labels_in(shops)
    config = read_config(None, ["model.tree_first=true", "features.known=true", "train.epochs=1", *SMALL_GTEA])
    split, positive = temporal_split(labels, shops), positive_class(labels, "big")
    run = NodeRun(shops, labels, positive, split, config, tmp_path / "m", CPU)
    train_task(run, silent)
    model = NodeModel.open(run.folder, CPU)
    exact = model.probabilities(shops, shops.end, labels.nodes)
    np.testing.assert_allclose(exact, model.probabilities(shops, shops.end, labels.nodes, Way(sampled=True)), atol=1e-5)


def test_a_killed_run_goes_on_to_the_same_bytes(run_of: Callable[..., Run]) -> None:
    whole, killed = run_of("whole"), run_of("killed", "train.checkpoint_seconds=0")
    train_task(whole, silent)
    with pytest.raises(Killed):
        train_task(killed, killed_after(2))
    train_task(killed, silent, resume=True)
    assert weights_digest(killed.folder) == weights_digest(whole.folder)


def test_the_card_says_that_there_is_a_tree(run_of: Callable[..., Run]) -> None:
    run = run_of("m", "train.epochs=1")
    train_task(run, silent)
    assert "A boosted tree speaks first" in (run.folder / "MODEL_CARD.md").read_text()


def test_settings_that_don_t_go_together_leave_no_run_behind(visits: Store, tmp_path: Path) -> None:
    config = read_config(None, [*SMALL_GTEA, "model.link_head=dot"], link_defaults(variant(HYBRID)))
    run = LinkRun(visits, split_links(visits), config, tmp_path / "m", CPU)
    with pytest.raises(UsageError, match=r"model\.tree_first"):
        train_task(run, silent)
    assert not run.folder.exists()


def test_exact_scores_hear_the_tree_as_sampled_ones_do(run_of: Callable[..., Run]) -> None:
    run = run_of("m")
    train_task(run, silent)
    store, cut, sampled = run.store, run.store.as_of(None).cut, Way(sampled=True)
    if isinstance(run, NodeRun):
        model, nodes = NodeModel.open(run.folder, CPU), np.arange(40)
        assert isinstance(model.network, TreeFirstClassifier)
        scores = [model.probabilities(store, cut, nodes, way) for way in (Way(), sampled)]
    else:
        pairs, src, dst = LinkModel.open(run.folder, CPU), run.split.test.src, run.split.test.dst
        assert isinstance(pairs.network, TreeFirstPredictor)
        assert len(pairs.network.tree.tree_root) == 100
        scores = [pairs.probabilities(store, cut, src, dst, way) for way in (Way(), sampled)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


def test_a_class_that_a_tree_has_never_seen_is_not_impossible() -> None:
    network = TreeFirstClassifier(ModelConfig(tree_first=True, d_node=4, d_edge=4, d_mlp=4), spec(), 3, 0)
    rows = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    network.tree.fit(rows, (rows[:, 0] > 0).long(), torch.ones(40))
    logits = network.answer(torch.zeros(40, 4), rows, None)
    assert torch.isfinite(logits).all()
    assert (logits.argmax(1) != 2).all()


def test_what_a_tree_can_t_read_is_refused() -> None:
    with pytest.raises(UsageError, match=r"model.tree_first: a tree for links reads statistics of pairs"):
        TreeFirstPredictor(ModelConfig(tree_first=True), spec(d_pair_statistics=23), 0)
    with pytest.raises(UsageError, match=r"features\.pairs"):
        TreeFirstPredictor(ModelConfig(tree_first=True, link_head="pair"), spec(), 0)
    with pytest.raises(UsageError, match=r"model\.tree_first must be false for gcn"):
        ModelConfig(family="gcn", tree_first=True)
