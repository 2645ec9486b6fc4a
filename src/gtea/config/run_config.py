"""What a run is made of: one frozen value from a TOML file, ``--set`` and defaults, saved with everything it makes."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from gtea.config.model_config import ModelConfig
from gtea.errors import UsageError

Clock = Literal["pair", "calendar"]


@dataclass(frozen=True)
class FeaturesConfig:
    """What the model is told about nodes and events, besides what happened when."""

    nodes: tuple[Literal["given", "statistics", "random"], ...] | None = None
    """None stands for the node table where there is one, and statistics where there is none."""
    d_random: int = 32
    ages: bool = False
    """Whether statistics tell how long before the cut an account's first and last events were. Of accounts, that is the
    epoch they lived in: as of the end of a training window it tells classes apart that it no longer does later, so
    it is off. Links are foretold from the present, and have it on by default."""
    flows: bool = True
    """Whether statistics tell how much stayed of what came in: who passes everything on is hard to see otherwise. Links
    do without."""
    pairs: bool = False
    """Whether the head of a link model that reads a pair's history is told plain statistics of the pair, too."""
    ranks: bool = False
    """Whether the head that classifies an account is told the account's own features once more, as ranks."""
    known: bool = False
    """Whether that head is told which classes are known among those an account deals with, and among those whom these
    deal with: by the labels of the training part, and never the account's own. It tells much where labelled accounts
    are spread over the crowd, and misleads where those to be scored deal with others than they do, so it is off."""
    gaps: bool = True
    """Whether events also carry the time since the pair's event before."""
    clock: Clock = "pair"
    """What the time encoding counts from: the pair's first event, or the first event of all as in the paper. By the
    calendar, everything that is scored lies later than what was learnt from, and the encoding has to extrapolate."""


@dataclass(frozen=True)
class SamplingConfig:
    """How much of a node's full_subgraph a batch holds."""

    batch_size: int = 64
    fanout: int = 10
    max_events: int = 64
    """The last so many events of a history; 0 keeps them all."""
    strategy: Literal["uniform", "recent"] = "uniform"


@dataclass(frozen=True)
class TrainConfig:
    """How the weights are found."""

    lr: float = 1e-3
    epochs: int = 100
    patience: int = 15
    """Stop after so many epochs without a better validation metric; the best weights are kept."""
    metric: Literal["accuracy", "macro_f1", "log_likelihood", "average_precision", "roc_auc"] = "macro_f1"
    weight_decay: float = 0.0
    clip_norm: float = 5.0
    schedule: Literal["none", "cosine"] = "none"
    class_weights: bool = True
    seed: int = 0
    workers: int = 1
    checkpoint_seconds: float = 30.0


