"""Load a model folder as a fitted estimator."""

from __future__ import annotations

import os
from pathlib import Path

from gtea.estimators.base import GraphLike
from gtea.estimators.classifier import GTEAClassifier
from gtea.estimators.link_predictor import GTEALinkPredictor
from gtea.models.model_folder import load_model
from gtea.store.time_units import Instant


def load(
    path: str | os.PathLike[str], graph: GraphLike, *, as_of: Instant | None = None, device: str = "auto"
) -> GTEAClassifier | GTEALinkPredictor:
    """Load a model that was saved by ``save`` or ``gtea train`` as a fitted estimator.

    Args:
        path: The model folder.
        graph: The store whose accounts are scored, or its path. It need not be the store that the model was trained
            on, but it must have the same columns.
        as_of: The cut for scoring: only events before it are used. None means just after the last event, regardless of
            the cut in training.
        device: ``"auto"`` (a GPU if there is one), ``"cpu"`` or ``"cuda"``.

    Returns:
        A ``GTEAClassifier`` for a model of accounts, a ``GTEALinkPredictor`` for a model of links.

    Raises:
        ModelError: There is no complete model in the folder.
    """
    saved = load_model(Path(path).absolute())
    if saved.config["task"] == "nodes":
        return GTEAClassifier.from_saved(saved, graph, as_of, device)
    return GTEALinkPredictor.from_saved(saved, graph, as_of, device)
