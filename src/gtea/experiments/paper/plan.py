"""The plan of an experiment: which models to train, how often, and with which settings."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gtea.config import RunConfig, read_config, with_settings
from gtea.errors import UsageError
from gtea.experiments.paper.paper_results import TABLE1_MODELS
from gtea.experiments.paper.settings import with_packaged_settings
from gtea.experiments.runs.jobs import Job, Repeat
from gtea.experiments.runs.subject import Subject
from gtea.models.registry import (
    DEFAULT_MODEL,
    MODELS,
    TaskKind,
    default_config,
    model_config,
    require_classifier,
)
from gtea.tasks.link_split import LinkProtocol

RESERVED_SETTINGS = {"split.protocol": "--protocol", "train.seed": "--seed"}
"""Settings with an option of their own; --set must not contain them."""
_MODEL_SETTINGS = ("family", "encoder", "time_encoding")
_MIN_FOLDS = 3
"""One each to train, validate and test on."""


@dataclass(frozen=True)
class Plan:
    """Options common to all runs of an experiment."""

    protocol: LinkProtocol = "temporal"
    folds: int = 5
    """Number of runs per model: folds if the protocol has them, otherwise seeds."""
    seed: int = 0
    config: Path | None = None
    settings: tuple[str, ...] = ()
    """``KEY=VALUE`` from --set."""
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.folds < 1:
            raise UsageError(f"--folds: must be at least 1 (got {self.folds}). Try 5.")
        for name in setting_names(self.settings):
            if name in RESERVED_SETTINGS:
                raise UsageError(f"--set {name}: is set by {RESERVED_SETTINGS[name]}. Leave it out.")

    def repeats(self, task: TaskKind) -> tuple[Repeat, ...]:
        """The repetitions of each model: folds, or seeds for a temporal split, which is always the same."""
        if has_folds(task, self.protocol):
            if self.folds < _MIN_FOLDS:
                raise UsageError(
                    f"--folds: must be at least {_MIN_FOLDS} with --protocol paper (got {self.folds}). Try 5."
                )
            return tuple(Repeat(fold, self.seed) for fold in range(self.folds))
        return tuple(Repeat(None, self.seed + i) for i in range(self.folds))

    def jobs(self, subject: Subject, points: Sequence[Point]) -> list[list[Job]]:
        """The jobs of each point, with merged and validated settings."""
        digest = subject.digest()
        return [self._point_jobs(subject, digest, point) for point in points]

    def _point_jobs(self, subject: Subject, digest: str, point: Point) -> list[Job]:
        config = self._config(subject, point)
        identity = subject, digest, self.protocol, point.model
        return [
            Job(*identity, repeat, _with_seed(config, repeat.seed), point.label, self.folds, self.device)
            for repeat in self.repeats(subject.task)
        ]

    def _config(self, subject: Subject, point: Point) -> RunConfig:
        """Merge defaults, settings.toml, --config, --set, the point's settings and the protocol. Later ones win."""
        config = default_config(model_config(point.model), subject.task)
        # All models of a table learn from the same examples.
        config = with_settings(config, {"train.refit_trees": False}, "gtea reproduce")
        if self.protocol == "paper" and config.model.reads_histories and config.model.time_encoding:
            config = with_settings(config, {"features.time_origin": "calendar"}, "--protocol paper")
        config = with_packaged_settings(config, subject.name, self.protocol, point.model)
        config = read_config(self.config, self.settings, config)
        config = with_settings(config, point.settings, point.label)
        _require_model(config, point.model)
        if subject.task == "nodes":
            require_classifier(config.model)
        # split.protocol concerns links only. Accounts keep its default.
        protocol = self.protocol if subject.task == "links" else "temporal"
        return with_settings(config, {"split.protocol": protocol}, "--protocol")


@dataclass(frozen=True)
class Point:
    """A model and its own settings: one row of a table."""

    model: str
    settings: Mapping[str, Any]
    label: str


def has_folds(task: TaskKind, protocol: LinkProtocol) -> bool:
    """Whether the runs are the paper's stratified folds."""
    return task == "nodes" and protocol == "paper"


def model_points(task: TaskKind, names: Sequence[str]) -> list[Point]:
    """The named models in table order. By default, those of Table 1, the default model and the baselines."""
    all_models = (*TABLE1_MODELS, DEFAULT_MODEL, "tree", "edgebank")
    chosen = validate_models(names) or (all_models if task == "links" else all_models[:-1])
    return [Point(name, {}, name) for name in all_models if name in chosen]


def validate_models(names: Sequence[str]) -> list[str]:
    """Remove duplicates, keeping the order. Raise UsageError for an unknown model."""
    available = tuple(MODELS)
    for name in names:
        if name not in available:
            near = difflib.get_close_matches(name, available, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Try {available[1]!r}."
            raise UsageError(f"--models: must be among {', '.join(available)} (got {name!r}). {remedy}")
    return list(dict.fromkeys(names))


def setting_names(settings: Sequence[str]) -> list[str]:
    """The dotted names of ``KEY=VALUE`` settings."""
    return [setting.partition("=")[0].strip() for setting in settings]


def _require_model(config: RunConfig, model: str) -> None:
    """Raise UsageError if the settings turn a model into another one."""
    expected = model_config(model)
    for name in _MODEL_SETTINGS:
        wanted, got = getattr(expected, name), getattr(config.model, name)
        if wanted != got:
            raise UsageError(
                f"model.{name}: must be {wanted!r} for {model} (got {got!r} from the settings). "
                "Leave it out, or use --models to name the models that have it."
            )


def _with_seed(config: RunConfig, seed: int) -> RunConfig:
    return replace(config, train=replace(config.train, seed=seed))
