"""Metrics: values worked out by hand, scikit-learn on random data with ties, and the errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

from gtea.errors import DataError, UsageError
from gtea.tasks import metrics as m
from gtea.tasks.uncertainty import bootstrap_interval

TRUTH = [1, 0, 1, 0, 0]
SCORES = [0.9, 0.8, 0.7, 0.7, 0.1]


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores on a coarse grid, so that ties are everywhere."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 200))
    truth = rng.random(size) < rng.uniform(0.05, 0.9)
    truth[:2] = True, False
    return truth, np.round(rng.random(size), int(rng.integers(1, 4)))


def test_values_worked_out_by_hand() -> None:
    # Thresholds 0.9: P 1, R 1/2; 0.8: P 1/2; 0.7: both tied at once, P 2/4, R 1.
    assert m.average_precision(TRUTH, SCORES) == pytest.approx(0.5 * 1 + 0.5 * 0.5)
    # Of six (positive, negative) pairs 3 + 1 are in order, one is tied.
    assert m.roc_auc(TRUTH, SCORES) == pytest.approx(4.5 / 6)
    assert m.prevalence(TRUTH) == pytest.approx(0.4)
    assert m.brier([1, 0], [0.75, 0.5]) == pytest.approx((0.0625 + 0.25) / 2)
    chances = [[0.5, 0.25, 0.25], [0.2, 0.7, 0.1]]
    assert m.log_likelihood([2, 1], chances) == pytest.approx((np.log(0.25) + np.log(0.7)) / 2)
    assert m.accuracy([0, 1, 2, 2], [0, 1, 1, 2]) == 0.75
    assert m.macro_f1([0, 1, 2, 2], [0, 1, 1, 2]) == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)


def test_a_mistake_that_a_model_is_sure_of_does_not_outweigh_all_else() -> None:
    assert m.log_likelihood([0, 1], [[1.0, 0.0], [1.0, 0.0]]) == pytest.approx(np.log(1e-6) / 2)


def test_macro_f1_counts_a_class_that_was_only_predicted() -> None:
    assert m.macro_f1([0, 0, 0], [0, 0, 3]) == pytest.approx((0.8 + 0) / 2)


def test_ties_at_k_count_for_their_part_of_the_places_left() -> None:
    assert m.precision_at_k(TRUTH, SCORES, 1) == 1
    assert m.precision_at_k(TRUTH, SCORES, 2) == 0.5
    assert m.precision_at_k(TRUTH, SCORES, 3) == pytest.approx((1 + 0.5) / 3)
    assert m.precision_at_k(TRUTH, SCORES, 4) == 0.5
    assert m.recall_at_k(TRUTH, SCORES, 3) == pytest.approx(1.5 / 2)
    assert m.recall_at_k(TRUTH, SCORES, 5) == 1


def test_recall_at_fpr_never_exceeds_its_limit() -> None:
    truth, scores = [1, 0, 1, 0, 1, 0], [6.0, 5.0, 4.0, 3.0, 3.0, 1.0]
    assert m.recall_at_fpr(truth, scores, 0) == pytest.approx(1 / 3)
    assert m.recall_at_fpr(truth, scores, 0.34) == pytest.approx(2 / 3)
    assert m.recall_at_fpr(truth, scores, 2 / 3) == 1
    assert m.recall_at_fpr([0, 1], [2.0, 1.0], 0.01) == 0


def test_links_rank_among_their_own_negatives_and_a_tie_is_half_a_place() -> None:
    positive = np.array([0.9, 0.5, 0.1])
    negatives = np.array([[0.1, 0.2], [0.5, 0.1], [0.2, 0.3]])
    assert m.mrr(positive, negatives) == pytest.approx((1 + 1 / 1.5 + 1 / 3) / 3)
    assert m.hits_at_k(positive, negatives, 1) == pytest.approx(1 / 3)
    assert m.hits_at_k(positive, negatives, 2) == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", range(60))
def test_equal_to_scikit_learn_with_ties(seed: int) -> None:
    truth, scores = random_case(seed)
    assert m.average_precision(truth, scores) == pytest.approx(sk.average_precision_score(truth, scores))
    assert m.roc_auc(truth, scores) == pytest.approx(sk.roc_auc_score(truth, scores))
    assert m.brier(truth, scores) == pytest.approx(sk.brier_score_loss(truth, scores))
    assert m.accuracy(truth, scores > 0.5) == pytest.approx(sk.accuracy_score(truth, scores > 0.5))
    fpr, tpr, _ = sk.roc_curve(truth, scores, drop_intermediate=False)
    for limit in (0.0, 0.01, 0.1, 0.5):
        assert m.recall_at_fpr(truth, scores, limit) == pytest.approx(tpr[fpr <= limit].max())
    observed, predicted = calibration_curve(truth, scores, n_bins=7)
    curve = m.reliability_curve(truth, scores, num_bins=7)
    assert curve.observed == pytest.approx(observed)
    assert curve.mean_predicted == pytest.approx(predicted)
    assert curve.counts.sum() == len(truth)


@pytest.mark.parametrize("seed", range(20))
def test_macro_f1_equals_scikit_learn_for_many_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, predicted = rng.integers(0, 6, 30), rng.integers(0, 8, 30)
    assert m.macro_f1(truth, predicted) == pytest.approx(sk.f1_score(truth, predicted, average="macro"))


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_examples_changes_nothing(seed: int) -> None:
    truth, scores = random_case(seed)
    order = np.random.default_rng(seed).permutation(len(truth))
    assert m.binary_metrics(truth, scores) == pytest.approx(m.binary_metrics(truth[order], scores[order]))


def test_a_model_that_says_the_same_of_everybody_gets_what_guessing_gets() -> None:
    truth = np.arange(200) < 20
    figures = m.binary_metrics(truth, np.full(200, 0.3))
    assert figures["average_precision"] == pytest.approx(figures["prevalence"])
    assert figures["precision_at_100"] == pytest.approx(0.1)
    assert figures["precision_at_positives"] == pytest.approx(0.1)
    assert figures["recall_at_100"] == pytest.approx(0.5)
    assert figures["roc_auc"] == 0.5
    assert figures["recall_at_1pct_fpr"] == figures["recall_at_0.1pct_fpr"] == 0


def test_the_edges_of_reliability_bins() -> None:
    curve = m.reliability_curve([0, 1, 1, 1], [0.0, 0.5, 0.5, 1.0], num_bins=2)
    assert curve.low.tolist() == [0, 0.5]
    assert curve.counts.tolist() == [1, 3]
    assert curve.observed.tolist() == [0, 1]


def naive_calibration_error(truth: list[bool], probabilities: list[float], num_bins: int) -> float:
    """Every example on its own: its place among all is the middle of its ties'."""
    size = len(truth)
    bins: dict[int, list[int]] = {}
    for i, chance in enumerate(probabilities):
        below, tied = sum(other < chance for other in probabilities), sum(other == chance for other in probabilities)
        bins.setdefault(math.floor((below + (tied - 1) / 2) / size * num_bins + 1e-12), []).append(i)
    gaps = [
        len(members) * abs(sum(probabilities[i] for i in members) - sum(truth[i] for i in members)) / len(members)
        for members in bins.values()
    ]
    return sum(gaps) / size


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("num_bins", [1, 4, 15])
def test_the_calibration_error_equals_the_naive_one(seed: int, num_bins: int) -> None:
    truth, chances = random_case(seed)
    expected = naive_calibration_error(truth.tolist(), chances.tolist(), num_bins)
    assert m.expected_calibration_error(truth, chances, num_bins) == pytest.approx(expected)
    order = np.random.default_rng(seed).permutation(len(truth))
    assert m.expected_calibration_error(truth[order], chances[order], num_bins) == pytest.approx(expected)


