"""Evaluation: what is chosen comes from the validation part alone, and what is told of both parts is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
import torch
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.models.blend import LATER, SAME_TIME, Blend, Trust, blend_weights
from gtea.tasks.metrics import average_precision, node_metrics
from gtea.tasks.probability_correction import fit_correction
from gtea.tasks.thresholds import half_threshold, macro_f1_threshold, precision_threshold
from gtea.training.evaluation import (
    VALIDATION_LATER,
    Evaluation,
    Measures,
    PartPredictions,
    blended,
    evaluate_parts,
)

Floats = NDArray[np.float64]


def measures(num_classes: int = 2, **changes: Any) -> Measures:
    """Those of accounts; the first class is the positive of two, so that nothing hangs on the last."""
    classes = ("bad", "good", "odd")[:num_classes]
    positive = "bad" if num_classes == 2 else None

    def metrics(part: PartPredictions, probabilities: Floats, threshold: float | None) -> dict[str, float]:
        return node_metrics(part.targets, probabilities, classes, positive, threshold)

    counts = np.full(num_classes, 100.0)
    return replace(Measures(classes, 0 if positive else None, counts, None, metrics), **changes)


def part(
    seed: int, num_examples: int = 200, num_classes: int = 2, *, sharp: float = 1.0, halves: bool = False
) -> PartPredictions:
    """Accounts with a model's probabilities. Halves are noisier versions of them."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(num_examples, num_classes))
    targets = np.array([rng.choice(num_classes, p=row) for row in softmax(logits)])
    names = {"account": pa.array([f"{seed}-{i}" for i in range(num_examples)])}
    worse = {name: softmax(logits + rng.normal(size=logits.shape)) for name in ("network", "trees")}
    return PartPredictions(names, targets, softmax(sharp * logits), worse if halves else {})


def softmax(logits: Floats) -> Floats:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def with_trees(part: PartPredictions, probabilities: Floats | None = None) -> PartPredictions:
    return replace(part, halves={"trees": part.probabilities if probabilities is None else probabilities})


def chosen(evaluation: Evaluation) -> tuple[Any, ...]:
    return evaluation.correction, evaluation.threshold


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_test_part_chooses_nothing(num_classes: int) -> None:
    told, validation = measures(num_classes), part(0, 300, num_classes, sharp=3.0, halves=True)
    test = part(1, 300, num_classes, sharp=3.0, halves=True)
    expected = evaluate_parts(told, validation, test)
    assert expected.correction.calibration.kind != "none"
    others: list[PartPredictions | None] = [
        None,
        replace(test, targets=np.roll(test.targets, 1)),
        replace(test, probabilities=np.roll(test.probabilities, 1, axis=0)),
        replace(test, halves=dict.fromkeys(test.halves, test.probabilities)),
        part(2, 50, num_classes, sharp=0.1, halves=True),
    ]
    for other in others:
        found = evaluate_parts(told, validation, other)
        assert chosen(found) == chosen(expected)
        assert found.metrics["validation"] == expected.metrics["validation"]
        assert found.metrics["calibration"]["validation"] == expected.metrics["calibration"]["validation"]
    changed = evaluate_parts(told, replace(validation, targets=np.roll(validation.targets, 1)), test)
    assert chosen(changed) != chosen(expected)


def test_correction_and_threshold_are_those_of_the_validation_part() -> None:
    told, validation, test = measures(class_weights=np.array([2.0, 0.5])), part(0, sharp=2.0), part(1, sharp=2.0)
    found = evaluate_parts(told, validation, test)
    correction = fit_correction(told.train_counts, told.class_weights, validation.targets, validation.probabilities)
    assert found.correction == correction
    corrected = correction.apply(validation.probabilities)
    threshold = macro_f1_threshold(validation.targets == 0, corrected[:, 0])
    assert found.threshold == threshold
    for name, each in (("validation", validation), ("test", test)):
        probabilities = correction.apply(each.probabilities)
        expected = node_metrics(each.targets, probabilities, told.classes, "bad", threshold.value)
        assert cast(Any, found.metrics)[name] == expected


