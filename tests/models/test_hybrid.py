"""Hybrid of GTEA and boosted trees: each trained alone, the answer is the mean of their logits, exact or sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load
from tests.training.kills import Killed, killed_after, weights_digest
from tests.training.test_baselines import CPU, SMALL, habits, labels_in, payers, stored
from torch import Tensor

from gtea.config import InputSpec, ModelConfig, RunConfig, read_config
from gtea.errors import ModelError, UsageError
from gtea.models.boosted_trees import BoostedTrees
from gtea.models.hybrid import HybridClassifier, HybridPredictor
from gtea.models.model_folder import load_model
from gtea.models.registry import DEFAULT_MODEL, GTEA_VARIANTS, default_config, model_config
from gtea.sampling.pair_batches import ranked_statistics
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.tasks.labels import positive_class
from gtea.tasks.link_split import split_links
from gtea.tasks.splits import temporal_split
from gtea.training.checkpoint import CHECKPOINT, TREES
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

Run = NodeTask | LinkTask
SMALL_GTEA = (*SMALL, "model.d_edge=8", "sampling.fanout=100")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("habits") / "s")


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(payers(), tmp_path_factory.mktemp("shops") / "s")


@pytest.fixture(params=["nodes", "links"])
def run_of(request: pytest.FixtureRequest, visits: Store, shops: Store, tmp_path: Path) -> Callable[..., Run]:
    def make(name: str, *settings: str, model: str = DEFAULT_MODEL) -> Run:
        folder = tmp_path / name
        if request.param == "links":
            config = read_config(None, [*SMALL_GTEA, *settings], default_config(model_config(model), "links"))
            return LinkTask(visits, split_links(visits, train_windows=3), config, folder, CPU)
        labels = labels_in(shops)
        config = read_config(None, [*SMALL_GTEA, *settings], RunConfig(model_config(model)))
        return NodeTask(
            shops, labels, positive_class(labels, "big"), temporal_split(labels, shops), config, folder, CPU
        )

    return make


def spec(**sizes: int) -> InputSpec:
    return InputSpec(4, 2, 0.1, 10.0, **sizes)


def asked(run: Run, options: ScoringOptions | None = None) -> NDArray[np.float64]:
    """What the trained model says of accounts or pairs, as logits of the positive class."""
    assert run.split.test is not None
    store, cut = run.store, run.split.test.as_of
    if isinstance(run, NodeTask):
        model, place = NodeModel.open(run.folder, CPU), run.labels.classes.index("big")
        chances = model.probabilities(store, cut, run.labels.nodes, options or ScoringOptions())[:, place]
    else:
        chances = LinkModel.open(run.folder, CPU).probabilities(
            store, cut, run.split.test.src, run.split.test.dst, options or ScoringOptions()
        )
    return np.log(chances) - np.log1p(-chances)


def test_the_answer_is_the_mean_of_two_who_learnt_alone(run_of: Callable[..., Run]) -> None:
    # One epoch: which of several is the best depends on the answers that are validated.
    both, alone, tree = (run_of(model, "train.epochs=1", model=model) for model in (DEFAULT_MODEL, "gtea-l+t", "tree"))
    for run in (both, alone, tree):
        train_task(run, no_report)
    weights, others = load_model(both.folder).weights, load_model(alone.folder).weights
    assert all(torch.equal(weights[name], other) for name, other in others.items())
    trees = asked(tree) if isinstance(tree, NodeTask) else tree_logits_of(cast(LinkTask, both))
    np.testing.assert_allclose(asked(both), (asked(alone) + np.clip(trees, -12, 12)) / 2, atol=1e-4)


def tree_logits_of(run: LinkTask) -> NDArray[np.float64]:
    """Of pairs' ranks. The tree that stands alone reads their statistics as they are, and differs a little."""
    model, part = LinkModel.open(run.folder, CPU), run.split.test
    rows = ranked_statistics(run.store.as_of(part.as_of), model.preprocessing)
    assert rows is not None
    return np.asarray(cast(HybridPredictor, model.network).tree(rows(part.src, part.dst)))


