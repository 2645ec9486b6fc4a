"""A saved model made ready to score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gtea.checkpoint import SavedModel, load_model
from gtea.config import InputSpec, RunConfig, config_from_json
from gtea.errors import ModelError
from gtea.inference import LinkScorer, NodeScorer
from gtea.nn.classifier import NodeClassifier
from gtea.nn.link_predictor import LinkPredictor
from gtea.sampling.inputs import collator_for
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.store import Store


class NodeModel:
    """A trained node classifier."""

    def __init__(self, saved: SavedModel, device: torch.device) -> None:
        if saved.config["task"] != "nodes":
            raise ModelError(
                f"model: classifies no accounts (its task is {saved.config['task']!r}). "
                "Score pairs with gtea score --pairs, or use another model."
            )
        self.saved = saved
        self.device = device
        self.classes: tuple[str, ...] = tuple(saved.config["classes"])
        self.positive: str | None = saved.config["positive"]
        self.config: RunConfig = config_from_json(saved.config["run"])
        self.preprocessing = Preprocessing.from_json(saved.preprocessing)
        spec = InputSpec(**saved.config["input"])
        self.network = NodeClassifier(self.config.model, spec, len(self.classes), seed=0)
        _load(self.network, saved, device)

    @staticmethod
    def open(folder: Path, device: torch.device) -> NodeModel:
        """Read and check a model folder."""
        return NodeModel(load_model(folder), device)

    def probabilities(self, store: Store, cut: int, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of nodes as of a cut, one row each, columns as in ``classes``."""
        return self._scorer(self.network, store, cut).probabilities(nodes)

    def embeddings(self, store: Store, cut: int, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The embeddings z of nodes as of a cut, [num_nodes, d_node]: what the head makes its answer from."""
        return self._scorer(self.network.gtea, store, cut).outputs(nodes)

    def _scorer(self, network: torch.nn.Module, store: Store, cut: int) -> NodeScorer:
        collator = collator_for(store, cut, self.preprocessing, self.config)
        batch_size, workers = self.config.sampling.batch_size, self.config.train.workers
        return NodeScorer(network, collator, batch_size, self.device, workers)

    def scores(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number an account to rank by: the probability of the positive class, or of the likeliest of many."""
        if self.positive is None:
            return np.asarray(probabilities.max(axis=1))
        return probabilities[:, self.classes.index(self.positive)]


class LinkModel:
    """A trained link predictor."""

    def __init__(self, saved: SavedModel, device: torch.device) -> None:
        if saved.config["task"] != "links":
            raise ModelError(
                f"model: foretells no links (its task is {saved.config['task']!r}). "
                "Leave --pairs out, or use another model."
            )
        self.saved = saved
        self.device = device
        self.config: RunConfig = config_from_json(saved.config["run"])
        self.preprocessing = Preprocessing.from_json(saved.preprocessing)
        self.network = LinkPredictor(self.config.model, InputSpec(**saved.config["input"]), seed=0)
        _load(self.network, saved, device)

    @staticmethod
    def open(folder: Path, device: torch.device) -> LinkModel:
        """Read and check a model folder."""
        return LinkModel(load_model(folder), device)

    def probabilities(
        self, store: Store, cut: int, src: NDArray[np.int64], dst: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The probability of a link for each pair, from what was before a cut."""
        collator = collator_for(store, cut, self.preprocessing, self.config)
        batch_size, workers = self.config.sampling.batch_size, self.config.train.workers
        return LinkScorer(self.network, collator, batch_size, self.device, workers).probabilities(src, dst)


def _load(network: nn.Module, saved: SavedModel, device: torch.device) -> None:
    try:
        network.load_state_dict(saved.weights)
    except RuntimeError as error:
        raise ModelError(f"model: its weights don't fit its configuration ({error}). Train it again.") from error
    network.to(device)
