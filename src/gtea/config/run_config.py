"""Settings of a run: defaults, overridden by a TOML file and ``--set``, and saved with every model."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import sys
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, Literal, get_args, get_origin

from gtea.config.model_config import ModelConfig
from gtea.errors import UsageError

TimeOrigin = Literal["pair", "calendar"]
NodeKind = Literal["given", "statistics", "random", "partners", "rhythm"]
"""Where node features come from: the node table, statistics of an account's own events, random vectors, statistics of
its partners, or its rhythm: rates, bursts, how fast money passes through."""

_FAMILY = "model.family"
_LARGEST_BITS = 63
_RENAMED = {
    "features.ages": "is now called features.recency",
    "features.flows": "is now called features.net_flow",
    "features.pairs": "is now called features.pair_statistics",
    "features.ranks": "is now called features.rank_inputs",
    "features.known": "is now called features.neighbour_labels",
    "features.clock": "is now called features.time_origin",
    "features.gaps": "is gone: events always carry the time since the pair's previous event",
    "model.tree_beside": "is gone: the model with boosted trees is now called hybrid, as in --variant hybrid",
    "train.workers": "is now called GTEA_WORKERS, an environment variable: it changes no result",
    "train.checkpoint_seconds": "is now called GTEA_CHECKPOINT_SECONDS, an environment variable: it changes no result",
    "train.clip_norm": "is gone: gradients are always clipped to a norm of 5",
    "split.kind": "is gone: use --folds for stratified folds",
    "split.folds": "is gone: use --folds",
    "split.fold": "is gone: use --folds",
    "split.graph_fraction": "is gone: use --graph-until",
}
"""Settings of gtea 0.1 and their replacements. To be removed in 0.3."""


@dataclass(frozen=True)
class FeaturesConfig:
    """The features of nodes, events and pairs that a model reads."""

    nodes: tuple[NodeKind, ...] | None = None
    """Where node features come from. None: the node table if there is one, statistics otherwise; for the hybrid of
    accounts and the strong tree the node table, statistics, partners and rhythm."""
    d_random: int = 32
    """Size of the random vectors, if ``nodes`` has them."""
    recency: bool = False
    """Whether statistics include the time since an account's first and last events. Off for accounts: as of the end of
    a training window, these times separate classes in a way that does not hold later. On for links, which are
    predicted as of the present."""
    net_flow: bool = True
    """Whether statistics compare what an account received with what it sent. Without them, accounts that forward all
    they receive are hard to detect. Off for links."""
    pair_statistics: bool = False
    """Whether the head of a link model reads statistics of the pair: counts, recency, paths between the two. On for
    GTEA's link models."""
    rank_inputs: bool = False
    """Whether the head of an account model also reads the account's own features as ranks."""
    neighbour_labels: bool = False
    """Whether the head of an account model reads the training labels of an account's neighbours and of their
    neighbours, never the account's own label. Off by default: it is misleading if the accounts to score have other
    neighbours than the training accounts."""
    time_origin: TimeOrigin = "pair"
    """The origin of the time encoding: the first event of the pair, or (``calendar``) the first event of the data, as
    in the paper. With ``calendar``, everything that is scored later lies outside the training times, and the encoding
    extrapolates."""


@dataclass(frozen=True)
class SamplingConfig:
    """How many neighbours and events a batch holds."""

    batch_size: int = 64
    """The number of labelled accounts per training step, or of links, each with one negative."""
    fanout: int = 10
    """The maximum number of neighbours sampled per node."""
    max_events: int = 64
    """The number of latest events read of each history; 0 reads all."""
    strategy: Literal["uniform", "recent"] = "uniform"
    """Which neighbours are sampled if there are more than ``fanout``."""