def test_the_trees_read_neighbour_labels_in_exact_and_sampled_scores(shops: Store, tmp_path: Path) -> None:
    labels = labels_in(shops)
    settings = [*SMALL_GTEA, "features.neighbour_labels=true", "train.epochs=1"]
    config = read_config(None, settings, RunConfig(model_config("hybrid")))
    split, positive = temporal_split(labels, shops), positive_class(labels, "big")
    run = NodeTask(shops, labels, positive, split, config, tmp_path / "m", CPU)
    train_task(run, no_report)
    model = NodeModel.open(run.folder, CPU)
    assert isinstance(model.network, HybridClassifier)
    exact = model.probabilities(shops, shops.end, labels.nodes)
    np.testing.assert_allclose(
        exact, model.probabilities(shops, shops.end, labels.nodes, ScoringOptions(sampled=True)), atol=1e-5
    )


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of examples of each time that trees are fitted."""
    counted: list[int] = []
    fit = BoostedTrees.fit

    def count(trees: BoostedTrees, rows: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> None:
        counted.append(len(rows))
        fit(trees, rows, targets, weights)

    monkeypatch.setattr(BoostedTrees, "fit", count)
    return counted


@pytest.mark.parametrize("reports", [1, 2])
def test_a_resumed_run_takes_its_trees_and_ends_with_the_same_bytes(
    run_of: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, fits: list[int], reports: int
) -> None:
    """Killed after the first batch, before there is any checkpoint of the network, or after the second."""
    whole, killed = run_of("whole"), run_of("killed")
    train_task(whole, no_report)
    assert len(fits) == 1
    assert not (whole.folder / TREES).exists()
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        train_task(killed, killed_after(reports))
    assert (killed.folder / CHECKPOINT).exists() == (reports > 1)
    assert len(fits) == 2
    kept = (killed.folder / TREES).read_bytes()
    train_task(killed, no_report, resume=True)
    assert len(fits) == 2, "the trees were fitted again"
    assert weights_digest(killed.folder) == weights_digest(whole.folder)
    assert not (killed.folder / TREES).exists()
    weights = load_model(killed.folder).weights
    assert load(kept).keys() == {name.removeprefix("tree.") for name in weights if name.startswith("tree.")}
    assert all(torch.equal(weights[f"tree.{name}"], tensor) for name, tensor in load(kept).items())


def test_trees_that_a_killed_run_had_not_saved_are_fitted_again(run_of: Callable[..., Run], fits: list[int]) -> None:
    whole, killed = run_of("whole"), run_of("killed")
    train_task(whole, no_report)
    with pytest.raises(Killed):
        train_task(killed, killed_after(1))
    (killed.folder / TREES).unlink()
    train_task(killed, no_report, resume=True)
    assert len(fits) == 3
    assert weights_digest(killed.folder) == weights_digest(whole.folder)


def test_damaged_trees_are_refused(run_of: Callable[..., Run]) -> None:
    run = run_of("m")
    with pytest.raises(Killed):
        train_task(run, killed_after(1))
    trees = run.folder / TREES
    trees.write_bytes(trees.read_bytes()[:-8])
    with pytest.raises(ModelError, match=r"trees\.safetensors: can't be read .* Delete it to restart the run"):
        train_task(run, no_report, resume=True)


@pytest.mark.parametrize("variant", GTEA_VARIANTS)
def test_any_variant_of_gtea_can_be_the_network(visits: Store, shops: Store, tmp_path: Path, variant: str) -> None:
    model, settings = replace(model_config(variant), family="hybrid"), [*SMALL_GTEA, "train.epochs=1"]
    labels = labels_in(shops)
    nodes = NodeTask(
        shops, labels, positive_class(labels, "big"), temporal_split(labels, shops),
        read_config(None, settings, default_config(model, "nodes")), tmp_path / "nodes", CPU,
    )  # fmt: skip
    config = read_config(None, settings, default_config(model, "links"))
    links = LinkTask(visits, split_links(visits, train_windows=3), config, tmp_path / "links", CPU)
    for run, kind in ((nodes, HybridClassifier), (links, HybridPredictor)):
        made = train_task(run, no_report)
        assert made.config["run"]["model"]["encoder"] == model_config(variant).encoder
        assert made.config["run"]["model"]["time_encoding"] == model_config(variant).time_encoding
        opened = (NodeModel if run is nodes else LinkModel).open(run.folder, CPU)
        assert isinstance(opened.network, kind)
        assert len(cast(Tensor, opened.network.tree.tree_root)) > 0
        answers = asked(run)
        assert np.isfinite(answers).all()
        np.testing.assert_allclose(answers, asked(run, ScoringOptions(sampled=True)), atol=1e-4)
        assert f"{model.encoder} encoder" in (run.folder / "MODEL_CARD.md").read_text()


def test_the_card_says_that_there_are_trees(run_of: Callable[..., Run]) -> None:
    run = run_of("m", "train.epochs=1")
    train_task(run, no_report)
    assert "Hybrid of GTEA and boosted trees" in (run.folder / "MODEL_CARD.md").read_text()


def test_settings_that_don_t_go_together_leave_no_run_behind(visits: Store, tmp_path: Path) -> None:
    config = read_config(
        None, [*SMALL_GTEA, "features.pair_statistics=false"], default_config(model_config(DEFAULT_MODEL), "links")
    )
    run = LinkTask(visits, split_links(visits), config, tmp_path / "m", CPU)
    with pytest.raises(UsageError, match=r"features\.pair_statistics must be true for a hybrid link model"):
        train_task(run, no_report)
    assert not run.folder.exists()


def test_exact_scores_hear_the_tree_as_sampled_ones_do(run_of: Callable[..., Run]) -> None:
    run = run_of("m")
    train_task(run, no_report)
    store, cut, sampled = run.store, run.store.as_of(None).cut, ScoringOptions(sampled=True)
    if isinstance(run, NodeTask):
        model, nodes = NodeModel.open(run.folder, CPU), np.arange(40)
        assert isinstance(model.network, HybridClassifier)
        scores = [model.probabilities(store, cut, nodes, options) for options in (ScoringOptions(), sampled)]
    else:
        pairs, src, dst = LinkModel.open(run.folder, CPU), run.split.test.src, run.split.test.dst
        assert isinstance(pairs.network, HybridPredictor)
        assert len(cast(Tensor, pairs.network.tree.tree_root)) == 100
        scores = [pairs.probabilities(store, cut, src, dst, options) for options in (ScoringOptions(), sampled)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


def test_a_class_that_a_tree_has_never_seen_is_not_impossible() -> None:
    network = HybridClassifier(ModelConfig(family="hybrid", d_node=4, d_edge=4, d_mlp=4), spec(), 3, 0)
    rows = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    network.tree.fit(rows, (rows[:, 0] > 0).long(), torch.ones(40))
    logits = network.eval().answer(torch.zeros(40, 4), rows, None)
    assert torch.isfinite(logits).all()
    assert (logits.argmax(1) != 2).all()


def test_the_tree_tells_features_apart_that_lie_beyond_the_networks_limit() -> None:
    config = ModelConfig(family="hybrid", node_limit=1.0, d_node=4, d_edge=4, d_mlp=4)
    network = HybridClassifier(config, spec(), 2, 0)
    rows = 3 * torch.randn(400, 4, generator=torch.Generator().manual_seed(0))
    network.tree.fit(rows, (rows[:, 0] > 2).long(), torch.ones(400))
    logits = network.eval().answer(torch.zeros(400, 4), rows, None)
    assert torch.equal(logits.argmax(1), (rows[:, 0] > 2).long())


@pytest.mark.parametrize("options", [ScoringOptions(), ScoringOptions(sampled=True)])
def test_the_papers_head_hears_the_tree_too(visits: Store, tmp_path: Path, options: ScoringOptions) -> None:
    runs = []
    for model in (DEFAULT_MODEL, "gtea-l+t"):
        config = read_config(
            None, [*SMALL_GTEA, "model.link_head=dot", "train.epochs=1"], default_config(model_config(model), "links")
        )
        runs.append(LinkTask(visits, split_links(visits, train_windows=3), config, tmp_path / model, CPU))
        train_task(runs[-1], no_report)
    trees = tree_logits_of(runs[0])
    np.testing.assert_allclose(
        asked(runs[0], options), (asked(runs[1], options) + np.clip(trees, -12, 12)) / 2, atol=1e-4
    )
