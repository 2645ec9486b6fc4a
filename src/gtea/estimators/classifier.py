"""GTEA as a scikit-learn classifier: accounts in, probabilities and embeddings out.

Nothing is computed here: ``fit`` is ``training.nodes`` in a temporary folder, the rest is ``scoring.model``. A grid
search may thus run the very training that ``gtea train`` runs, and what it finds is saved as the same folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtea.checkpoint import SavedModel, load_model, save_model
from gtea.config import RunConfig, config_from_json
from gtea.errors import UsageError
from gtea.estimators.inputs import Targets, find_accounts, read_targets
from gtea.scoring.model import NodeModel
from gtea.store.moments import Moment
from gtea.store.store import Store
from gtea.tasks.labels import labels_of, positive_class
from gtea.tasks.splits import validation_split
from gtea.training.card import model_card
from gtea.training.device import resolve_device
from gtea.training.loop import silent
from gtea.training.nodes import NodeRun, train_nodes

Graph = Store | str | os.PathLike[str]

_SECTIONS = {
    "model": ("encoder", "time_encoding", "attention", "num_layers", "d_node", "d_edge"),
    "sampling": ("fanout", "max_events", "batch_size"),
    "train": ("lr", "epochs", "patience"),
}
"""Which parameters are settings of a run, by section, under the same names."""
_CLASS_VALUES = "class_values"


class GTEAClassifier(ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Classifies accounts by the histories of their pairs.

    An example is an account id; all else comes from the graph, which clones share. ``as_of`` applies to everything:
    preprocessing, training, validation and prediction see the graph as it was just before that moment, and nothing
    later. Under cross-validation the folds thus differ in whose labels are known, not in what is seen of the graph;
    to judge as in use, on accounts that appear later, use ``gtea train``, which splits by time.

    ``fit`` keeps the weights that do best (macro-F1) on a validation part of the accounts it is given: those whose
    first event is the latest, or the latest of each class where a class would else be missing. Accounts without an
    event before ``as_of`` can be scored but don't train.

    Args:
        graph: A store or its path; a path is opened in ``fit``. Parallel searches (``n_jobs``) want a path.
        as_of: The cut; None stands for just after the last event.
        features: What is known about an account itself: "given", "statistics", "random", or several. None stands for
            the node table where there is one, and statistics where there is none.
        validation_fraction: The share of the accounts that chooses the best epoch.
        random_state: A seed. The same seed, data and number of threads give the same model.

    Attributes:
        classes_: The labels, sorted; the columns of ``predict_proba``.
        store_: The open store.
        cut_: The stored time at and after which nothing was seen.
        model_: The trained model.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        as_of: Moment | None = None,
        encoder: str = "lstm",
        time_encoding: bool = True,
        attention: str = "sparsemax",
        num_layers: int = 2,
        d_node: int = 64,
        d_edge: int = 64,
        fanout: int = 10,
        max_events: int = 64,
        batch_size: int = 64,
        lr: float = 1e-3,
        epochs: int = 100,
        patience: int = 15,
        validation_fraction: float = 0.25,
        features: str | Sequence[str] | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.graph = graph
        self.as_of = as_of
        self.encoder = encoder
        self.time_encoding = time_encoding
        self.attention = attention
        self.num_layers = num_layers
        self.d_node = d_node
        self.d_edge = d_edge
        self.fanout = fanout
        self.max_events = max_events
        self.batch_size = batch_size
        self.lr = lr
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.features = features
        self.device = device
        self.random_state = random_state

    def fit(self, accounts: Any, y: Any) -> Self:
        """Train on labelled accounts.

        Args:
            accounts: Ids: a list, array, series, or one column of a frame.
            y: The label of each, of any one kind: text, whole numbers, booleans.
        """
        store, device = _opened(self.graph), resolve_device(self.device)
        nodes = find_accounts(store, accounts)
        given = read_targets(y, len(nodes))
        labels = labels_of(nodes, given.targets, given.names, store, "y")
        split = validation_split(labels, store, fraction=self.validation_fraction, as_of=self.as_of)
        with tempfile.TemporaryDirectory(prefix="gtea-") as folder:
            run = NodeRun(store, labels, positive_class(labels), split, self._config(), Path(folder), device)
            saved = train_nodes(run, silent)
        saved = replace(saved, config={**saved.config, _CLASS_VALUES: _portable(given)})
        return self._fitted(store, split.train.as_of, NodeModel(saved, device), given.values)

    def predict_proba(self, accounts: Any) -> NDArray[np.float64]:
        """One row of probabilities for each account, columns as in ``classes_``."""
        check_is_fitted(self)
        return self.model_.probabilities(self.store_, self.cut_, find_accounts(self.store_, accounts))

    def predict(self, accounts: Any) -> NDArray[Any]:
        """The likeliest label of each account."""
        places = self.predict_proba(accounts).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def transform(self, accounts: Any) -> NDArray[np.float64]:
        """The embedding z of each account, [num_accounts, d_node]."""
        check_is_fitted(self)
        return self.model_.embeddings(self.store_, self.cut_, find_accounts(self.store_, accounts))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a folder, which ``gtea.load``, ``gtea score`` and ``gtea evaluate`` read."""
        check_is_fitted(self)
        folder = Path(path).absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder}: exists. Choose another path.")
        save_model(folder, self.model_.saved, model_card(self.model_.saved))

    def _config(self) -> RunConfig:
        """The parameters as the configuration of a run, which checks them."""
        values = RunConfig().to_json()
        for section, names in _SECTIONS.items():
            values[section] |= {name: _plain(getattr(self, name)) for name in names}
        values["features"]["nodes"] = self.features
        values["train"]["seed"] = _seed(self.random_state)
        return config_from_json(values)

    def _fitted(self, store: Store, cut: int, model: NodeModel, classes: NDArray[Any]) -> Self:
        self.store_ = store
        self.cut_ = cut
        self.model_ = model
        self.classes_ = classes
        self.n_features_in_ = 1
        return self

    @property
    def _n_features_out(self) -> int:
        """How many names ``get_feature_names_out`` gives."""
        return self.model_.config.model.d_node

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        return tags