def test_bins_of_the_calibration_error_hold_equal_numbers() -> None:
    # Two bins: (0.01, 0.02) without a positive, (0.03, 0.5) with one. Bins of equal width would split off 0.5.
    assert m.expected_calibration_error([0, 0, 0, 1], [0.01, 0.02, 0.03, 0.5], num_bins=2) == pytest.approx(
        (0.03 + 0.47) / 4
    )
    # Tied predictions are in one bin: the mean is right.
    assert m.expected_calibration_error([0, 1, 0, 1], [0.5] * 4, num_bins=4) == 0
    assert m.expected_calibration_error([0, 1, 1, 1], [0.5] * 4, num_bins=4) == 0.25


def test_the_calibration_error_is_small_only_for_probabilities_that_are_right() -> None:
    rng = np.random.default_rng(0)
    chances = rng.beta(0.5, 5, 20_000)
    truth = rng.random(20_000) < chances
    assert m.expected_calibration_error(truth, chances) < 0.01
    assert m.expected_calibration_error(truth, chances**0.5) > 0.1


def test_node_metrics_of_two_classes_look_at_the_positive_one() -> None:
    chances = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.3, 0.7], [0.9, 0.1]])
    figures = m.node_metrics(TRUTH, chances, ("normal", "phishing"), "phishing")
    assert figures["accuracy"] == pytest.approx(0.6)
    assert figures["average_precision"] == pytest.approx(0.75)
    assert set(figures) == {
        *("accuracy", "macro_f1", "average_precision", "prevalence", "roc_auc", "precision_at_positives"),
        *("recall_at_1pct_fpr", "recall_at_0.1pct_fpr", "brier", "log_likelihood"),
    }
    other = m.node_metrics(TRUTH, chances, ("normal", "phishing"), "normal")
    assert other["prevalence"] == pytest.approx(0.6)
    assert other["accuracy"] == figures["accuracy"]


