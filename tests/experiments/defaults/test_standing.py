"""Figures, the best rival, verdicts, and answers that can't be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.defaults.conftest import made_answers

from gtea.errors import ModelError
from gtea.experiments.defaults.answers import Answers, majority_answers
from gtea.experiments.defaults.standing import Difference, figures_of, standing_of
from gtea.tasks import metrics
from gtea.tasks.uncertainty import Interval


def models(seed: int, size: int = 600, num_classes: int = 2, best: str = "strong-tree") -> dict[str, Answers]:
    noise = {"hybrid": 0.5, "network": 1.0, "trees": 1.0, "tree": 2.0, "strong-tree": 2.0, best: 1.0}
    made = {name: made_answers(10 * seed + i, size, num_classes, noise[name]) for i, name in enumerate(noise)}
    return {**made, "majority": majority_answers(made["hybrid"], np.arange(1, num_classes + 1))}


def test_the_best_rival_is_the_one_with_the_higher_mean() -> None:
    for best in ("tree", "strong-tree"):
        found = standing_of({seed: models(seed, best=best) for seed in (0, 1, 2)}, same_examples=True)
        assert {difference.rival for difference in found.differences.values()} == {best}
        assert found.ranking == "average_precision"
        difference = found.differences["average_precision"]
        ours, rival = (found.mean(name, "average_precision") for name in ("hybrid", best))
        assert ours is not None
        assert rival is not None
        assert difference.interval.value == pytest.approx(ours - rival)
        assert difference.interval.low < difference.interval.value < difference.interval.high
        assert difference.verdict == "ahead"
    assert (found.runs, found.num_examples) == ((0, 1, 2), 600)
    assert found.num_positive == int(made_answers(0, 600).truth.sum())
    assert found.mean("network", "no such figure") is None


def test_figures_are_those_of_the_metrics() -> None:
    answers = made_answers(4, 600)
    chance = answers.probabilities[:, 1]
    found = figures_of(answers)
    by_chance = found.pop("calibration_error_by_chance")
    assert found == pytest.approx(
        {
            "average_precision": metrics.average_precision(answers.truth, chance),
            "log_likelihood": metrics.log_likelihood(answers.truth, answers.probabilities),
            "macro_f1": metrics.macro_f1(answers.truth, answers.predicted),
            "calibration_error": metrics.expected_calibration_error(answers.truth, chance),
        }
    )
    rng = np.random.default_rng(99)
    drawn = [metrics.expected_calibration_error(rng.random(600) < chance, chance) for _ in range(300)]
    assert by_chance == pytest.approx(np.mean(drawn), rel=0.1)
    many = made_answers(4, 600, 5)
    found = figures_of(many)
    assert found["accuracy"] == pytest.approx(metrics.accuracy(many.truth, many.predicted))
    is_right, sure = many.probabilities.argmax(axis=1) == many.truth, many.probabilities.max(axis=1)
    error = metrics.expected_calibration_error(is_right, sure)
    assert found["calibration_error"] == pytest.approx(error)
    assert "average_precision" not in found
    assert "calibration_error" not in figures_of(made_answers(4, 499))


def test_what_is_kept_as_json() -> None:
    found = standing_of({0: models(0, 60, 3), 2: models(2, 60, 3)}, same_examples=False).to_json()
    assert (found["metric"], found["seeds"], found["test"]) == ("accuracy", [0, 2], {"examples": 60, "positive": None})
    assert list(found["figures"]) == ["hybrid", "network", "trees", "tree", "strong-tree", "majority"]
    figures = found["figures"]["tree"]["macro_f1"]
    assert figures["mean"] == pytest.approx(np.mean(figures["each"]))
    assert len(figures["each"]) == 2
    assert set(found["differences"]) == {"accuracy", "log_likelihood", "macro_f1"}
    assert set(found["differences"]["accuracy"]) == {"rival", "difference", "low", "high", "verdict"}


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.1, 0.2, "ahead"), (-0.2, -0.1, "behind"), (-0.1, 0.1, "level"), (0, 0.1, "level")]
)
def test_a_verdict_is_about_the_interval(low: float, high: float, verdict: str) -> None:
    assert Difference("tree", Interval((low + high) / 2, low, high)).verdict == verdict


def test_models_with_other_examples_are_not_compared() -> None:
    made = models(0, 60)
    shuffled = replace(made["tree"], examples=made["tree"].examples.slice(1))
    with pytest.raises(ModelError, match=r"^tree: must have the test examples of hybrid, in the same order"):
        standing_of({0: {**made, "tree": shuffled}}, same_examples=True)
    other = {name: replace(found, truth=1 - found.truth) for name, found in models(1, 60).items()}
    standing_of({0: made, 1: other}, same_examples=False)
    with pytest.raises(ModelError, match=r"^hybrid: must have the same test examples for every seed"):
        standing_of({0: made, 1: other}, same_examples=True)
