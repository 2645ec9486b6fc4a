"""What GTEA's estimators share: their parameters, the configuration made from them, the graph, saving and loading.

Nothing is computed here. ``fit`` is the training of ``gtea.training`` in a temporary folder, the rest is the models of
``gtea.scoring``: a grid search runs the very training that ``gtea train`` runs, and what it finds is saved as the
same folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gtea.config import Family, ModelConfig, RunConfig, config_from_json, require_one_of, with_settings
from gtea.errors import UsageError
from gtea.estimators.inputs import Targets
from gtea.models.model_folder import SavedModel, save_model
from gtea.models.registry import BASELINES, DEFAULT_MODEL, TaskKind, default_config
from gtea.runtime.device import resolve_device
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.store.time_units import Instant
from gtea.training.fit import Task, train_task
from gtea.training.loop import no_report
from gtea.training.model_card import model_card

GraphLike = Store | str | os.PathLike[str]

SETTINGS = {
    "model": ("encoder", "time_encoding", "attention", "num_layers", "d_node", "d_edge"),
    "sampling": ("fanout", "max_events", "batch_size"),
    "train": ("lr", "epochs", "patience"),
}
_OTHER_NAMES = {"features.nodes": "features", "train.seed": "random_state"}
"""Settings that are parameters under a name of their own."""
_CLASS_VALUES = "class_values"


class GTEAEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The parameters of all estimators, and what follows from them alone."""

    _settings: ClassVar[Mapping[str, Sequence[str]]] = SETTINGS
    """Which parameters are settings of a run, by section, under the same names."""
    _task: ClassVar[TaskKind]
    _split_settings: ClassVar[Sequence[str]] = ()
    """Of the settings that say how a store is split, those that an estimator has a use for."""
    _model: ClassVar[type[NodeModel] | type[LinkModel]]
    _columns: ClassVar[int]
    """How many ids an example has."""
    classes_: NDArray[Any]
    model_: NodeModel | LinkModel

    def __init__(
        self,
        graph: GraphLike,
        *,
        model: str = DEFAULT_MODEL,
        as_of: Instant | None = None,
        encoder: str | None = None,
        time_encoding: bool | None = None,
        attention: str | None = None,
        num_layers: int | None = None,
        d_node: int | None = None,
        d_edge: int | None = None,
        fanout: int | None = None,
        max_events: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        validation_fraction: float = 0.25,
        features: str | Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        sampled: bool = False,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.graph = graph
        self.model = model
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
        self.settings = settings
        self.sampled = sampled
        self.device = device
        self.random_state = random_state

    def score(self, examples: Any, y: Any, sample_weight: Any = None, *, as_of: Instant | None = None) -> float:
        """The share of examples whose label is predicted, as of ``as_of`` or else the estimator's own cut."""
        return float(accuracy_score(y, self.predict(examples, as_of=as_of), sample_weight=sample_weight))

    def predict(self, examples: Any, *, as_of: Instant | None = None) -> NDArray[Any]:
        """The likeliest label of each example, as of ``as_of`` or else the estimator's own cut."""
        places = self.predict_proba(examples, as_of=as_of).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def predict_proba(self, examples: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """One row of probabilities for each example, columns as in ``classes_``."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a folder, which ``gtea.load``, ``gtea score`` and the like read."""
        check_is_fitted(self)
        folder = Path(path).absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder}: exists. Choose another path.")
        save_model(folder, self.model_.saved, model_card(self.model_.saved))

    @classmethod
    def opened(cls, saved: SavedModel, graph: GraphLike, as_of: Instant | None, device: str) -> Self:
        """A saved model as a fitted estimator."""
        store, config = opened_store(graph), config_from_json(saved.config["run"])
        sections = ((getattr(config, section), names) for section, names in cls._settings.items())
        chosen = {name: getattr(section, name) for section, names in sections for name in names}
        parameters = {"features": config.features.nodes, "random_state": config.train.seed, **chosen}
        model = config.model.family
        estimator = cls(graph, model=model, as_of=as_of, device=device, settings=cls._rest(config), **parameters)
        return estimator._fitted(store, store.as_of(as_of).cut, saved, resolve_device(device))

    def _config(self) -> RunConfig:
        """The parameters as the configuration of a run, which checks them."""
        given = {name: getattr(self, parameter) for name, parameter in self._parameters().items()}
        values = {name: value for name, value in given.items() if value is not None}
        values["train.seed"] = _seed(self.random_state)
        for name, value in (self.settings or {}).items():
            self._check_setting(name)
            values[name] = value
        defaults = default_config(_family_config(self.model), self._task)
        return with_settings(defaults, {name: _plain(value) for name, value in values.items()}, "settings")

    @classmethod
    def _parameters(cls) -> dict[str, str]:
        """The settings that are parameters, by their dotted names."""
        alike = ((section, name) for section, names in cls._settings.items() for name in names)
        return {**{f"{section}.{name}": name for section, name in alike}, **_OTHER_NAMES}

    @classmethod
    def _check_setting(cls, name: str) -> None:
        """Refuse what would say a thing twice, or be passed over."""
        section, dot, _ = name.partition(".")
        if not dot:
            raise UsageError(f"settings: must be named with their section (got {name!r}). Try 'model.dropout'.")
        if name in cls._parameters():
            raise UsageError(f"settings: {name} is the parameter {cls._parameters()[name]}. Give it there.")
        if name == "model.family":
            raise UsageError("settings: model.family is the parameter model. Give it there.")
        if section == "split" and name not in cls._split_settings:
            raise UsageError(f"settings: {name} has no meaning here, where examples are given to fit. Leave it out.")

    @classmethod
    def _rest(cls, config: RunConfig) -> dict[str, Any] | None:
        """The settings of a configuration that are no parameters, where they are not the defaults."""
        defaults = default_config(_family_config(config.model.family), cls._task)
        usual, parameters = defaults.to_json(), cls._parameters()
        rest = {
            f"{section}.{name}": value
            for section, values in config.to_json().items()
            for name, value in values.items()
            if value != usual[section][name]
            and f"{section}.{name}" not in (*parameters, "model.family")
            and (section != "split" or f"{section}.{name}" in cls._split_settings)
        }
        return rest or None

    def _trained(self, store: Store, cut: int, task_in: Callable[[Path, torch.device], Task[Any]]) -> Self:
        """Train a task in a folder that is gone afterwards.

        Args:
            cut: The time as of which examples are scored unless somebody names another.
        """
        device = resolve_device(self.device)
        with tempfile.TemporaryDirectory(prefix="gtea-") as folder:
            saved = train_task(task_in(Path(folder), device), no_report)
        return self._fitted(store, cut, saved, device)

    def _fitted(self, store: Store, cut: int, saved: SavedModel, device: torch.device) -> Self:
        self.store_ = store
        self.cut_ = cut
        self.model_ = self._model(saved, device)
        # A model of gtea train knows its classes as words; of links it says only whether there will be one.
        self.classes_ = np.asarray(saved.config.get(_CLASS_VALUES, saved.config.get("classes", [0, 1])))
        self.n_features_in_ = self._columns
        return self

    def _labelled(self, given: Targets) -> Self:
        """Know the labels as they were given, and save them so."""
        saved = self.model_.saved
        self.model_.saved = replace(saved, config={**saved.config, _CLASS_VALUES: _portable(given)})
        self.classes_ = given.values
        return self

    def _cut(self, as_of: Instant | None) -> int:
        """The cut of one call."""
        check_is_fitted(self)
        return int(self.cut_) if as_of is None else int(self.store_.as_of(as_of).cut)


def _family_config(model: str) -> ModelConfig:
    """GTEA alone or in a hybrid (which variant, other parameters say), or a model to compare with."""
    require_one_of("model", model, (DEFAULT_MODEL, "gtea", *BASELINES))
    return ModelConfig(family=cast(Family, model))


def opened_store(graph: GraphLike) -> Store:
    """The store that was given, or that of the path that was given."""
    if isinstance(graph, Store):
        return graph
    if not isinstance(graph, str | os.PathLike):
        raise UsageError(f"graph: must be a store or its path (got {graph!r}). Make one with gtea.ingest.")
    return Store.open(graph)


def _portable(given: Targets) -> list[Any]:
    """The labels as JSON can hold them: dates and the like are saved as words."""
    values = given.values.tolist()
    return values if all(isinstance(value, str | int | float) for value in values) else list(given.names)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _plain(value: Any) -> Any:
    """Parameter grids are often numpy's numbers."""
    return value.item() if isinstance(value, np.generic) else value
