"""Models for populations with other class shares than the labels: the same decisions, with other odds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.scoring.test_table import shops, visits
from tests.training.test_baselines import CPU

from gtea.errors import UsageError
from gtea.models.model_folder import SavedModel, load_model
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store
from gtea.tasks.probability_correction import ProbabilityCorrection
from gtea.tasks.thresholds import half_threshold

__all__ = ["shops", "visits"]


@pytest.fixture
def model(shops: tuple[Store, Path]) -> SavedModel:
    """With a calibration that leaves some doubt, and a threshold that is not one half."""
    saved = load_model(shops[1])
    assert saved.calibration is not None
    temperature = {"kind": "temperature", "prior": saved.calibration["shares"], "temperature": 4.0}
    threshold = half_threshold(np.arange(20) % 2 == 1, np.linspace(0.1, 0.9, 20)).to_json()
    thresholds = {"threshold": {**threshold, "value": 0.3, "rule": "macro_f1"}}
    return replace(saved, calibration={**saved.calibration, "calibration": temperature}, thresholds=thresholds)


def odds(probabilities: Any) -> Any:
    return probabilities / (1 - probabilities)


@pytest.mark.parametrize("prevalence", [0.001, 0.2, 0.9])
def test_odds_change_by_one_factor_and_decisions_do_not(
    shops: tuple[Store, Path], model: SavedModel, prevalence: float
) -> None:
    store = shops[0]
    nodes = np.arange(store.num_nodes)
    before, after = NodeModel(model, CPU), NodeModel(for_prevalence(model, prevalence), CPU)
    column = before.positive_column
    sampled = ProbabilityCorrection.from_json(model.calibration).shares[column]
    one, other = (each.probabilities(store, store.end, nodes) for each in (before, after))
    assert 0.01 < one[:, column].min() < one[:, column].max() < 0.99
    factor = odds(prevalence) / odds(sampled)
    np.testing.assert_allclose(odds(other[:, column]), factor * odds(one[:, column]), rtol=1e-6)
    np.testing.assert_allclose(other.sum(axis=1), 1)
    assert before.threshold is not None
    assert after.threshold is not None
    assert odds(after.threshold.value) == pytest.approx(factor * odds(before.threshold.value))
    assert before.decide(one).tolist() == after.decide(other).tolist()
    assert len(set(before.decide(one).tolist())) == 2
    assert np.argsort(one[:, column], kind="stable").tolist() == np.argsort(other[:, column], kind="stable").tolist()


def test_the_last_prevalence_counts(model: SavedModel) -> None:
    once, twice = for_prevalence(model, 0.01), for_prevalence(for_prevalence(model, 0.3), 0.01)
    assert once.calibration == twice.calibration
    assert once.thresholds is not None
    assert twice.thresholds is not None
    one, other = (each.thresholds["threshold"] for each in (once, twice) if each.thresholds)
    assert one["value"] == pytest.approx(other["value"])
    assert one["precision"] == pytest.approx(other["precision"])


def test_nothing_else_changes(model: SavedModel) -> None:
    found = for_prevalence(model, 0.01)
    assert replace(found, calibration=None, thresholds=None) == replace(model, calibration=None, thresholds=None)
    assert found.calibration is not None
    assert model.calibration is not None
    assert {**found.calibration, "population": None} == model.calibration


def test_a_model_without_a_threshold_gets_none(model: SavedModel) -> None:
    assert for_prevalence(replace(model, thresholds=None), 0.01).thresholds == {"threshold": None}


def test_what_is_refused(visits: tuple[Store, Path], model: SavedModel) -> None:
    message = r"--prevalence: needs a model of accounts of two classes, trained by gtea 0\.2 or later\. Leave it out\."
    three = replace(model, config={**model.config, "classes": ["a", "b", "c"], "positive": None})
    for wrong in (load_model(visits[1]), replace(model, calibration=None), three):
        with pytest.raises(UsageError, match=message):
            for_prevalence(wrong, 0.01)
    for share in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(UsageError, match=r"--prevalence: must be between 0 and 1 \(got"):
            for_prevalence(model, share)
