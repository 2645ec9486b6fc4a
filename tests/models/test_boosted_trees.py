"""TreeArrays: what they learn, and that our arrays say exactly what scikit-learn's trees say."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from sklearn.ensemble import HistGradientBoostingClassifier

from gtea.errors import ModelError
from gtea.models.boosted_trees import STRONG, BoostedTrees, PairBoostedTrees


def examples(
    num_classes: int, num_rows: int = 400, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
    """Rows with gaps, ties and useless columns, and classes that a tree can mostly tell."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(num_rows, 5)) * [1, 1e6, 1e-6, 1, 1]
    rows[:, 3] = np.round(rows[:, 3])
    score = rows[:, 0] + rows[:, 1] / 1e6 * rows[:, 3] + chance.normal(size=num_rows) / 4
    targets = np.searchsorted(np.quantile(score, np.arange(1, num_classes) / num_classes), score)
    rows[chance.random(rows.shape) < 0.2] = np.nan
    return rows, targets, chance.uniform(0.5, 2, num_rows)


def grown(
    forest: BoostedTrees, rows: NDArray[np.float64], targets: NDArray[Any], weights: NDArray[np.float64]
) -> BoostedTrees:
    forest.fit(torch.from_numpy(rows), torch.from_numpy(targets), torch.from_numpy(weights))
    return forest


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("num_classes", [2, 3, 5])
def test_it_says_what_scikit_learn_says(num_classes: int, weighted: bool) -> None:
    rows, targets, weights = examples(num_classes)
    weights = weights if weighted else np.ones_like(weights)
    forest = grown(BoostedTrees(5, num_classes, seed=0), rows, targets, weights)
    rival = HistGradientBoostingClassifier(random_state=0, early_stopping=False)
    rival.fit(rows, targets, sample_weight=weights)
    others, *_ = examples(num_classes, 2000, seed=1)
    # On thresholds, where <= and < part.
    thresholds = np.concatenate([tree.nodes["num_threshold"] for row in rival._predictors for tree in row])
    others[:500, 0] = np.resize(thresholds, 500)
    ours = torch.softmax(forest(torch.from_numpy(others)), dim=1).numpy()
    assert np.abs(ours - rival.predict_proba(others)).max() < 1e-12


@pytest.mark.parametrize("num_rows", [20, 60, 400])
@pytest.mark.parametrize("num_classes", [2, 3])
def test_strong_trees_are_those_of_scikit_learn_with_other_settings(num_classes: int, num_rows: int) -> None:
    """Smaller steps and trees, fewer columns per split, a penalty; and leaves that few labels can fill."""
    rows, targets, weights = examples(num_classes, num_rows)
    forest = grown(BoostedTrees(5, num_classes, 3, STRONG), rows, targets, weights)
    rarest = int(np.bincount(targets).min())
    rival = HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=200,
        max_leaf_nodes=15,
        max_features=0.3,
        l2_regularization=3.0,
        min_samples_leaf={20: {10: 2, 6: 2}, 60: {30: 7, 20: 5}, 400: {200: 20, 133: 20}}[num_rows][rarest],
        random_state=3,
        early_stopping=False,
    )
    rival.fit(rows, targets, sample_weight=weights)
    others, *_ = examples(num_classes, 500, seed=1)
    ours = torch.softmax(forest(torch.from_numpy(others)), dim=1).numpy()
    assert np.abs(ours - rival.predict_proba(others)).max() < 1e-12
    assert len(cast(torch.Tensor, forest.tree_root)) == 200 * (1 if num_classes == 2 else num_classes)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_a_mean_of_forests_has_the_mean_of_their_logits(num_classes: int) -> None:
    rows, targets, weights = examples(num_classes)
    forests = [grown(BoostedTrees(5, num_classes, seed, STRONG), rows, targets, weights) for seed in range(3)]
    forests[1].fit(torch.from_numpy(rows[:200]), torch.from_numpy(targets[:200]), torch.from_numpy(weights[:200]))
    others = torch.from_numpy(examples(num_classes, 500, seed=1)[0])
    expected = torch.stack([forest(others) for forest in forests]).mean(dim=0)
    mean = BoostedTrees(5, num_classes, seed=0)
    mean.take_mean(forests)
    torch.testing.assert_close(mean(others), expected)
    loaded = BoostedTrees(5, num_classes, seed=0)
    loaded.load_state_dict(load(save(mean.state_dict())))
    torch.testing.assert_close(loaded(others), expected)


def test_twenty_labels_are_enough_for_strong_trees_to_learn_something() -> None:
    """Leaves of 20 examples would allow no split at all."""
    rows, targets, weights = examples(2, 20)
    plain, strong = (grown(BoostedTrees(5, 2, 0, *rest), rows, targets, weights) for rest in ((), (STRONG,)))
    assert len({tuple(row) for row in plain(torch.from_numpy(rows)).tolist()}) == 1
    right = (strong(torch.from_numpy(rows)).argmax(1).numpy() == targets).mean()
    assert right > 0.7


