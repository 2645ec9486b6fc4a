"""A model for a population with another share of positives than its labels."""

from __future__ import annotations

from dataclasses import replace

from gtea.errors import UsageError
from gtea.models.model_folder import SavedModel
from gtea.scoring.decisions import read_correction, read_threshold
from gtea.tasks.decision_options import DecisionOptions


def for_prevalence(model: SavedModel, prevalence: float) -> SavedModel:
    """The same model with probabilities and threshold for another share of positives.

    The correction is exact if the labels were sampled by class alone: all frauds and one in a hundred of the rest, say.
    The ranking of accounts does not change.
    """
    DecisionOptions(prevalence=prevalence)
    if model.calibration is None or model.config.get("positive") is None or model.config["task"] != "nodes":
        raise UsageError(
            "--prevalence: needs a model of accounts of two classes, trained by gtea 0.2 or later. Leave it out."
        )
    positive = model.config["classes"].index(model.config["positive"])
    correction, threshold = read_correction(model, 2), read_threshold(model, 2)
    shares = correction.population or correction.shares
    if threshold is not None:
        threshold = threshold.for_prevalence(shares[positive], prevalence)
    return replace(
        model,
        calibration=correction.for_prevalence(prevalence, positive).to_json(),
        thresholds={"threshold": None if threshold is None else threshold.to_json()},
    )