@pytest.mark.parametrize("positive", ["normal", "phishing"])
@pytest.mark.parametrize("threshold", [0.0, 0.15, 0.7, 0.8, 1.0])
def test_a_threshold_of_the_positive_class_decides(positive: str, threshold: float) -> None:
    chances = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.3, 0.7], [0.9, 0.1]])
    column = ("normal", "phishing").index(positive)
    predicted = [column if row[column] >= threshold else 1 - column for row in chances]
    figures = m.node_metrics(TRUTH, chances, ("normal", "phishing"), positive, threshold)
    assert figures["accuracy"] == pytest.approx(
        np.mean([one == two for one, two in zip(predicted, TRUTH, strict=True)])
    )
    assert figures["macro_f1"] == pytest.approx(m.macro_f1(TRUTH, predicted))
    # Nothing else is a matter of thresholds.
    free = m.node_metrics(TRUTH, chances, ("normal", "phishing"), positive)
    changed = {name for name in figures if figures[name] != free[name]}
    assert changed <= {"accuracy", "macro_f1"}


def test_a_threshold_of_one_half_differs_from_the_most_likely_class_in_ties_only() -> None:
    chances = np.array([[0.4, 0.6], [0.6, 0.4], [0.5, 0.5]])
    assert m.node_metrics([1, 0, 1], chances, ("a", "b"), "b", 0.5)["accuracy"] == 1
    assert m.node_metrics([1, 0, 1], chances, ("a", "b"), "b")["accuracy"] == pytest.approx(2 / 3)


def test_node_metrics_of_many_classes_are_the_papers_two_and_the_likelihood() -> None:
    figures = m.node_metrics([0, 1, 2], np.eye(3), ("a", "b", "c"))
    assert figures == {"accuracy": 1.0, "macro_f1": 1.0, "log_likelihood": 0.0}


def test_link_metrics() -> None:
    figures = m.link_metrics(np.array([0.9, 0.4]), np.array([[0.1, 0.2, 0.3], [0.6, 0.1, 0.2]]))
    assert figures["accuracy"] == pytest.approx(6 / 8)
    assert figures["mrr"] == pytest.approx(0.75)
    assert figures["hits_at_1"] == 0.5
    assert figures["hits_at_3"] == 1
    assert "hits_at_10" not in figures
    assert figures["prevalence"] == 0.25
    truth, scores = [1, 1, 0, 0, 0, 0, 0, 0], [0.9, 0.4, 0.1, 0.2, 0.3, 0.6, 0.1, 0.2]
    assert figures["average_precision"] == pytest.approx(sk.average_precision_score(truth, scores))
    assert figures["precision_at_positives"] == 0.5
    assert figures["recall_at_1pct_fpr"] == 0.5


@pytest.mark.parametrize("metric", [m.average_precision, m.roc_auc, m.brier, m.reliability_curve, m.binary_metrics])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_an_error(metric: Callable[..., object], bad: float) -> None:
    with pytest.raises(DataError, match=r"scores: must be finite \(got .* at 1, 1 such in all\)"):
        metric([0, 1, 1], [0.1, bad, 0.2])