def load(
    path: str | os.PathLike[str], graph: Graph, *, as_of: Moment | None = None, device: str = "auto"
) -> GTEAClassifier:
    """Open a model folder, from ``GTEAClassifier.save`` or ``gtea train``, as a fitted ``GTEAClassifier``.

    Args:
        graph: The store, or its path, whose accounts are to be scored. It need not be the one that the model was
            trained on, but must have the same columns.
        as_of: Score as of this moment; None stands for just after the last event, whatever the training saw.
    """
    saved = load_model(Path(path).absolute())
    store = _opened(graph)
    model = NodeModel(saved, resolve_device(device))
    estimator = GTEAClassifier(graph, as_of=as_of, device=device, **_parameters(model.config))
    return estimator._fitted(store, store.as_of(as_of).cut, model, _class_values(saved))


def _parameters(config: RunConfig) -> dict[str, Any]:
    """The parameters that give this configuration."""
    sections = {name: getattr(config, name) for name in _SECTIONS}
    chosen = {name: getattr(sections[section], name) for section, names in _SECTIONS.items() for name in names}
    return {**chosen, "features": config.features.nodes, "random_state": config.train.seed}


def _portable(given: Targets) -> list[Any]:
    """The labels as JSON can hold them: dates and the like are saved as words."""
    values = given.values.tolist()
    return values if all(isinstance(value, str | int | float) for value in values) else list(given.names)


def _class_values(saved: SavedModel) -> NDArray[Any]:
    """The labels as ``fit`` was given them; a model of ``gtea train`` knows words only."""
    return np.asarray(saved.config.get(_CLASS_VALUES, saved.config["classes"]))


def _opened(graph: Graph) -> Store:
    return graph if isinstance(graph, Store) else Store.open(graph)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _plain(value: Any) -> Any:
    """Parameter grids are often numpy's numbers."""
    return value.item() if isinstance(value, np.generic) else value