def test_decisions_are_at_the_threshold_of_the_positive_class() -> None:
    """Positives that are never more likely than not, and still told apart by a low threshold."""
    rng = np.random.default_rng(0)
    targets = np.repeat([0, 1], [60, 540])
    chances = np.where(targets == 0, rng.uniform(0.3, 0.45, 600), rng.uniform(0.0, 0.25, 600))
    validation = PartPredictions({}, targets, np.column_stack([chances, 1 - chances]))
    keep = measures(train_counts=np.array([60.0, 540.0]))
    found = evaluate_parts(keep, validation, validation)
    assert found.threshold is not None
    corrected = found.correction.apply(validation.probabilities)[:, 0]
    assert corrected[targets == 1].max() < found.threshold.value <= corrected[targets == 0].min()
    assert found.metrics["test"]["accuracy"] == 1


def test_class_weights_are_undone_in_everything_that_is_told() -> None:
    """A model of weighted training, right as such: its probabilities become those of the true shares."""
    rng = np.random.default_rng(3)
    targets = (rng.random(4000) > 0.1).astype(np.int64)
    evidence = 2 * rng.normal(np.where(targets == 0, 1, -1))
    weights = np.array([5.0, 5 / 9])
    weighted = softmax(np.column_stack([evidence, np.zeros(4000)]))
    exact = softmax(np.column_stack([evidence + np.log(0.1 / 0.9), np.zeros(4000)]))
    validation, test = (PartPredictions({}, targets[rows], weighted[rows]) for rows in (slice(2000), slice(2000, None)))
    told = measures(train_counts=np.array([100.0, 900.0]), class_weights=weights)
    found = evaluate_parts(told, validation, test)
    undone = replace(found.correction, calibration=type(found.correction.calibration)())
    np.testing.assert_allclose(undone.apply(weighted), exact, rtol=1e-9)
    figures = found.metrics["calibration"]["test"]
    assert figures["before"]["calibration_error"] > 0.1
    assert figures["after"]["calibration_error"] < 0.03
    assert np.mean(found.predictions["p_bad"]) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("num_classes", [2, 3])
def test_predictions_of_accounts(halves: bool, num_classes: int) -> None:
    validation, test = (part(seed, 40, num_classes, halves=halves) for seed in (0, 1))
    found = evaluate_parts(measures(num_classes), validation, test)
    table, classes = found.predictions, ["bad", "good", "odd"][:num_classes]
    prefixes = ["p", "network", "trees"] if halves else ["p"]
    assert table.column_names == ["part", "account", "target"] + [f"{one}_{two}" for one in prefixes for two in classes]
    assert table["part"].to_pylist() == ["validation"] * 40 + ["test"] * 40
    assert table["account"].to_pylist() == [f"{seed}-{i}" for seed in (0, 1) for i in range(40)]
    assert table["target"].to_pylist() == [*validation.targets, *test.targets]
    corrected = [found.correction.apply(each.probabilities) for each in (validation, test)]
    for place, name in enumerate(classes):
        np.testing.assert_array_equal(table[f"p_{name}"], np.concatenate(corrected)[:, place])
        for half in prefixes[1:]:
            raw = np.concatenate([each.halves[half] for each in (validation, test)])
            np.testing.assert_array_equal(table[f"{half}_{name}"], raw[:, place])


@pytest.mark.parametrize("halves", [False, True])
def test_predictions_of_pairs(halves: bool) -> None:
    ends = {name: pa.array([f"{name}{i}" for i in range(40)]) for name in ("src", "dst")}
    validation = replace(part(0, 40, halves=halves), names=ends)
    found = evaluate_parts(measures(classes=("no link", "link"), positive=1, metrics=no_metrics), validation, None)
    expected = ["part", "src", "dst", "target", "p", *(["network", "trees"] if halves else [])]
    assert found.predictions.column_names == expected
    corrected = found.correction.apply(validation.probabilities)
    np.testing.assert_array_equal(found.predictions["p"], corrected[:, 1])
    for half, raw in validation.halves.items():
        np.testing.assert_array_equal(found.predictions[half], raw[:, 1])


