"""One training of an experiment: which it is, where its outcome is kept, and that settings never mix.

    OUT/runs/DATA-PROTOCOL/MODEL-fold0-seed0-1a2b3c4d.json     the outcome; by time there are no folds
    OUT/models/DATA-PROTOCOL/MODEL-fold0-seed0-1a2b3c4d/       the run itself, and then its model

The last word of a name is a digest of the data and of all settings that differ from gtea's defaults. Other settings or
other data have other names; with the old ones, the old outcomes count again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from gtea.config import RunConfig
from gtea.errors import ModelError
from gtea.experiments.paper.subject import Subject
from gtea.models.registry import default_config, model_config
from gtea.runtime.files import write_json
from gtea.tasks.link_split import LinkProtocol
from gtea.training.request import Fold, LinkRequest, NodeRequest

# What tells the runs of a row apart.
_WITHOUT_EFFECT = ("train.seed",)


@dataclass(frozen=True)
class Repeat:
    """Which of the runs that differ by chance alone."""

    fold: int | None
    """Of the paper's stratified folds; None where the split is by time."""
    seed: int

    @property
    def label(self) -> str:
        """For people, who count folds from 1."""
        return f"seed {self.seed}" if self.fold is None else f"fold {self.fold + 1}"


@dataclass(frozen=True)
class Job:
    """A training to be done."""

    subject: Subject
    data_digest: str
    protocol: LinkProtocol
    model: str
    repeat: Repeat
    config: RunConfig
    label: str
    """What its row is called."""
    folds: int
    """How many stratified folds there are; not used where the split is by time."""
    device: str = "auto"

    @property
    def group(self) -> str:
        """The runs that are compared with one another."""
        return f"{self.subject.name}-{self.protocol}"

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings with an effect that are not gtea's defaults, by their dotted names."""
        return differences(self.config, default_config(model_config(self.model), self.subject.task))

    @cached_property
    def stem(self) -> str:
        """The name of the run's file and folder."""
        folds = None if self.repeat.fold is None else self.folds
        identity = json.dumps([self.data_digest, self.model, self.settings, folds], sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        fold = "" if self.repeat.fold is None else f"fold{self.repeat.fold}-"
        return f"{self.model}-{fold}seed{self.repeat.seed}-{digest}"

    def outcome_file(self, out: Path) -> Path:
        """Where the outcome is kept."""
        return out / "runs" / self.group / f"{self.stem}.json"

    def model_folder(self, out: Path) -> Path:
        """Where it trains."""
        return out / "models" / self.group / self.stem

    def request(self) -> NodeRequest | LinkRequest:
        """The training as gtea train would be asked for it."""
        subject = self.subject
        if subject.labels is None:
            return LinkRequest.read(subject.store, base=self.config, device=self.device)
        return NodeRequest.read(
            subject.store,
            subject.labels,
            positive=subject.positive,
            unknown=subject.unknown,
            base=self.config,
            device=self.device,
            fold=None if self.repeat.fold is None else Fold(self.repeat.fold, self.folds),
        )


@dataclass(frozen=True)
class Outcome:
    """What came of a run: everything that tables and figures are made from."""

    data: str
    task: str
    protocol: str
    model: str
    fold: int | None
    seed: int
    state: Literal["finished", "failed"]
    reason: str | None
    """Why it failed."""
    test: dict[str, float]
    validation: dict[str, float]
    best_epoch: int
    epochs: int
    seconds: float
    interrupted: bool
    """Whether it was killed on the way: the seconds are then those since it was taken up again."""
    threads: int
    arithmetic: str
    settings: dict[str, Any]
    """Those that are not gtea's defaults."""
    config: dict[str, Any]
    data_digest: str
    split: dict[str, Any]
    versions: dict[str, str]
    created: str

    @property
    def label(self) -> str:
        """Which of the runs that differ by chance alone."""
        return Repeat(self.fold, self.seed).label


def differences(config: RunConfig, base: RunConfig) -> dict[str, Any]:
    """The settings with an effect that differ, by their dotted names."""
    ours, theirs = _flat(config.to_json()), _flat(base.to_json())
    return {name: value for name, value in ours.items() if value != theirs[name] and name not in _WITHOUT_EFFECT}


def save_outcome(path: Path, outcome: Outcome) -> None:
    """Keep an outcome, whole or not at all."""
    write_json(path, asdict(outcome))


def read_outcome(job: Job, out: Path) -> Outcome | None:
    """The outcome of a job that was done before, or None.

    A gtea whose defaults have changed, or which no longer has a setting that the outcome was made with, would give the
    same name to something else; that is refused.
    """
    path = job.outcome_file(out)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        outcome = Outcome(**{name: kept[name] for name in Outcome.__dataclass_fields__})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Delete it to run it again.") from error
    then, now = _flat(outcome.config), _flat(json.loads(json.dumps(job.config.to_json())))
    for name in (name for name in now if name in then and name not in _WITHOUT_EFFECT and then[name] != now[name]):
        raise ModelError(
            f"{path}: was made with {name} = {then[name]!r} (now it is {now[name]!r}: a default has changed). "
            "Delete the file to run it again, or choose another --out."
        )
    for name in (name for name in then if name not in now and then[name]):
        raise ModelError(
            f"{path}: was made with {name} = {then[name]!r}, which this gtea no longer has. "
            "Delete the file to run it again, or choose another --out."
        )
    return outcome


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{key}": value for section, keys in config.items() for key, value in keys.items()}
