"""Blend weights against slow, obviously right searches for the minimum of the stated objective."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gtea.models.blend import LATER, OTHER_SHARES, SAME_TIME, Blend, Trust, blend_weights

Floats = NDArray[np.float64]
Targets = NDArray[np.int64]


def examples(seed: int, num_examples: int, num_models: int, num_classes: int) -> tuple[Floats, Targets]:
    """Random log probabilities, each model with its own skill and confidence, and classes that they tell of."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(num_examples, num_classes))
    targets = np.array([rng.choice(num_classes, p=row) for row in softmax(2 * truth)])
    skill, confidence = rng.uniform(0, 1, num_models), rng.uniform(0.3, 6, num_models)
    noise = rng.normal(size=(num_examples, num_models, num_classes))
    logits = skill[:, None] * truth[:, None] + (1 - skill)[:, None] * noise
    return log_softmax(confidence[:, None] * logits), targets


def softmax(logits: Floats) -> Floats:
    return np.asarray(np.exp(log_softmax(logits)))


def log_softmax(logits: Floats) -> Floats:
    return np.asarray(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))


def favoured(rows: Floats, targets: Targets, chosen: tuple[int, ...] = (), trust: Trust = SAME_TIME) -> Floats:
    """What weights are drawn to: t_k exp(b l_k / sqrt(n)) for the log-likelihood l_k of each model, summing to 1."""
    n = len(targets)
    alone = np.array([sum(row[k][y] for row, y in zip(rows, targets, strict=True)) for k in range(rows.shape[1])])
    shares = np.array([n / (n + 200) if k in chosen else 1 for k in range(rows.shape[1])])
    scores = shares * np.exp(trust.evidence * (alone - alone.max()) / np.sqrt(n))
    return np.asarray(scores / scores.sum())


def objective(
    weights: Floats, rows: Floats, targets: Targets, chosen: tuple[int, ...] = (), trust: Trust = SAME_TIME
) -> float:
    """As in the module's docstring."""
    mixed = log_softmax(np.einsum("k,nkc->nc", weights, rows))
    likelihood = sum(row[y] for row, y in zip(mixed, targets, strict=True))
    shrinkage = trust.shrinkage * (1 + 200 / len(targets))
    return float(-likelihood + shrinkage * ((weights - favoured(rows, targets, chosen, trust)) ** 2).sum())


def by_grid(rows: Floats, targets: Targets, low: Floats, high: Floats, steps: int) -> Floats:
    """The best point of a dense grid."""
    axes = [np.linspace(a, b, steps) for a, b in zip(low, high, strict=True)]
    points = np.array(list(product(*axes)))
    return np.asarray(points[np.argmin([objective(point, rows, targets) for point in points])])


