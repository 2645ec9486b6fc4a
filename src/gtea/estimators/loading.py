"""Opening a model folder as the estimator that its task asks for."""

from __future__ import annotations

import os
from pathlib import Path

from gtea.errors import ModelError
from gtea.estimators.base import GraphLike
from gtea.estimators.classifier import GTEAClassifier
from gtea.estimators.link_predictor import GTEALinkPredictor
from gtea.models.model_folder import load_model
from gtea.store.time_units import Instant


def load(
    path: str | os.PathLike[str], graph: GraphLike, *, as_of: Instant | None = None, device: str = "auto"
) -> GTEAClassifier | GTEALinkPredictor:
    """Open a model folder, from ``save`` or ``gtea train``, as a fitted estimator.

    A model of accounts becomes a ``GTEAClassifier``, one of links a ``GTEALinkPredictor``.

    Args:
        graph: The store, or its path, whose accounts are to be scored. It need not be the one that the model was
            trained on, but must have the same columns.
        as_of: Score as of this moment; None stands for just after the last event, whatever the training saw.
    """
    saved = load_model(Path(path).absolute())
    match saved.config["task"]:
        case "nodes":
            return GTEAClassifier.opened(saved, graph, as_of, device)
        case "links":
            return GTEALinkPredictor.opened(saved, graph, as_of, device)
        case other:
            raise ModelError(f"{path}: is a model for the task {other!r}, which this gtea doesn't know. Update gtea.")