def no_metrics(part: PartPredictions, probabilities: Floats, threshold: float | None) -> dict[str, float]:
    return {"threshold": -1.0 if threshold is None else threshold}


def test_without_a_test_part() -> None:
    found = evaluate_parts(measures(), part(0, 60, halves=True), None)
    assert set(found.metrics) == {"validation", "calibration"}
    assert set(found.metrics["calibration"]) == {"validation"}
    assert set(found.predictions["part"].to_pylist()) == {"validation"}


def test_more_than_two_classes_have_no_threshold() -> None:
    found = evaluate_parts(measures(3), part(0, 100, 3, halves=True), part(1, 100, 3, halves=True))
    assert found.threshold is None
    assert set(found.metrics["test"]) == {"accuracy", "macro_f1", "log_likelihood"}
    assert set(found.metrics["against_trees"]) == {"accuracy", "log_likelihood"}
    figures = found.metrics["calibration"]["test"]["after"]
    assert {"log_loss", "calibration_error"} <= set(figures)
    assert "brier" not in figures


def test_how_far_it_is_ahead_of_its_trees() -> None:
    validation, test = part(0, halves=True), part(1, halves=True)
    found = evaluate_parts(measures(), validation, test)
    alone = found.metrics["test_trees_alone"]
    assert alone == node_metrics(test.targets, test.halves["trees"], ("bad", "good"), "bad")
    assert found.metrics["test_network_alone"] == node_metrics(
        test.targets, test.halves["network"], ("bad", "good"), "bad"
    )
    assert set(found.metrics["against_trees"]) == {"average_precision", "log_likelihood"}
    for name, interval in found.metrics["against_trees"].items():
        assert interval["difference"] == pytest.approx(found.metrics["test"][name] - alone[name], abs=1e-9)
        assert interval["low"] < interval["difference"] < interval["high"]
    # The trees are the noisier version of the model.
    assert found.metrics["against_trees"]["log_likelihood"]["low"] > 0


def test_a_model_that_is_its_trees_is_not_ahead() -> None:
    test = part(1)
    found = evaluate_parts(measures(), with_trees(part(0)), with_trees(test))
    assert found.metrics["against_trees"]["average_precision"] == {"difference": 0, "low": 0, "high": 0}


def test_calibration_figures() -> None:
    validation, test = part(0, 500, sharp=4.0), part(1, 500, sharp=4.0)
    found = evaluate_parts(measures(), validation, test)
    for name, each in (("validation", validation), ("test", test)):
        figures = found.metrics["calibration"][name]
        truth = each.targets == 0
        for when, chances in (
            ("before", each.probabilities[:, 0]),
            ("after", found.correction.apply(each.probabilities)[:, 0]),
        ):
            assert figures[when]["brier"] == pytest.approx(np.mean((chances - truth) ** 2))
            right = np.where(truth, chances, 1 - chances)
            assert figures[when]["log_loss"] == pytest.approx(-np.mean(np.log(np.maximum(right, 1e-6))), rel=1e-6)
            curve = figures[when]["reliability"]
            assert sum(curve["counts"]) == 500
            assert np.dot(curve["counts"], curve["observed"]) == pytest.approx(truth.sum())
            assert np.dot(curve["counts"], curve["predicted"]) == pytest.approx(chances.sum())
        assert figures["after"]["log_loss"] < figures["before"]["log_loss"] - 0.1
        assert figures["after"]["calibration_error"] < figures["before"]["calibration_error"]


def test_a_validation_part_unlike_the_rest_chooses_no_threshold() -> None:
    validation = part(0)
    found = evaluate_parts(measures(alike=False), validation, None)
    corrected = found.correction.apply(validation.probabilities)[:, 0]
    assert found.threshold == half_threshold(validation.targets == 0, corrected)
    assert found.threshold is not None
    assert (found.threshold.value, found.threshold.rule) == (0.5, "half")


@pytest.mark.parametrize("only", [0, 1])
def test_a_validation_part_of_one_class_chooses_nothing(only: int) -> None:
    validation = replace(part(0), targets=np.full(200, only))
    found = evaluate_parts(measures(metrics=no_metrics), validation, part(1))
    assert found.threshold is not None
    assert found.threshold.rule == "half"
    assert found.correction.calibration.kind == "none"
    assert found.metrics["test"] == {"threshold": 0.5}


