"""Which trainings an experiment is made of: models, each several times, with settings that are put together here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gtea.config import RunConfig, read_config, with_settings
from gtea.errors import UsageError
from gtea.experiments.paper.jobs import Job, Repeat
from gtea.experiments.paper.paper_figures import TABLE1_MODELS
from gtea.experiments.paper.settings import laid_over
from gtea.experiments.paper.subject import Subject
from gtea.models.registry import (
    DEFAULT_MODEL,
    MODELS,
    TaskKind,
    default_config,
    model_config,
    require_classifier,
)
from gtea.tasks.link_split import LinkProtocol

OWNED = {"split.protocol": "--protocol", "train.seed": "--seed"}
"""Settings that options of their own decide."""
_MODEL = ("family", "encoder", "time_encoding")
_FEWEST_FOLDS = 3
"""One each to train, validate and test on."""


@dataclass(frozen=True)
class Plan:
    """What a user asks of all runs alike."""

    protocol: LinkProtocol = "temporal"
    folds: int = 5
    """How many runs of each model: folds where the protocol has them, else seeds."""
    seed: int = 0
    config: Path | None = None
    settings: tuple[str, ...] = ()
    """As in --set."""
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.folds < 1:
            raise UsageError(f"--folds: must be at least 1 (got {self.folds}). Try 5.")
        for name in settled(self.settings):
            if name in OWNED:
                raise UsageError(f"--set {name}: is for {OWNED[name]} to say. Leave it out.")

    def repeats(self, task: TaskKind) -> tuple[Repeat, ...]:
        """The runs of each model. A split by time is what it is: there, runs differ by their seeds."""
        if has_folds(task, self.protocol):
            if self.folds < _FEWEST_FOLDS:
                raise UsageError(
                    f"--folds: must be at least {_FEWEST_FOLDS} with --protocol paper (got {self.folds}). Try 5."
                )
            return tuple(Repeat(fold, self.seed) for fold in range(self.folds))
        return tuple(Repeat(None, self.seed + i) for i in range(self.folds))

    def jobs(self, subject: Subject, points: Sequence[Point]) -> list[list[Job]]:
        """The runs of each point, all settings put together and checked."""
        digest = subject.digest()
        return [self._row(subject, digest, point) for point in points]

    def _row(self, subject: Subject, digest: str, point: Point) -> list[Job]:
        config = self._config(subject, point)
        which = subject, digest, self.protocol, point.model
        return [
            Job(*which, repeat, _repeated(config, repeat), point.label, self.folds, self.device)
            for repeat in self.repeats(subject.task)
        ]

    def _config(self, subject: Subject, point: Point) -> RunConfig:
        """Defaults, settings.toml, --config, --set, the point's own, the protocol's: later ones win."""
        config = default_config(model_config(point.model), subject.task)
        if self.protocol == "paper" and config.model.reads_histories and config.model.time_encoding:
            config = with_settings(config, {"features.time_origin": "calendar"}, "--protocol paper")
        config = laid_over(config, subject.name, self.protocol, point.model)
        config = read_config(self.config, self.settings, config)
        config = with_settings(config, point.settings, point.label)
        _require_model(config, point.model)
        if subject.task == "nodes":
            require_classifier(config.model)
        # split.protocol is about links; for accounts it stays what it is by default.
        protocol = self.protocol if subject.task == "links" else "temporal"
        return with_settings(config, {"split.protocol": protocol}, "--protocol")


@dataclass(frozen=True)
class Point:
    """A model, perhaps with settings of its own: one row of a table."""

    model: str
    settings: Mapping[str, Any]
    label: str


def has_folds(task: TaskKind, protocol: LinkProtocol) -> bool:
    """Whether runs are the paper's stratified folds."""
    return task == "nodes" and protocol == "paper"


def model_points(task: TaskKind, names: Sequence[str]) -> list[Point]:
    """The models of Table 1 and what a practitioner would use instead; or those that are named, in the same order."""
    everyone = (*TABLE1_MODELS, DEFAULT_MODEL, "tree", "edgebank")
    chosen = checked_models(names) or (everyone if task == "links" else everyone[:-1])
    return [Point(name, {}, name) for name in everyone if name in chosen]


def checked_models(names: Sequence[str]) -> list[str]:
    """The models, each once, in the order in which they are named; refused where one is unknown."""
    known = tuple(MODELS)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Try {known[1]!r}."
            raise UsageError(f"--models: must be of {', '.join(known)} (got {name!r}). {remedy}")
    return list(dict.fromkeys(names))


def settled(settings: Sequence[str]) -> list[str]:
    """The dotted names of what --set gives."""
    return [setting.partition("=")[0].strip() for setting in settings]


def _require_model(config: RunConfig, model: str) -> None:
    """A row must be the model that it is called by, whatever a file of settings says."""
    own = model_config(model)
    for name in _MODEL:
        wanted, found = getattr(own, name), getattr(config.model, name)
        if wanted != found:
            raise UsageError(
                f"model.{name}: is {wanted!r} in {model} (got {found!r} from the settings). "
                "Leave it out, or name the models that have it with --models."
            )


def _repeated(config: RunConfig, repeat: Repeat) -> RunConfig:
    return replace(config, train=replace(config.train, seed=repeat.seed))