@dataclass(frozen=True)
class TrainConfig:
    """The optimisation of the weights."""

    lr: float = 1e-3
    """The learning rate of Adam."""
    epochs: int = 100
    """The maximum number of epochs."""
    patience: int = 15
    """Training stops after this many epochs without a better validation metric. The best weights are kept."""
    metric: Literal["accuracy", "macro_f1", "log_likelihood", "average_precision", "roc_auc"] = "macro_f1"
    """The validation metric that chooses the epoch."""
    weight_decay: float = 0.0
    """The L2 penalty of Adam."""
    schedule: Literal["none", "cosine"] = "none"
    """How the learning rate changes: not at all, or down to zero along a cosine."""
    class_weights: bool = True
    """Whether every class has the same total weight in the loss, however rare it is."""
    refit_trees: bool = False
    """Whether boosted trees are fitted again to the training and validation examples together: in a split by time once
    as of the cut of the validation part and once as of that of the test part, with the mean of both as the answer, and
    also without each third of the validation part, to choose blend, calibration and threshold. Neighbour labels then
    include those of the validation part. On by default for models with trees."""
    micro_batches: int = 1
    """Each batch is cut into this many micro-batches, whose gradients are added up in order. As many workers, of
    ``--on local:N`` or torchrun, can share a training, to the same bytes as in one process. With more than one, a
    process computes with one thread."""
    seed: int = 0
    """The seed of the initial weights, batches, neighbours, negatives and dropout."""