def test_a_threshold_of_a_wanted_precision() -> None:
    validation = part(0)
    found = evaluate_parts(measures(precision=0.9), validation, None)
    corrected = found.correction.apply(validation.probabilities)[:, 0]
    assert found.threshold == precision_threshold(validation.targets == 0, corrected, 0.9)
    with pytest.raises(DataError, match=r"precision: 1 is not reached"):
        evaluate_parts(measures(precision=1.0), replace(validation, targets=np.roll(validation.targets, 1)), None)


def test_the_later_cut_of_the_validation_part_chooses_and_its_own_is_reported() -> None:
    """A model that is too sure of what has only just appeared, and not sure enough of what has lived longer."""
    early, late = part(0, sharp=4.0), part(0, sharp=0.25)
    found = evaluate_parts(measures(), early, None, late)
    assert chosen(found) == chosen(evaluate_parts(measures(), late, None))
    assert chosen(found) != chosen(evaluate_parts(measures(), early, None))
    assert found.threshold is not None
    own = measures().metrics(early, found.correction.apply(early.probabilities), found.threshold.value)
    assert found.metrics["validation"] == own
    assert found.predictions["account"].to_pylist() == early.names["account"].to_pylist()
    blends = [Blend(2), Blend(2)]
    rows, later = (np.log(np.stack([each.probabilities, part(0).probabilities], axis=1)) for each in (early, late))
    blended(blends[0], {"validation": rows, VALIDATION_LATER: later}, early.targets)
    blended(blends[1], {"validation": later}, early.targets)
    assert torch.equal(blends[0].weights, blends[1].weights)


@pytest.mark.parametrize("trust", [SAME_TIME, LATER])
@pytest.mark.parametrize("num_classes", [2, 4])
def test_the_blend_is_fitted_to_the_validation_part(num_classes: int, trust: Trust) -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(240, num_classes))
    targets = np.array([rng.choice(num_classes, p=row) for row in softmax(2 * truth)])
    logits = truth[:, None] * np.array([0.5, 1.0, 4.0])[:, None] + rng.normal(size=(240, 3, num_classes))
    rows = np.log(softmax(logits))
    blend = Blend(3)
    by_model = {"validation": rows[:120], "test": rows[120:]}
    found = blended(blend, by_model, targets[:120], trust)
    # The epoch of the first model was chosen on the same examples, and trees have no epochs.
    weights = blend_weights(rows[:120], targets[:120], [0], trust)
    of_trees = blend_weights(rows[:120, 1:], targets[:120], (), trust)
    assert torch.equal(blend.weights, torch.from_numpy(weights))
    for name, each in by_model.items():
        probabilities, halves = found[name]
        np.testing.assert_allclose(probabilities, softmax(sum(weights[k] * each[:, k] for k in range(3))), atol=1e-12)
        np.testing.assert_allclose(halves["network"], softmax(each[:, 0]), atol=1e-12)
        mixed = of_trees[0] * each[:, 1] + of_trees[1] * each[:, 2]
        np.testing.assert_allclose(halves["trees"], softmax(mixed), atol=1e-12)
    again = blended(Blend(3), {**by_model, "test": by_model["test"][::-1]}, targets[:120], trust)
    np.testing.assert_array_equal(again["validation"][0], found["validation"][0])
    np.testing.assert_array_equal(again["test"][0], found["test"][0][::-1])


def test_average_precision_is_compared_and_not_macro_f1() -> None:
    """Of the same ranking at another threshold, nothing is ahead."""
    test = part(1)
    shifted = softmax(np.log(test.probabilities) + np.array([3.0, 0.0]))
    found = evaluate_parts(measures(), with_trees(part(0)), with_trees(test, shifted))
    truth = test.targets == 0
    assert average_precision(truth, shifted[:, 0]) == average_precision(truth, test.probabilities[:, 0])
    assert found.metrics["against_trees"]["average_precision"]["difference"] == 0
    assert found.metrics["against_trees"]["log_likelihood"]["low"] > 0
