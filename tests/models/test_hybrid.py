"""Hybrid of GTEA and boosted trees: each trained alone, blended by the validation part, exact or sampled."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load
from tests.training.kills import Killed, killed_after, weights_digest
from tests.training.test_baselines import CPU, SMALL, habits, labels_in, payers, stored
from torch import Tensor

from gtea.config import InputSpec, ModelConfig, NodeKind, RunConfig, read_config
from gtea.errors import ModelError, UsageError
from gtea.features.neighbour_labels import NeighbourLabelShares
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import fit_nodes
from gtea.models.blend import LATER, SAME_TIME, blend_weights
from gtea.models.boosted_trees import STRONG, BoostedTrees
from gtea.models.hybrid import EachModel, Hybrid, HybridClassifier, HybridPredictor
from gtea.models.model_folder import load_model
from gtea.models.registry import DEFAULT_MODEL, GTEA_VARIANTS, default_config, model_config
from gtea.sampling.pair_batches import ranked_statistics
from gtea.scoring.options import ScoringOptions
from gtea.scoring.sampled import LinkScorer, NodeScorer
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.tasks.labels import labels_from_arrays, positive_class
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


def opened(run: Run, *, raw: bool = False) -> NodeModel | LinkModel:
    """The trained model; raw, without the correction of its probabilities."""
    saved = load_model(run.folder)
    saved = replace(saved, calibration=None) if raw else saved
    return NodeModel(saved, CPU) if isinstance(run, NodeTask) else LinkModel(saved, CPU)


def asked(run: Run, options: ScoringOptions | None = None, *, raw: bool = False) -> NDArray[np.float64]:
    """What the trained model says of accounts or pairs, as logits of the positive class."""
    assert run.split.test is not None
    model, store, cut, options = opened(run, raw=raw), run.store, run.split.test.as_of, options or ScoringOptions()
    if isinstance(run, NodeTask):
        assert run.labels.classes[1] == run.positive
        chances = cast(NodeModel, model).probabilities(store, cut, run.labels.nodes, options)[:, 1]
    else:
        chances = cast(LinkModel, model).probabilities(store, cut, run.split.test.src, run.split.test.dst, options)
    return np.asarray(np.log(chances) - np.log1p(-chances))


def tree_logits(run: Run) -> list[NDArray[np.float64]]:
    """What each set of trees says of the same accounts or pairs, clipped: logits of the positive class."""
    assert run.split.test is not None
    model = opened(run)
    view = run.store.as_of(run.split.test.as_of)
    if isinstance(run, LinkTask):
        rows = ranked_statistics(view, model.preprocessing)
        assert rows is not None
        trees = cast(HybridPredictor, model.network).tree
        return [np.clip(trees(rows(run.split.test.src, run.split.test.dst)).numpy(), -12, 12)]
    nodes = model.preprocessing.tree_nodes
    assert nodes is not None
    own = torch.from_numpy(NodeFeatures(view, replace(nodes, kinds=nodes.kinds[:1])).compute(run.labels.nodes))
    every = torch.from_numpy(NodeFeatures(view, nodes).compute(run.labels.nodes))
    network = cast(HybridClassifier, model.network)
    assert network.wide_tree is not None
    logits = [network.tree(own).clamp(-12, 12), network.wide_tree(every).clamp(-12, 12)]
    return [np.asarray((each[:, 1] - each[:, 0]).numpy()) for each in logits]


def test_the_answer_is_the_blend_of_those_who_learnt_alone(run_of: Callable[..., Run]) -> None:
    both, alone = (
        run_of(model, "train.epochs=2", "model.node_limit=0", model=model) for model in (DEFAULT_MODEL, "gtea-l+t")
    )
    for run in (both, alone):
        train_task(run, no_report)
    weights, others = load_model(both.folder).weights, load_model(alone.folder).weights
    assert all(torch.equal(weights[name], other) for name, other in others.items())
    # Its epochs are those of the network: neither trees nor blend have a say in them.
    lines = [(run.folder / "metrics.jsonl").read_text() for run in (both, alone)]
    assert without_seconds(lines[0]) == without_seconds(lines[1])
    # Of two classes, the blend is a weighted sum of logits.
    expected = np.stack([asked(alone, raw=True), *tree_logits(both)]).T @ weights["blend.weights"].numpy()
    np.testing.assert_allclose(asked(both, raw=True), expected, atol=1e-4)
    correction = opened(both).correction
    chances = correction.apply(np.stack([1 / (1 + np.exp(expected)), 1 / (1 + np.exp(-expected))], axis=1))[:, 1]
    np.testing.assert_allclose(1 / (1 + np.exp(-asked(both))), chances, atol=1e-4)


def without_seconds(lines: str) -> list[dict[str, object]]:
    rows = [json.loads(line) for line in lines.splitlines()]
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


def test_the_blend_is_that_of_the_validation_part(run_of: Callable[..., Run]) -> None:
    run = run_of("m", "train.epochs=1", "train.refit_trees=false")
    train_task(run, no_report)
    model, part = opened(run), run.split.validation
    network = cast(Hybrid, model.network)
    batches = (model.entry.node_batches if isinstance(run, NodeTask) else model.entry.pair_batches)(
        run.store, part.as_of, model.preprocessing, run.config
    )
    rows = load_model(run.folder).predictions
    assert rows is not None
    rows = rows.filter(np.array(rows["part"]) == "validation")
    if isinstance(run, NodeTask):
        nodes = np.array([run.store.node(account) for account in rows["account"].to_pylist()])
        scored = NodeScorer(EachModel(network), cast(Any, batches), 64, CPU).outputs(nodes)
    else:
        src, dst = (np.array([run.store.node(name) for name in rows[end].to_pylist()]) for end in ("src", "dst"))
        scored = LinkScorer(EachModel(network), cast(Any, batches), 64, CPU).outputs(src, dst)
    assert scored.shape == (len(rows), 1 + len(network.trees()), 2)
    np.testing.assert_allclose(np.exp(scored).sum(axis=2), 1, atol=1e-5)
    # By time, accounts are validated as of a later cut than they are trained. Every pair is of the future anyway.
    trust = LATER if isinstance(run, NodeTask) else SAME_TIME
    expected = blend_weights(scored, np.array(rows["target"]), [0], trust)
    assert not np.allclose(expected, expected.mean(), atol=1e-3)
    saved = load((run.folder / "model.safetensors").read_bytes())["blend.weights"]
    np.testing.assert_allclose(saved, expected, atol=1e-4)
    name = "network" if isinstance(run, LinkTask) else "network_big"
    np.testing.assert_allclose(rows[name], np.exp(scored[:, 0, 1]), atol=1e-5)


@pytest.mark.parametrize("which", ["shops", "visits"])
def test_trees_are_fitted_to_all_training_accounts(visits: Store, shops: Store, tmp_path: Path, which: str) -> None:
    """One set on own statistics, one on these, on partners, on rhythm and on labels of neighbours.

    Amounts tell the classes of those who shop, and neighbours those of those who visit.
    """
    store = shops if which == "shops" else visits
    labels = labels_in(store)
    settings = [*SMALL_GTEA, "train.epochs=1", "train.refit_trees=false"]
    config = read_config(None, settings, default_config(model_config("hybrid"), "nodes"))
    split = temporal_split(labels, store, as_of=None if which == "shops" else 240)
    run = NodeTask(store, labels, positive_class(labels, "big"), split, config, tmp_path / "m", CPU)
    train_task(run, no_report)
    view, part = store.as_of(split.train.as_of), split.train.index
    nodes, targets = labels.nodes[part], torch.from_numpy(labels.targets[part])
    kinds: tuple[NodeKind, ...] = ("statistics", "partners", "rhythm")
    columns: list[NDArray[Any]] = [NodeFeatures(view, fit_nodes(view, (kind,))).compute(nodes) for kind in kinds]
    columns.append(np.sqrt(NeighbourLabelShares(view, run.neighbour_labels()).rows(nodes)).astype(np.float32))
    weights = load_model(run.folder).weights
    last = int(weights["wide_tree.node_feature"].max())
    assert (last >= sum(each.shape[1] for each in columns[:3])) == (which == "visits")
    for name, read in (("tree", columns[:1]), ("wide_tree", columns)):
        rows = torch.from_numpy(np.concatenate(read, axis=1))
        trees = BoostedTrees(rows.shape[1], 2, config.train.seed, STRONG)
        trees.fit(rows, targets, torch.ones(len(rows)))
        for array, expected in trees.state_dict().items():
            assert torch.equal(weights[f"{name}.{array}"], expected), (name, array)


@pytest.mark.parametrize("task", ["nodes", "links"])
def test_exact_scores_hear_the_trees_as_sampled_ones_do(visits: Store, shops: Store, tmp_path: Path, task: str) -> None:
    """With all defaults: labels of neighbours, partners and rhythm, and activity time for pairs."""
    config = read_config(None, SMALL_GTEA, default_config(model_config("hybrid"), cast(Any, task)))
    run: Run
    if task == "nodes":
        labels = labels_in(shops)
        split, positive = temporal_split(labels, shops), positive_class(labels, "big")
        run = NodeTask(shops, labels, positive, split, config, tmp_path / "m", CPU)
    else:
        run = LinkTask(visits, split_links(visits, train_windows=3), config, tmp_path / "m", CPU)
    train_task(run, no_report)
    network = opened(run).network
    assert isinstance(network, Hybrid)
    assert {name: len(cast(Tensor, trees.tree_root)) for name, trees in network.trees().items()} == (
        {"tree": 400, "wide_tree": 400} if task == "nodes" else {"tree": 200}
    )
    np.testing.assert_allclose(asked(run), asked(run, ScoringOptions(sampled=True)), atol=1e-4)
    # The trees are heard: without their leaves, the answers are others.
    heard = asked(run, raw=True)
    with torch.no_grad():
        for trees in network.trees().values():
            cast(Tensor, trees.node_value).zero_()
    saved = replace(load_model(run.folder), weights=network.state_dict(), calibration=None)
    model = (NodeModel if task == "nodes" else LinkModel)(saved, CPU)
    assert run.split.test is not None
    cut = run.split.test.as_of
    if isinstance(run, NodeTask):
        deaf = cast(NodeModel, model).probabilities(run.store, cut, run.labels.nodes)[:, 1]
    else:
        deaf = cast(LinkModel, model).probabilities(run.store, cut, run.split.test.src, run.split.test.dst)
    assert np.abs(1 / (1 + np.exp(-heard)) - deaf).max() > 0.05


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


FILES = ("model.safetensors", "preprocessing.json", "calibration.json", "thresholds.json", "predictions.parquet")


@pytest.mark.parametrize("refit", ["false", "true"])
@pytest.mark.parametrize("reports", [1, 2])
def test_a_resumed_run_takes_its_trees_and_ends_with_the_same_bytes(
    run_of: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, fits: list[int], reports: int, refit: str
) -> None:
    """Killed after the first batch, before there is any checkpoint of the network, or after the second."""
    whole, killed = (run_of(name, f"train.refit_trees={refit}") for name in ("whole", "killed"))
    train_task(whole, no_report)
    sets = ("tree", "wide_tree") if isinstance(whole, NodeTask) else ("tree",)
    # Of accounts: as of two cuts, with the whole validation part and without each of three blocks.
    times = 2 * (1 + len(whole.split.validation_blocks())) if isinstance(whole, NodeTask) else 1
    again = times * len(sets) if refit == "true" else 0
    assert len(fits) == len(sets) + again
    assert not (whole.folder / TREES).exists()
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        train_task(killed, killed_after(reports))
    assert (killed.folder / CHECKPOINT).exists() == (reports > 1)
    assert len(fits) == 2 * len(sets) + again
    kept = load((killed.folder / TREES).read_bytes())
    train_task(killed, no_report, resume=True)
    assert len(fits) == 2 * len(sets) + 2 * again, "trees that were saved were fitted again"
    for name in FILES:
        assert (killed.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
    assert not (killed.folder / TREES).exists()
    weights = load_model(killed.folder).weights
    assert kept.keys() == {name for name in weights if name.startswith(tuple(f"{each}." for each in sets))}
    assert {name.partition(".")[0] for name in kept} == set(sets)
    assert all(torch.equal(weights[name], tensor) for name, tensor in kept.items()) == (refit == "false")


def test_trees_that_a_killed_run_had_not_saved_are_fitted_again(run_of: Callable[..., Run], fits: list[int]) -> None:
    whole, killed = (run_of(name, "train.refit_trees=false") for name in ("whole", "killed"))
    train_task(whole, no_report)
    each = len(fits)
    with pytest.raises(Killed):
        train_task(killed, killed_after(1))
    (killed.folder / TREES).unlink()
    train_task(killed, no_report, resume=True)
    assert len(fits) == 3 * each
    assert weights_digest(killed.folder) == weights_digest(whole.folder)


def test_damaged_trees_are_refused(run_of: Callable[..., Run]) -> None:
    run = run_of("m")
    with pytest.raises(Killed):
        train_task(run, killed_after(1))
    trees = run.folder / TREES
    trees.write_bytes(trees.read_bytes()[:-8])
    with pytest.raises(ModelError, match=r"trees\.safetensors: .* Delete it and resume again"):
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
        network = opened(run).network
        assert isinstance(network, kind)
        assert len(cast(Tensor, network.tree.tree_root)) > 0
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


def small(num_classes: int = 2, node_limit: float = 0.0, **sizes: int) -> HybridClassifier:
    config = ModelConfig(family="hybrid", node_limit=node_limit, d_node=4, d_edge=4, d_mlp=4)
    return HybridClassifier(config, spec(**sizes), num_classes, 0)


def randoms(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def naive_log_softmax(row: list[float]) -> list[float]:
    total = math.log(sum(math.exp(value - max(row)) for value in row)) + max(row)
    return [value - total for value in row]


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("d_own", [0, 3])
def test_the_answer_is_its_equation(num_classes: int, d_own: int) -> None:
    network = small(num_classes, d_tree_inputs=6, d_own_features=d_own)
    rows, targets = 2 * randoms(80, 6), torch.arange(80) % num_classes
    rows[:, 1] += 3 * targets
    rows[:, 5] -= 3 * targets
    network.fit_trees(rows, targets, torch.ones(80))
    assert network.blend.weights.tolist() == pytest.approx([1 / (3 if d_own else 2)] * (3 if d_own else 2))
    network.blend.weights = torch.tensor([0.2, 0.9, 0.4][: len(network.blend.weights)], dtype=torch.float64)
    z = randoms(80, 4, seed=1)
    found = network.eval().answer(z, None, rows)
    head = cast(Tensor, network.head(z, None)).tolist()
    trees = [network.tree(rows[:, :d_own] if d_own else rows)]
    trees += [network.wide_tree(rows)] if network.wide_tree is not None else []
    assert len(trees) == (2 if d_own else 1)
    for i in range(80):
        models = [head[i], *([max(-12.0, min(12.0, value)) for value in each[i].tolist()] for each in trees)]
        logs = [naive_log_softmax(row) for row in models]
        weights = network.blend.weights.tolist()
        expected = [sum(w * log[c] for w, log in zip(weights, logs, strict=True)) for c in range(num_classes)]
        assert found[i].tolist() == pytest.approx(expected, abs=1e-5)


def test_the_answer_to_pairs_is_its_equation() -> None:
    config = ModelConfig(family="hybrid", d_node=4, d_edge=4, d_mlp=4, link_head="dot")
    network = HybridPredictor(config, spec(d_pair_statistics=5), 0)
    rows = randoms(60, 5)
    network.fit_trees(rows, (rows[:, 0] > 0).float(), torch.ones(60))
    network.blend.weights = torch.tensor([0.3, 1.1], dtype=torch.float64)
    z_u, z_v = randoms(60, 4, seed=1), randoms(60, 4, seed=2)
    found = network.eval().answer(z_u, z_v, None, rows)
    with network.without_trees():
        alone = network.answer(z_u, z_v, None, rows)
    expected = 0.3 * alone + 1.1 * network.tree(rows).clamp(-12, 12)
    np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-4)


@pytest.mark.parametrize("d_own", [0, 2])
def test_which_columns_a_set_of_trees_reads(d_own: int) -> None:
    network = small(d_tree_inputs=5, d_own_features=d_own)
    rows = randoms(200, 5)
    network.fit_trees(rows, ((rows[:, 0] > 0) != (rows[:, 4] > 0)).long(), torch.ones(200))
    assert set(network.trees()) == ({"tree", "wide_tree"} if d_own else {"tree"})
    assert network.blend.weights.shape == (1 + len(network.trees()),)
    changed = rows.clone()
    changed[:, 4] *= -1
    narrow = [network.tree(network.tree_rows("tree", each)) for each in (rows, changed)]
    assert torch.equal(narrow[0], narrow[1]) == bool(d_own)
    if network.wide_tree is not None:
        wide = [network.wide_tree(network.tree_rows("wide_tree", each)) for each in (rows, changed)]
        assert not torch.equal(wide[0], wide[1])


def test_a_spec_of_gtea_0_1_has_one_set_of_trees_on_node_features_and_neighbour_labels() -> None:
    network = small(d_head_inputs=4, d_neighbour_labels=4)
    assert network.wide_tree is None
    rows = randoms(40, 4 + 4)
    network.fit_trees(rows, (rows[:, 7] > 0).long(), torch.ones(40))
    assert torch.equal(network.tree(rows).argmax(1), (rows[:, 7] > 0).long())
    assert network.eval().answer(randoms(5, 4), randoms(5, 4), randoms(5, 8)).shape == (5, 2)


def test_the_network_alone() -> None:
    network = small(d_tree_inputs=4, d_own_features=2)
    rows, z = randoms(40, 4), randoms(40, 4, seed=1)
    network.fit_trees(rows, (rows[:, 0] > 0).long(), torch.ones(40))
    head = network.head(z, None)
    assert torch.equal(network.train().answer(z, None, rows), head)
    blended = network.eval().answer(z, None, rows)
    assert not torch.allclose(blended, head)
    with network.without_trees():
        assert torch.equal(network.answer(z, None, rows), head)
        # Nor are they needed then.
        assert torch.equal(network.answer(z, None, None), head)
    assert torch.equal(network.answer(z, None, rows), blended)
    with pytest.raises(KeyError), network.without_trees():
        raise KeyError
    assert torch.equal(network.answer(z, None, rows), blended)


def test_a_class_that_a_tree_has_never_seen_is_not_impossible() -> None:
    network = small(3)
    rows = randoms(40, 4)
    network.fit_trees(rows, (rows[:, 0] > 0).long(), torch.ones(40))
    assert torch.isinf(network.tree(rows)[:, 2]).all()
    logits = network.eval().answer(torch.zeros(40, 4), None, rows)
    assert torch.isfinite(logits).all()
    assert (logits.argmax(1) != 2).all()


def test_the_tree_tells_features_apart_that_lie_beyond_the_networks_limit() -> None:
    network = small(node_limit=1.0)
    rows = 3 * randoms(400, 4)
    network.fit_trees(rows, (rows[:, 0] > 2).long(), torch.ones(400))
    logits = network.eval().answer(torch.zeros(400, 4), None, rows)
    assert torch.equal(logits.argmax(1), (rows[:, 0] > 2).long())


@pytest.mark.parametrize("options", [ScoringOptions(), ScoringOptions(sampled=True)])
def test_the_papers_head_hears_the_tree_too(visits: Store, tmp_path: Path, options: ScoringOptions) -> None:
    runs = []
    settings = [*SMALL_GTEA, "model.link_head=dot", "model.node_limit=0", "train.epochs=1"]
    for model in (DEFAULT_MODEL, "gtea-l+t"):
        config = read_config(None, settings, default_config(model_config(model), "links"))
        runs.append(LinkTask(visits, split_links(visits, train_windows=3), config, tmp_path / model, CPU))
        train_task(runs[-1], no_report)
    weights = load_model(runs[0].folder).weights["blend.weights"].numpy()
    expected = np.stack([asked(runs[1], options, raw=True), *tree_logits(runs[0])]).T @ weights
    np.testing.assert_allclose(asked(runs[0], options, raw=True), expected, atol=1e-4)


def test_three_classes(shops: Store, tmp_path: Path) -> None:
    two = labels_in(shops)
    targets = np.where(np.arange(len(two.nodes)) % 5 == 0, 2, two.targets)
    labels = labels_from_arrays(two.nodes, targets, ("small", "big", "odd"), shops, "users", np.ones(len(two.nodes)))
    config = read_config(
        None,
        [*SMALL_GTEA, "train.epochs=1", "train.metric=log_likelihood"],
        default_config(model_config("hybrid"), "nodes"),
    )
    run = NodeTask(shops, labels, None, temporal_split(labels, shops), config, tmp_path / "m", CPU)
    saved = train_task(run, no_report)
    assert saved.thresholds == {"threshold": None}
    assert saved.predictions is not None
    halves = [f"{half}_{name}" for half in ("p", "network", "trees") for name in labels.classes]
    assert saved.predictions.column_names == ["part", "account", "target", *halves]
    model = NodeModel.open(run.folder, CPU)
    exact, sampled = (
        model.probabilities(shops, shops.end, labels.nodes, ScoringOptions(sampled=each)) for each in (False, True)
    )
    np.testing.assert_allclose(exact, sampled, atol=1e-4)
    np.testing.assert_allclose(exact.sum(axis=1), 1)
    assert (model.decide(exact) == exact.argmax(axis=1)).all()
