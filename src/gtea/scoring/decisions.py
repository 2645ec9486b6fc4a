"""What a saved model does to raw probabilities, and from which probability on it raises an alert."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gtea.errors import ModelError
from gtea.models.model_folder import SavedModel
from gtea.tasks.checked_json import damaged, read_object
from gtea.tasks.probability_correction import ProbabilityCorrection
from gtea.tasks.thresholds import Threshold

_Read = TypeVar("_Read")


def read_correction(model: SavedModel, num_classes: int) -> ProbabilityCorrection:
    """The correction in calibration.json. A model of gtea 0.1 has none: its probabilities are raw."""
    if model.calibration is None:
        return ProbabilityCorrection()

    def read() -> ProbabilityCorrection:
        found = ProbabilityCorrection.from_json(model.calibration)
        if len(found.shares) != num_classes or not found.calibration.fits(num_classes):
            raise damaged("calibration", f"must be for {num_classes} classes", len(found.shares))
        return found

    return _read(model.where("calibration.json"), read)


def read_threshold(model: SavedModel, num_classes: int) -> Threshold | None:
    """The threshold in thresholds.json. None with more than two classes, and for models of gtea 0.1."""
    if model.thresholds is None:
        return None

    def read() -> Threshold | None:
        content = read_object("thresholds", model.thresholds, ("threshold",))["threshold"]
        if content is not None and num_classes != 2:
            raise damaged("threshold", "must be null for more than two classes", content)
        return None if content is None else Threshold.from_json(content)

    return _read(model.where("thresholds.json"), read)


def _read(where: str, read: Callable[[], _Read]) -> _Read:
    try:
        return read()
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from error
