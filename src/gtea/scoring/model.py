"""A saved model made ready to score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.checkpoint import SavedModel, load_model
from gtea.config import InputSpec, RunConfig, config_from_json
from gtea.errors import ModelError
from gtea.inference import NodeScorer
from gtea.nn.classifier import NodeClassifier
from gtea.sampling.collate import Collator
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.store import Store


class NodeModel:
    """A trained node classifier."""

    def __init__(self, saved: SavedModel, device: torch.device) -> None:
        if saved.config["task"] != "nodes":
            raise ModelError(
                f"model: classifies no accounts (its task is {saved.config['task']!r}). Use another model."
            )
        self.saved = saved
        self.device = device
        self.classes: tuple[str, ...] = tuple(saved.config["classes"])
        self.positive: str | None = saved.config["positive"]
        self.config: RunConfig = config_from_json(saved.config["run"])
        self.preprocessing = Preprocessing.from_json(saved.preprocessing)
        spec = InputSpec(**saved.config["input"])
        self.network = NodeClassifier(self.config.model, spec, len(self.classes), seed=0)
        try:
            self.network.load_state_dict(saved.weights)
        except RuntimeError as error:
            raise ModelError(f"model: its weights don't fit its configuration ({error}). Train it again.") from error
        self.network.to(device)

    @staticmethod
    def open(folder: Path, device: torch.device) -> NodeModel:
        """Read and check a model folder."""
        return NodeModel(load_model(folder), device)

    def probabilities(self, store: Store, cut: int, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of nodes as of a cut, one row each, columns as in ``classes``."""
        sampling = self.config.sampling
        collator = Collator(
            store.as_of(cut),
            self.preprocessing,
            fanout=sampling.fanout,
            num_layers=self.config.model.num_layers,
            max_events=sampling.max_events,
            strategy=sampling.strategy,
            seed=self.config.train.seed,
        )
        scorer = NodeScorer(self.network, collator, sampling.batch_size, self.device, self.config.train.workers)
        return scorer.probabilities(nodes)

    def scores(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number an account to rank by: the probability of the positive class, or of the likeliest of many."""
        if self.positive is None:
            return np.asarray(probabilities.max(axis=1))
        return probabilities[:, self.classes.index(self.positive)]
