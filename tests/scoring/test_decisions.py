"""Calibration and threshold of a saved model: those of as many classes as it has, or an error that names the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gtea.errors import ModelError
from gtea.models.model_folder import SavedModel
from gtea.scoring.decisions import read_correction, read_threshold
from gtea.tasks.probability_correction import ProbabilityCorrection
from gtea.tasks.thresholds import half_threshold

SHARES = ProbabilityCorrection((0.2, 0.8)).to_json()
THRESHOLD = {"threshold": half_threshold([True, False], [0.9, 0.1]).to_json()}


def model(calibration: Any, thresholds: Any) -> SavedModel:
    return SavedModel({}, {}, {}, {}, {}, calibration, thresholds, folder=Path("m"))


def test_what_was_written_is_read() -> None:
    assert read_correction(model(SHARES, None), 2).shares == (0.2, 0.8)
    assert read_threshold(model(None, THRESHOLD), 2) == half_threshold([True, False], [0.9, 0.1])
    assert read_threshold(model(None, {"threshold": None}), 3) is None


def test_a_model_of_gtea_0_1_has_neither() -> None:
    assert read_correction(model(None, None), 2) == ProbabilityCorrection()
    assert read_threshold(model(None, None), 2) is None


def test_another_number_of_classes_is_refused() -> None:
    with pytest.raises(ModelError, match=r"m/calibration\.json: calibration must be for 3 classes \(got 2\)"):
        read_correction(model(SHARES, None), 3)
    prior = {"kind": "temperature", "prior": [0.2, 0.3, 0.5], "temperature": 2.0}
    with pytest.raises(ModelError, match=r"m/calibration\.json: calibration must be for 2 classes"):
        read_correction(model({**SHARES, "calibration": prior}, None), 2)
    with pytest.raises(ModelError, match=r"m/thresholds\.json: threshold must be null for more than two classes"):
        read_threshold(model(None, THRESHOLD), 3)


def test_damage_is_named_with_its_file() -> None:
    with pytest.raises(ModelError, match=r"m/calibration\.json: calibration must be an object of shares"):
        read_correction(model([], None), 2)
    with pytest.raises(ModelError, match=r"m/thresholds\.json: thresholds must be an object of threshold"):
        read_threshold(model(None, {}), 2)