@pytest.mark.parametrize(("num_models", "steps"), [(2, 21), (3, 11)])
@pytest.mark.parametrize("num_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_point_of_a_dense_grid_is_better(num_models: int, steps: int, num_classes: int, seed: int) -> None:
    rows, targets = examples(seed, 60, num_models, num_classes)
    found = blend_weights(rows, targets)
    best = objective(found, rows, targets)
    # The whole region first: the minimum is near one of its points, and nowhere else.
    nothing, largest = np.zeros(num_models), np.full(num_models, 3.0)
    near = by_grid(rows, targets, nothing, largest, steps)
    assert objective(near, rows, targets) >= best - 1e-12
    assert np.abs(near - found).max() <= 1.5 * 3 / (steps - 1)
    close = by_grid(rows, targets, np.maximum(found - 1e-3, 0), found + 1e-3, 5)
    assert objective(close, rows, targets) >= best - 1e-9
    np.testing.assert_allclose(close, found, atol=1e-9)


def by_descent(rows: Floats, targets: Targets) -> Floats:
    """Projected gradient descent with steps that can't overshoot, until nothing moves."""
    start, pull = favoured(rows, targets), 2 * SAME_TIME.shrinkage * (1 + 200 / len(targets))
    # The largest curvature of a log-sum-exp is a quarter of the squared spread of what it sums.
    spread = (rows.max(axis=2) - rows.min(axis=2)).sum(axis=1)
    step = 1 / ((spread**2).sum() / 4 + pull)
    weights = start
    for _ in range(100_000):
        chances = softmax(np.einsum("k,nkc->nc", weights, rows))
        slope = np.einsum("nc,nkc->k", chances - np.eye(rows.shape[2])[targets], rows) + pull * (weights - start)
        moved = np.maximum(weights - step * slope, 0)
        if np.abs(moved - weights).max() < 1e-13:
            break
        weights = moved
    return weights


@pytest.mark.parametrize("num_models", [2, 3])
@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("num_examples", [3, 40, 200])
def test_projected_gradient_descent_ends_there_too(num_models: int, num_classes: int, num_examples: int) -> None:
    rows, targets = examples(7, num_examples, num_models, num_classes)
    np.testing.assert_allclose(blend_weights(rows, targets), by_descent(rows, targets), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_no_weight_is_negative_and_that_of_a_harmful_model_is_0(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(500, 3))
    targets = np.array([rng.choice(3, p=row) for row in softmax(truth)])
    # Two views of the truth, one of them upside down: a negative weight would help.
    one, other = (truth + rng.normal(size=truth.shape) for _ in range(2))
    found = blend_weights(log_softmax(np.stack([one, -other], axis=1)), targets)
    assert found[0] > 0.3
    assert found[1] == 0


@pytest.mark.parametrize("num_models", [1, 2, 3])
def test_without_examples_all_models_are_equal(num_models: int) -> None:
    found = blend_weights(np.zeros((0, num_models, 2)), np.zeros(0, dtype=np.int64))
    np.testing.assert_allclose(found, 1 / num_models, atol=1e-12)
    np.testing.assert_allclose(Blend(num_models).weights, found, atol=1e-12)


def test_a_handful_of_examples_decides_little_and_many_decide() -> None:
    """One model knows a little, the other nothing: two examples hardly tell, a thousand do."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=1000)
    targets = (rng.random(1000) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    knowing, guessing = (np.stack([-logit / 2, logit / 2], axis=1) for logit in (truth, rng.normal(size=1000)))
    rows = log_softmax(np.stack([knowing, guessing], axis=1))
    few, many = (blend_weights(rows[:count], targets[:count]) for count in (2, 1000))
    assert few.min() > 0.1
    assert many[0] > 0.8
    assert many[1] < 0.1


def test_a_copy_that_is_too_sure_gets_less_weight() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(500, 3))
    targets = np.array([rng.choice(3, p=row) for row in softmax(truth)])
    sure, honest = blend_weights(np.stack([log_softmax(4 * truth), log_softmax(truth)], axis=1), targets)
    assert sure < honest
    # Together they must be as sure as the truth is.
    assert 4 * sure + honest == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("num_examples", [50, 20_000])
def test_copies_of_one_model_share_its_weight(num_examples: int) -> None:
    rows, targets = examples(2, num_examples, 1, 2)
    copies = blend_weights(np.repeat(rows, 3, axis=1), targets)
    np.testing.assert_allclose(copies, copies.mean(), atol=1e-6)


def test_models_that_nearly_agree_are_told_apart_in_many_examples() -> None:
    """As two sets of trees do. Weights that are changed one at a time would take thousands of rounds."""
    rng = np.random.default_rng(4)
    truth = 3 * rng.normal(size=20_000)
    targets = (rng.random(len(truth)) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    first = truth + rng.normal(scale=0.5, size=len(truth))
    logits = np.stack([first, first + rng.normal(scale=0.05, size=len(truth))], axis=1)
    rows = log_softmax(np.stack([np.zeros_like(logits), logits], axis=2))
    found = blend_weights(rows, targets)
    slopes = []
    for k in range(2):
        step = np.where(np.arange(2) == k, 1e-4, 0)
        slopes.append((objective(found + step, rows, targets) - objective(found - step, rows, targets)) / 2e-4)
    assert np.abs(slopes).max() < 1e-2


@pytest.mark.parametrize("scale", [30.0, 300.0])
def test_models_that_are_sure_of_everything(scale: float) -> None:
    """Curvature is near 0 but at a few places, where plain Newton steps jump to and fro."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(200, 2, 3))
    targets = rng.integers(0, 3, 200)
    rows = log_softmax(scale * truth)
    found = blend_weights(rows, targets)
    best = objective(found, rows, targets)
    for change in product((-1e-3, 0.0, 1e-3), repeat=2):
        assert objective(np.maximum(found + change, 0), rows, targets) >= best - 1e-9


@pytest.mark.parametrize("num_examples", [10, 300])
def test_a_model_whose_epoch_was_chosen_on_the_examples_is_trusted_less(num_examples: int) -> None:
    rows, targets = examples(16, num_examples, 1, 2)
    twins = np.repeat(rows, 2, axis=1)
    found = blend_weights(twins, targets, chosen=[0])
    assert found[0] < found[1]
    best = objective(found, twins, targets, (0,))
    for change in product((-1e-3, 0.0, 1e-3), repeat=2):
        assert objective(np.maximum(found + change, 0), twins, targets, (0,)) >= best - 1e-9


@pytest.mark.parametrize("trust", [SAME_TIME, LATER, OTHER_SHARES])
@pytest.mark.parametrize("chosen", [(), (1,)])
def test_it_is_the_minimum_however_far_the_examples_are_trusted(trust: Trust, chosen: tuple[int, ...]) -> None:
    rows, targets = examples(17, 150, 3, 3)
    found = blend_weights(rows, targets, chosen, trust)
    best = objective(found, rows, targets, chosen, trust)
    for change in product((-1e-3, 0.0, 1e-3), repeat=3):
        assert objective(np.maximum(found + change, 0), rows, targets, chosen, trust) >= best - 1e-9


def test_the_less_examples_are_trusted_the_less_they_change() -> None:
    """Of a good and a worthless model, equal weights are least changed by examples of another kind."""
    rng = np.random.default_rng(18)
    truth = rng.normal(size=(300, 2))
    targets = np.array([rng.choice(2, p=row) for row in softmax(2 * truth)])
    rows = log_softmax(2 * np.stack([truth, rng.normal(size=(300, 2))], axis=1))
    distances = [
        np.abs(blend_weights(rows, targets, (), trust) - 0.5).max() for trust in (SAME_TIME, LATER, OTHER_SHARES)
    ]
    assert distances[0] > distances[1] > distances[2]


def test_examples_of_other_shares_favour_no_model() -> None:
    """Ten examples that one model gets right and the other wrong: they say nothing of what will be scored."""
    targets = np.arange(10) % 2
    right = np.where(np.eye(2)[targets] == 1, -0.1, -2.4)
    rows = log_softmax(np.stack([right, -2.5 - right], axis=1))
    np.testing.assert_allclose(blend_weights(rows, targets, (), OTHER_SHARES), 0.5, atol=0.01)
    assert blend_weights(rows, targets, (), SAME_TIME)[0] > 0.9


def test_the_order_of_examples_has_no_effect() -> None:
    rows, targets = examples(12, 400, 3, 3)
    order = np.random.default_rng(0).permutation(400)
    np.testing.assert_allclose(blend_weights(rows[order], targets[order]), blend_weights(rows, targets), atol=1e-9)


def test_the_order_of_models_has_no_effect() -> None:
    rows, targets = examples(13, 400, 3, 3)
    order = np.array([2, 0, 1])
    np.testing.assert_allclose(blend_weights(rows[:, order], targets), blend_weights(rows, targets)[order], atol=1e-6)


def test_the_answer_is_the_weighted_sum() -> None:
    rows, targets = examples(14, 30, 3, 4)
    blend = Blend(3)
    blend.fit(rows, targets, [0], LATER)
    weights = blend_weights(rows, targets, [0], LATER)
    np.testing.assert_array_equal(blend.weights, weights)
    expected = sum(weights[k] * rows[:, k] for k in range(3))
    np.testing.assert_allclose(blend(torch.from_numpy(rows)), expected, atol=1e-12)
    singles = blend(torch.from_numpy(rows).float())
    assert singles.dtype == torch.float32
    np.testing.assert_allclose(singles, expected, atol=1e-5)


def test_weights_are_saved_in_double_precision() -> None:
    blend, again = Blend(2), Blend(2)
    blend.fit(*examples(15, 30, 2, 2))
    assert list(blend.state_dict()) == ["weights"]
    again.load_state_dict(blend.state_dict())
    assert again.weights.dtype == torch.float64
    assert torch.equal(again.weights, blend.weights)
