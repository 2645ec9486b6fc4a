"""Over the draws: which tree is the rival, and how sure the difference to it is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.experiments.few_labels.conftest import few_outcome

from gtea.experiments.few_labels.learning_curves import LearningCurves
from gtea.experiments.few_labels.paired_draws import METRICS, compare_draws
from gtea.experiments.runs.jobs import Outcome

FOUND = {"hybrid": [0.70, 0.80, 0.75], "tree": [0.72, 0.60, 0.60], "strong-tree": [0.66, 0.77, 0.70]}
T_2 = 4.302652729749464
"""The 97.5 % quantile of Student's t with two degrees of freedom."""


def outcomes_of(curves: LearningCurves, found: dict[str, list[float]]) -> dict[int, dict[str, Outcome]]:
    return {
        draw: {
            model: few_outcome(curves.jobs["tiny", 4, draw, model], values[draw])
            for model, values in found.items()
            if draw < len(values)
        }
        for draw in range(3)
    }


def test_the_rival_has_the_higher_mean_and_differences_are_paired(curves: LearningCurves) -> None:
    standing = compare_draws(outcomes_of(curves, FOUND))
    assert standing is not None
    assert standing.runs == (0, 1, 2)
    assert (standing.num_examples, standing.num_positive) == (80, 30)
    assert standing.figures["tree"]["average_precision"] == (0.72, 0.60, 0.60)
    found = standing.differences["average_precision"]
    assert found.rival == "strong-tree"  # although tree is better in the first draw
    each = [0.70 - 0.66, 0.80 - 0.77, 0.75 - 0.70]
    radius = T_2 * np.std(each, ddof=1) / np.sqrt(3)
    assert (found.interval.value, found.interval.low, found.interval.high) == pytest.approx(
        (np.mean(each), np.mean(each) - radius, np.mean(each) + radius)
    )
    assert found.verdict == "ahead"
    assert standing.differences["balanced_log_likelihood"].rival == "tree"  # each metric has its own
    assert standing.differences["balanced_log_likelihood"].verdict == "level"
    assert set(standing.differences) == set(METRICS)


def test_a_draw_counts_once_all_its_models_are_there(curves: LearningCurves) -> None:
    two = compare_draws(outcomes_of(curves, {**FOUND, "tree": FOUND["tree"][:2]}))
    assert two is not None
    assert two.runs == (0, 1)
    assert two.figures["hybrid"]["average_precision"] == (0.70, 0.80)
    assert compare_draws(outcomes_of(curves, {**FOUND, "tree": FOUND["tree"][:1]})) is None
    assert compare_draws({}) is None