@dataclass(frozen=True)
class SplitConfig:
    """Which examples train, choose and judge."""

    kind: Literal["temporal", "folds"] = "temporal"
    folds: int = 5
    fold: int = 0
    protocol: Literal["temporal", "paper"] = "temporal"
    """Of links: what each window sees, the graph as of its own start (temporal) or of the first one's (paper)."""
    fractions: tuple[float, ...] = (0.6, 0.2, 0.2)
    """What trains, chooses and judges: of the accounts in the order of their first events, or of the links' events."""
    graph_fraction: float = 0.5
    """Of links: the share of the events that is the graph, unless a moment is given."""
    train_windows: int = 6
    """Of links under the temporal protocol: training is asked in so many windows, one after the other, each on the
    graph as of its own start. One long window would be asked about a future farther off than that of the others."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run computes, given its data."""

    model: ModelConfig = field(default_factory=ModelConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    split: SplitConfig = field(default_factory=SplitConfig)

    def __post_init__(self) -> None:
        rules = [
            ("features.d_random", self.features.d_random, 1),
            ("sampling.batch_size", self.sampling.batch_size, 1),
            ("sampling.fanout", self.sampling.fanout, 1),
            ("sampling.max_events", self.sampling.max_events, 0),
            ("train.epochs", self.train.epochs, 1),
            ("train.patience", self.train.patience, 1),
            ("train.weight_decay", self.train.weight_decay, 0),
            ("train.workers", self.train.workers, 0),
            ("train.seed", self.train.seed, 0),
            ("split.folds", self.split.folds, 3),
            ("split.train_windows", self.split.train_windows, 1),
        ]
        for name, value, least in rules:
            if value < least:
                raise UsageError(f"{name} must be at least {least} (got {value}). Try {least}.")
        if not 0 < self.train.lr < 10:
            raise UsageError(f"train.lr must be above 0 and below 10 (got {self.train.lr}). Try 0.001.")

    def to_json(self) -> dict[str, Any]:
        """The resolved configuration, as it is saved with a run."""
        return dataclasses.asdict(self)


def node_defaults(model: ModelConfig) -> RunConfig:
    """What an account task begins with.

    Where a tree is asked, too, whoever is surer decides. So the epoch that is kept is the one that is surest of what is
    right, by the log-likelihood of the validation part: a line drawn at one half doesn't see who shouts. And the
    network must not be sure of what it has never seen: its node features are held within what is usual.
    """
    if not model.tree_beside:
        return RunConfig(model)
    return RunConfig(replace(model, node_limit=2.0), train=TrainConfig(metric="log_likelihood"))


def link_defaults(model: ModelConfig) -> RunConfig:
    """What a link task begins with.

    Positives and negatives are as many, so that a ranking says more than classes at a threshold. Whether an account
    was active lately says much about what it does next, so neighbours and events are the latest; and what the two have
    done together says more than both ends, so GTEA has a wide head that reads it, one hop is enough, and it has to be
    kept from learning pairs by heart. ``model.link_head = "dot"`` and two layers are the paper's.
    """
    pairs = model.family == "gtea"
    if pairs and model.link_head == "dot":
        model = replace(model, link_head="ordered_pair", num_layers=1, d_mlp=256, dropout=0.3)
    return RunConfig(
        model,
        FeaturesConfig(ages=True, flows=False, pairs=pairs),
        SamplingConfig(max_events=16, strategy="recent"),
        TrainConfig(lr=1e-3 if pairs else 2e-3, epochs=15, patience=15, schedule="cosine", metric="average_precision"),
    )


def read_config(path: Path | None, settings: Sequence[str] = (), base: RunConfig | None = None) -> RunConfig:
    """The configuration of a run: defaults (or ``base``), then a TOML file, then ``section.key=value`` settings."""
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
    """The configuration with other values of some settings, by their dotted names.

    Args:
        where: Who gives them, for the message that refuses them.
    """
    values = config.to_json()
    _overlay(values, settings, where)
    return config_from_json(values)


def config_from_json(values: Mapping[str, Any]) -> RunConfig:
    """The configuration that ``to_json`` wrote."""
    sections = typing.get_type_hints(RunConfig)
    return RunConfig(**{name: _section(kind, name, values[name]) for name, kind in sections.items()})


def read_toml(path: Path, option: str) -> dict[str, Any]:
    """What a TOML file holds, or an error that says what is wrong with it and which option named it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file. Check {option}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name}: is not valid TOML ({error}). Mend it there.") from error


def _overlay(values: dict[str, Any], given: Mapping[str, Any], where: str) -> None:
    known = {f"{section}.{key}" for section, keys in values.items() for key in keys}
    for name, value in _flat(given):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known sections: {', '.join(values)}."
            raise UsageError(f"unknown key {name!r} in {where}. {remedy}")
        section, _, key = name.partition(".")
        values[section] = {**values[section], key: value}


def _flat(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, keys in given.items():
        if not isinstance(keys, Mapping):
            yield section, keys
        else:
            yield from ((f"{section}.{key}", value) for key, value in keys.items())


def _value(text: str) -> Any:
    """A value as TOML would read it; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _section(kind: Any, name: str, values: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(kind)
    return kind(**{key: _typed(f"{name}.{key}", value, hints[key]) for key, value in values.items()})


def _typed(name: str, value: Any, kind: Any) -> Any:
    """The value as its field's type, or an error that says what it should have been."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            choices = ", ".join(repr(choice) for choice in get_args(kind))
            raise UsageError(f"{name} must be one of {choices} (got {value!r}). Try {get_args(kind)[0]!r}.")
        return value
    if type(None) in get_args(kind):
        return None if value is None else _typed(name, value, next(k for k in get_args(kind) if k is not type(None)))
    if get_origin(kind) is tuple:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise UsageError(f"{name} must be a list (got {value!r}). Try [{value!r}].")
        return tuple(_typed(name, item, get_args(kind)[0]) for item in items)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        example = {"bool": "true or false", "int": "10", "float": "0.1", "str": "a word"}[kind.__name__]
        raise UsageError(f"{name} must be of type {kind.__name__} (got {value!r}). Try {example}.")
    return value