def test_nan_is_an_error_for_links_and_tables_too() -> None:
    with pytest.raises(DataError, match=r"got nan at 0, 1, 1 such"):
        m.link_metrics([0.5], [[0.1, np.nan]])
    with pytest.raises(DataError, match=r"got nan at 1, 0, 2 such"):
        m.node_metrics([0, 1], [[0.5, 0.5], [np.nan, np.nan]], ("a", "b"), "a")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: m.accuracy([1, 2], [1]), r"two lists of the same length, not empty \(got shapes \(2,\) and \(1,\)\)"),
        (lambda: m.accuracy([], []), "not empty"),
        (lambda: m.prevalence([]), "truth: must be a list of examples"),
        (lambda: m.roc_auc([1, 0], [[0.1], [0.2]]), "truth, scores: must be two lists of the same length"),
        (lambda: m.mrr([1.0], [0.5]), "a table with one row for each"),
        (lambda: m.mrr([1.0], np.zeros((1, 0))), "Draw negatives"),
        (lambda: m.average_precision([0, 0], [1, 2]), "average precision needs at least one positive"),
        (lambda: m.roc_auc([1, 1], [1, 2]), "ROC-AUC needs at least one negative"),
        (lambda: m.brier([1, 0], [1.5, 0]), r"from 0 to 1 \(got 1.5 at 0\). Pass probabilities, not logits"),
        (lambda: m.expected_calibration_error([1, 0], [0, -1]), r"from 0 to 1 \(got -1.0 at 1\)"),
        (lambda: m.precision_at_k([1, 0], [1, 2], 3), r"not be more than the 2 examples \(got 3\)"),
        (lambda: m.node_metrics([0, 1], [[1, 0]], ("a", "b"), "a"), "one row per account and one column per class"),
        (lambda: bootstrap_interval(m.accuracy, np.ones(2), np.ones(3)), "must have the same length"),
        (lambda: bootstrap_interval(m.prevalence, np.ones(2), strata=[1]), "strata: must name one stratum"),
    ],
)
def test_shapes_and_values_that_can_not_be(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: m.precision_at_k([1, 0], [1, 2], 0), "k: must be at least 1"),
        (lambda: m.recall_at_fpr([1, 0], [1, 2], 1.5), "limit: must be a share from 0 to 1"),
        (lambda: m.reliability_curve([1], [1], 0), "num_bins: must be at least 1"),
        (lambda: m.expected_calibration_error([1], [1], 0), "num_bins: must be at least 1 .got 0.. Try 15"),
        (lambda: m.node_metrics([0, 1], np.eye(2), ("a", "b"), "c"), "must be one of 'a', 'b' .got 'c'"),
        (lambda: bootstrap_interval(m.prevalence, np.ones(2), level=1), "level, num_resamples"),
    ],
)
def test_requests_that_can_not_be(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def test_the_best_threshold_is_the_one_of_the_highest_accuracy() -> None:
    positive, negatives = [0.2, 0.3, 0.1], [[0.05], [0.15], [0.01]]
    assert m.best_threshold(positive, negatives) == 0.2
    assert m.link_metrics(positive, negatives)["accuracy"] == 0.5
    assert m.link_metrics(positive, negatives, threshold=0.2)["accuracy"] == pytest.approx(5 / 6)
    assert m.best_threshold([0.5, 0.5], [[0.5], [0.5]]) == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_pairs_labelled_one_by_one_get_the_figures_of_the_same_links(seed: int) -> None:
    """As many links as others: only what needs to know which stands beside which is missing."""
    rng = np.random.default_rng(seed)
    true, false = np.round(rng.random((2, 40)), 2)
    truth, chances = np.arange(80) < 40, np.concatenate([true, false])
    threshold = m.best_threshold(true, false[:, None])
    assert m.accuracy_threshold(truth, chances) == threshold
    figures, links = (
        m.pair_metrics(truth, chances, threshold),
        m.link_metrics(true, false[:, None], threshold=threshold),
    )
    assert {name: figures[name] for name in links if name in figures} == {
        name: value for name, value in links.items() if name != "mrr" and not name.startswith("hits")
    }
    assert figures["accuracy"] == max(sk.accuracy_score(truth, chances >= t) for t in chances)