@dataclass(frozen=True)
class SplitConfig:
    """The split into training, validation and test examples."""

    protocol: Literal["temporal", "paper"] = "temporal"
    """Links only: the graph that each window sees, as of its own start (temporal) or that of the first one (paper)."""
    fractions: tuple[float, ...] = (0.6, 0.2, 0.2)
    """Shares of train, validation and test: of the accounts by first event, or of the link events by time."""
    train_windows: int = 6
    """Links, temporal protocol: training is cut into this many windows, each with the graph as of its own start. One
    long window would make training predict a more distant future than validation and test do."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines the results of a run, given its data."""

    model: ModelConfig = field(default_factory=ModelConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        rules = [
            ("features.d_random", self.features.d_random, 1, 2**16),
            ("sampling.batch_size", self.sampling.batch_size, 1, 2**20),
            ("sampling.fanout", self.sampling.fanout, 1, 2**14),
            ("sampling.max_events", self.sampling.max_events, 0, 2**31),
            ("train.epochs", self.train.epochs, 1, 2**31),
            ("train.patience", self.train.patience, 1, 2**31),
            ("train.weight_decay", self.train.weight_decay, 0, sys.float_info.max),
            ("train.micro_batches", self.train.micro_batches, 1, 2**20),
            ("train.seed", self.train.seed, 0, 2**63 - 1),
            ("split.train_windows", self.split.train_windows, 1, 2**31),
        ]
        for name, value, least, most in rules:
            if not value >= least:
                raise UsageError(f"{name} must be at least {least} (got {value}). Try {least}.")
            if value > most:
                raise UsageError(f"{name} must be at most {most} (got {value}). Try {most}.")
        if not 0 < self.train.lr < 10:
            raise UsageError(f"train.lr must be above 0 and below 10 (got {self.train.lr}). Try 0.001.")
        if self.train.micro_batches > self.sampling.batch_size:
            raise UsageError(
                "train.micro_batches must be at most sampling.batch_size "
                f"(got {self.train.micro_batches} and {self.sampling.batch_size}). Try {self.sampling.batch_size}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the resolved configuration as it is saved with a run."""
        return dataclasses.asdict(self)


def read_config(path: Path | None, settings: Sequence[str] = (), base: RunConfig | None = None) -> RunConfig:
    """Read a configuration: defaults (or ``base``), then a TOML file, then ``section.key=value`` settings."""
    values = (base or RunConfig()).to_json()
    if path is not None:
        _overlay(values, read_toml(path, "--config"), path.name)
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: must have the form section.key=value. Try --set train.lr=0.001.")
        section, _, key = name.strip().partition(".")
        _overlay(values, {section: {key: _value(text)}}, f"--set {name.strip()}")
    return config_from_json(values)


def with_settings(config: RunConfig, settings: Mapping[str, Any], where: str) -> RunConfig:
    """Return a configuration with some settings replaced.

    Args:
        config: The configuration to start from.
        settings: New values by the dotted names of the settings.
        where: The source of the values, for error messages.
    """
    values = config.to_json()
    _overlay(values, settings, where)
    return config_from_json(values)


def config_from_json(values: Mapping[str, Any]) -> RunConfig:
    """Restore a configuration from the result of ``to_json``."""
    sections = _hints(RunConfig)
    if not isinstance(values, Mapping) or set(values) != set(sections):
        raise UsageError(f"settings must have the sections {', '.join(sections)} (got {shortened(values)}).")
    return RunConfig(**{name: _section(kind, name, values[name]) for name, kind in sections.items()})


def read_toml(path: Path, option: str) -> dict[str, Any]:
    """Read a TOML file. ``option`` is the command line option that named it, for error messages."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file. Check {option}.") from error
    except (ValueError, RecursionError) as error:  # tomllib raises both, besides errors of its own
        raise UsageError(f"{path.name}: is not valid TOML ({error}). Fix the file.") from error


def _overlay(values: dict[str, Any], given: Mapping[str, Any], where: str) -> None:
    settings = {f"{section}.{key}" for section, keys in values.items() for key in keys}
    for name, value in _flat(given):
        if name in _RENAMED:
            raise UsageError(f"{name}: {_RENAMED[name]} (in {where}).")
        if name not in settings:
            near = difflib.get_close_matches(name, settings, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"The sections are: {', '.join(values)}."
            raise UsageError(f"unknown key {name!r} in {where}. {remedy}")
        section, _, key = name.partition(".")
        if name == _FAMILY and value != values[section][key]:
            named = "gtea-l+t" if value == "gtea" else value
            raise UsageError(f"{name}: is set by the model's name (got {value!r} in {where}). Pass --variant {named}.")
        values[section] = {**values[section], key: value}


def _flat(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, keys in given.items():
        if not isinstance(keys, Mapping):
            yield section, keys
        else:
            yield from ((f"{section}.{key}", value) for key, value in keys.items())


def _value(text: str) -> Any:
    """Parse a TOML value. A bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of the settings of a section. Resolving them takes longer than reading a configuration."""
    return typing.get_type_hints(kind)


def _section(kind: Any, name: str, values: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    if not isinstance(values, Mapping) or not set(values) <= set(hints):
        raise UsageError(f"{name} must be a section with {', '.join(hints)} (got {shortened(values)}).")
    return kind(**{key: _typed(f"{name}.{key}", value, hints[key]) for key, value in values.items()})


def _typed(name: str, value: Any, kind: Any) -> Any:
    """Convert a value to the type of its field, or raise an error that names the expected type."""
    if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
        raise UsageError(f"{name} must be a number of at most 64 bits (got {value.bit_length()} bits). Try 10.")
    if get_origin(kind) is Literal:
        if not isinstance(value, str) or value not in get_args(kind):
            choices = ", ".join(repr(choice) for choice in get_args(kind))
            raise UsageError(f"{name} must be one of {choices} (got {shortened(value)}). Try {get_args(kind)[0]!r}.")
        return value
    if type(None) in get_args(kind):
        return None if value is None else _typed(name, value, next(k for k in get_args(kind) if k is not type(None)))
    if get_origin(kind) is tuple:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise UsageError(f"{name} must be a list (got {shortened(value)}). Try [{shortened(value)}].")
        return tuple(_typed(name, item, get_args(kind)[0]) for item in items)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise UsageError(f"{name} must be a finite number (got {value}). Try 0.1.")
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        example = {"bool": "true or false", "int": "10", "float": "0.1", "str": "a word"}[kind.__name__]
        raise UsageError(f"{name} must be of type {kind.__name__} (got {shortened(value)}). Try {example}.")
    return value