def test_of_pairs_it_gives_one_logit() -> None:
    rows, targets, weights = examples(2)
    forest = grown(PairBoostedTrees(5, seed=0), rows, targets.astype(np.float32), weights)
    both = grown(BoostedTrees(5, 2, seed=0), rows, targets, weights)
    logits = forest(torch.from_numpy(rows))
    assert torch.allclose(logits.sigmoid(), torch.softmax(both(torch.from_numpy(rows)), 1)[:, 1], atol=1e-12)
    assert ((logits > 0).numpy() == targets).mean() > 0.9


def test_what_is_fitted_or_loaded_anew_is_what_answers() -> None:
    rows = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    models = [BoostedTrees(3, 2, seed=0) for _ in range(2)]
    for model, target in zip(models, (rows[:, 0] > 0, rows[:, 1] > 0), strict=True):
        model.fit(rows, target.long(), torch.ones(200))
    first, second = (model(rows) for model in models)
    assert not torch.equal(first, second)
    models[0].load_state_dict(models[1].state_dict())
    assert torch.equal(models[0](rows), second)
    models[0].fit(rows, (rows[:, 0] > 0).long(), torch.ones(200))
    assert torch.equal(models[0](rows), first)


def test_a_class_that_training_lacks_has_probability_zero() -> None:
    rows, targets, weights = examples(2)
    forest = grown(BoostedTrees(5, 4, seed=0), rows, np.array([1, 3])[targets], weights)
    answers = torch.softmax(forest(torch.from_numpy(rows)), dim=1).numpy()
    assert (answers[:, [0, 2]] == 0).all()
    rival = grown(BoostedTrees(5, 2, seed=0), rows, targets, weights)
    assert np.allclose(answers[:, [1, 3]], torch.softmax(rival(torch.from_numpy(rows)), dim=1), atol=1e-12)
    alone = grown(BoostedTrees(5, 4, seed=0), rows, np.full(len(rows), 2), weights)
    assert torch.softmax(alone(torch.from_numpy(rows[:2])), dim=1).tolist() == [[0, 0, 1, 0]] * 2


def test_it_is_saved_as_numbers_and_the_same_bytes_each_time() -> None:
    made = [grown(BoostedTrees(5, 3, seed=0), *examples(3)) for _ in range(2)]
    contents = [save(forest.state_dict()) for forest in made]
    assert contents[0] == contents[1]
    read = BoostedTrees(5, 3, seed=9)
    read.load_state_dict(load(contents[0]))
    rows = torch.from_numpy(examples(3)[0])
    assert torch.equal(read(rows), made[0](rows))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("node_left", 0, 0),  # a node that is its own child: the walk would never end
        ("node_right", 0, 10**6),
        ("node_feature", 0, 5),
        ("node_feature", 0, -1),
        ("tree_root", 1, -7),
        ("tree_root", 0, 1),
        ("tree_root", 2, 0),  # a tree twice: a file of few trees could cost as much as millions
        ("node_left", 0, 200),  # a node of another tree
        ("node_right", 0, -1),
        ("node_right", 0, -(2**63)),
        ("node_value", 3, float("nan")),
        ("baseline", 0, float("inf")),
        ("tree_class", 0, 3),
    ],
)
def test_trees_that_lead_nowhere_are_refused(name: str, place: int, value: float) -> None:
    state = grown(BoostedTrees(5, 3, seed=0), *examples(3)).state_dict()
    state[name] = state[name].clone()
    state[name][place] = value
    with pytest.raises(ModelError, match="its trees are inconsistent"):
        BoostedTrees(5, 3, seed=0).load_state_dict(state)


def test_arrays_of_other_lengths_or_kinds_are_refused() -> None:
    state = grown(BoostedTrees(5, 3, seed=0), *examples(3)).state_dict()
    with pytest.raises(ModelError, match="its trees are inconsistent"):
        BoostedTrees(5, 3, seed=0).load_state_dict({**state, "node_value": state["node_value"][:-1]})
    with pytest.raises(ModelError, match="its trees are inconsistent"):
        BoostedTrees(5, 3, seed=0).load_state_dict({**state, "node_left": state["node_left"].int()})
    with pytest.raises(ModelError, match="its trees are inconsistent"):
        BoostedTrees(5, 4, seed=0).load_state_dict(state)
    with pytest.raises(ModelError, match="its trees are inconsistent"):
        BoostedTrees(5, 3, seed=0).load_state_dict(
            {name: array for name, array in state.items() if name != "tree_root"}
        )


def test_rows_of_another_width_never_reach_compiled_code() -> None:
    trees = grown(BoostedTrees(5, 3, seed=0), *examples(3))
    with pytest.raises(AssertionError, match="as many columns as they were fitted to"):
        trees(torch.zeros(2, 4))
