"""The common base class of the estimators: parameters, run configuration, saving and loading.

Estimators are thin wrappers. ``fit`` runs the training of ``gtea.training`` in a temporary folder, and predictions come
from the models of ``gtea.scoring``. A grid search therefore trains exactly as ``gtea train`` does, and ``save`` writes
the same kind of model folder.
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
from gtea.training.reliability_figure import reliability_figure

GraphLike = Store | str | os.PathLike[str]

SETTINGS = {
    "model": ("encoder", "time_encoding", "attention", "num_layers", "d_node", "d_edge"),
    "sampling": ("fanout", "max_events", "batch_size"),
    "train": ("lr", "epochs", "patience"),
}
_OTHER_NAMES = {"features.nodes": "features", "train.seed": "random_state"}
"""Settings whose parameter has a different name."""
_CLASS_VALUES = "class_values"


class GTEAEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators."""

    _settings: ClassVar[Mapping[str, Sequence[str]]] = SETTINGS
    """Parameters that are run settings of the same name, by section."""
    _task: ClassVar[TaskKind]
    _split_settings: ClassVar[Sequence[str]] = ()
    """The settings of the section ``split`` that the estimator supports."""
    _model: ClassVar[type[NodeModel] | type[LinkModel]]
    _columns: ClassVar[int]
    """The number of ids per example."""
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
        """Return the accuracy of ``predict``.

        Args:
            examples: The examples, as in ``predict``.
            y: The true label of each example.
            sample_weight: The weight of each example.
            as_of: The cut. Defaults to the cut of the estimator, ``cut_``.
        """
        return float(accuracy_score(y, self.predict(examples, as_of=as_of), sample_weight=sample_weight))

    def predict(self, examples: Any, *, as_of: Instant | None = None) -> NDArray[Any]:
        """Return the label of each example: of two, by the threshold of the model; of more, the most likely one.

        Args:
            examples: The examples, as in ``fit``.
            as_of: The cut. Defaults to the cut of the estimator, ``cut_``.
        """
        probabilities = self.predict_proba(examples, as_of=as_of)
        return np.asarray(self.classes_[self.model_.decide(probabilities)])

    def predict_proba(self, examples: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """Return one row of probabilities per example. The columns are those of ``classes_``."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a new folder, for ``gtea.load``, ``gtea score`` and the other commands.

        Args:
            path: The folder to create. It must not exist, or must be empty.
        """
        check_is_fitted(self)
        folder = Path(path).absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder}: exists. Choose another path.")
        saved = self.model_.saved
        save_model(folder, saved, model_card(saved), reliability_figure(saved))

    @classmethod
    def from_saved(cls, saved: SavedModel, graph: GraphLike, as_of: Instant | None, device: str) -> Self:
        """Create a fitted estimator from a saved model."""
        store, config = open_store(graph), config_from_json(saved.config["run"])
        sections = ((getattr(config, section), names) for section, names in cls._settings.items())
        chosen = {name: getattr(section, name) for section, names in sections for name in names}
        parameters = {"features": config.features.nodes, "random_state": config.train.seed, **chosen}
        model = config.model.family
        estimator = cls(
            graph, model=model, as_of=as_of, device=device, settings=cls._other_settings(config), **parameters
        )
        return estimator._set_model(store, store.as_of(as_of).cut, saved, resolve_device(device))

    def _config(self) -> RunConfig:
        """Convert the parameters to a run configuration, which validates them."""
        given = {name: getattr(self, parameter) for name, parameter in self._parameters().items()}
        values = {name: value for name, value in given.items() if value is not None}
        values["train.seed"] = _seed(self.random_state)
        for name, value in (self.settings or {}).items():
            self._check_setting(name)
            values[name] = value
        defaults = default_config(_family_config(self.model), self._task)
        return with_settings(defaults, {name: _python_value(value) for name, value in values.items()}, "settings")

    @classmethod
    def _parameters(cls) -> dict[str, str]:
        """Map the dotted names of settings to the names of their parameters."""
        same_name = ((section, name) for section, names in cls._settings.items() for name in names)
        return {**{f"{section}.{name}": name for section, name in same_name}, **_OTHER_NAMES}

    @classmethod
    def _check_setting(cls, name: str) -> None:
        """Raise if a setting has its own parameter or would be ignored."""
        section, dot, _ = name.partition(".")
        if not dot:
            raise UsageError(f"settings: names must include their section (got {name!r}). Try 'model.dropout'.")
        if name in cls._parameters():
            raise UsageError(f"settings: {name} is set by the parameter {cls._parameters()[name]}. Pass it there.")
        if name == "model.family":
            raise UsageError("settings: model.family is set by the parameter model. Pass it there.")
        if section == "split" and name not in cls._split_settings:
            raise UsageError(f"settings: {name} does not apply, because examples are passed to fit. Leave it out.")

    @classmethod
    def _other_settings(cls, config: RunConfig) -> dict[str, Any] | None:
        """Return the settings that differ from the defaults and have no parameter."""
        defaults = default_config(_family_config(config.model.family), cls._task)
        default_values, parameters = defaults.to_json(), cls._parameters()
        others = {
            f"{section}.{name}": value
            for section, values in config.to_json().items()
            for name, value in values.items()
            if value != default_values[section][name]
            and f"{section}.{name}" not in (*parameters, "model.family")
            and (section != "split" or f"{section}.{name}" in cls._split_settings)
        }
        return others or None

    def _train(self, store: Store, cut: int, task_in: Callable[[Path, torch.device], Task[Any]]) -> Self:
        """Train a task in a temporary folder.

        Args:
            store: The open store.
            cut: The default cut of predictions, as a stored time.
            task_in: Builds the task, given its folder and device.
        """
        device = resolve_device(self.device)
        with tempfile.TemporaryDirectory(prefix="gtea-") as folder:
            saved = train_task(task_in(Path(folder), device), no_report)
        return self._set_model(store, cut, saved, device)

    def _set_model(self, store: Store, cut: int, saved: SavedModel, device: torch.device) -> Self:
        self.store_ = store
        self.cut_ = cut
        self.model_ = self._model(saved, device)
        # Models of gtea train have classes as strings. Link models of gtea train have none: 0 and 1 are used.
        self.classes_ = np.asarray(saved.config.get(_CLASS_VALUES, saved.config.get("classes", [0, 1])))
        self.n_features_in_ = self._columns
        return self

    def _set_classes(self, given: Targets) -> Self:
        """Set ``classes_`` to the labels in their original type, and record them in the model."""
        saved = self.model_.saved
        self.model_.saved = replace(saved, config={**saved.config, _CLASS_VALUES: _json_values(given)})
        self.classes_ = given.values
        return self

    def _cut(self, as_of: Instant | None) -> int:
        """Return the cut of one call, as a stored time."""
        check_is_fitted(self)
        return int(self.cut_) if as_of is None else int(self.store_.as_of(as_of).cut)


def _family_config(model: str) -> ModelConfig:
    """Return the default model configuration of a family."""
    require_one_of("model", model, (DEFAULT_MODEL, "gtea", *BASELINES))
    return ModelConfig(family=cast(Family, model))


def open_store(graph: GraphLike) -> Store:
    """Return the store, opening it if ``graph`` is a path."""
    if isinstance(graph, Store):
        return graph
    if not isinstance(graph, str | os.PathLike):
        raise UsageError(f"graph: must be a store or its path (got {graph!r}). Create one with gtea.ingest.")
    return Store.open(graph)


def _json_values(given: Targets) -> list[Any]:
    """Return the labels as JSON values. Types that JSON does not have, such as dates, become strings."""
    values = given.values.tolist()
    return values if all(isinstance(value, str | int | float) for value in values) else list(given.names)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    """Return an integer seed, drawing one if ``random_state`` is a generator or None."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _python_value(value: Any) -> Any:
    """Convert NumPy scalars, which are common in parameter grids, to Python values."""
    return value.item() if isinstance(value, np.generic) else value
