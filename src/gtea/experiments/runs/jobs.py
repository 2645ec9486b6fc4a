"""Jobs (single training runs of an experiment) and their outcomes on disk.

    OUT/runs/DATA-PROTOCOL/MODEL-fold0-seed0-1a2b3c4d.json     the outcome; a temporal split has no fold
    OUT/models/DATA-PROTOCOL/MODEL-fold0-seed0-1a2b3c4d/       the training run, then its model
    OUT/runs/DATA-few-labels/MODEL-n30-seed0-1a2b3c4d.json     with 30 labels of each class

The name ends with a digest of the data and of all settings that differ from gtea's defaults. So outcomes of different
settings or data never mix, and going back to earlier settings reuses their outcomes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from gtea.config import RunConfig, config_from_json
from gtea.errors import ModelError
from gtea.experiments.runs.few_labels_request import FewLabelsRequest
from gtea.experiments.runs.subject import Subject
from gtea.models.registry import default_config, model_config
from gtea.runtime.files import write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Either, Every, Number, ObjectOf, Words
from gtea.tasks.link_split import LinkProtocol
from gtea.training.request import Fold, LinkRequest, NodeRequest

RunProtocol = LinkProtocol | Literal["few-labels"]
"""How data are split: as in the paper, by time, or into a few labelled accounts and the rest."""
# Differs between the runs of a row, so it is not part of the digest.
_IGNORED = ("train.seed",)


@dataclass(frozen=True)
class Repeat:
    """One repetition of a job: a fold, a seed, or a draw of labels."""

    fold: int | None
    """Number of the stratified fold, starting at 0; None for a temporal split."""
    seed: int
    per_class: int | None = None
    """How many labelled accounts of each class may be used, drawn with the seed; None for all."""

    @property
    def label(self) -> str:
        """The label in tables. Folds and draws are counted from 1 there."""
        if self.per_class is not None:
            return f"{self.per_class} per class, draw {self.seed + 1}"
        return f"seed {self.seed}" if self.fold is None else f"fold {self.fold + 1}"


@dataclass(frozen=True)
class Job:
    """One training run to perform."""

    subject: Subject
    data_digest: str
    protocol: RunProtocol
    model: str
    repeat: Repeat
    config: RunConfig
    label: str
    """The label of its table row."""
    folds: int
    """Number of stratified folds; ignored for a temporal split."""
    device: str = "auto"

    @property
    def group(self) -> str:
        """The folder of runs that are compared with each other."""
        return f"{self.subject.name.replace(':', '-')}-{self.protocol}"

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings that differ from gtea's defaults, by dotted name."""
        return _changed_settings(self.config, default_config(model_config(self.model), self.subject.task))

    @cached_property
    def stem(self) -> str:
        """The name of the outcome file and of the model folder."""
        folds = None if self.repeat.fold is None else self.folds
        identity = json.dumps([self.data_digest, self.model, self.settings, folds], sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        fold = "" if self.repeat.fold is None else f"fold{self.repeat.fold}-"
        few = "" if self.repeat.per_class is None else f"n{self.repeat.per_class}-"
        return f"{self.model}-{few}{fold}seed{self.repeat.seed}-{digest}"

    def outcome_file(self, out: Path) -> Path:
        """The path of the outcome."""
        return out / "runs" / self.group / f"{self.stem}.json"

    def model_folder(self, out: Path) -> Path:
        """The folder of the training run and its model."""
        return out / "models" / self.group / self.stem

    def to_json(self) -> dict[str, Any]:
        """For a process elsewhere."""
        subject = {
            name: str(value) if isinstance(value, Path) else value for name, value in asdict(self.subject).items()
        }
        return {**asdict(self), "subject": subject, "config": self.config.to_json()}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Job:
        """From another process."""
        subject = content["subject"]
        paths = {name: Path(subject[name]) for name in ("store", "labels") if subject[name] is not None}
        return Job(
            **{
                **content,
                "subject": Subject(**{**subject, **paths}),
                "repeat": Repeat(**content["repeat"]),
                "config": config_from_json(content["config"]),
            }
        )

    def request(self) -> NodeRequest | LinkRequest:
        """The same training request that ``gtea train`` would make."""
        subject = self.subject
        if subject.labels is None:
            return LinkRequest.read(subject.store, base=self.config, device=self.device)
        request = NodeRequest.read(
            subject.store,
            subject.labels,
            positive=subject.positive,
            unknown=subject.unknown,
            base=self.config,
            device=self.device,
            fold=None if self.repeat.fold is None else Fold(self.repeat.fold, self.folds),
            split_by="time",  # tables by time are to be such, however little they can show
        )
        if self.repeat.per_class is None:
            return request
        return FewLabelsRequest.draw(request, subject.name, self.repeat.per_class, self.repeat.seed)


@dataclass(frozen=True)
class Outcome:
    """The result of a run: everything that tables and figures need."""

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
    """Whether the run was resumed after a kill. ``seconds`` then counts from the last resume."""
    threads: int
    arithmetic: str
    settings: dict[str, Any]
    """The settings that differ from gtea's defaults."""
    config: dict[str, Any]
    data_digest: str
    split: dict[str, Any]
    versions: dict[str, str]
    created: str
    per_class: int | None = None
    """How many labelled accounts of each class were used; None for all."""

    @property
    def label(self) -> str:
        """The label of the fold, seed or draw."""
        return Repeat(self.fold, self.seed, self.per_class).label


def _changed_settings(config: RunConfig, base: RunConfig) -> dict[str, Any]:
    """The settings that differ from ``base``, by dotted name. The seed is ignored."""
    values, defaults = _flatten(config.to_json()), _flatten(base.to_json())
    return {name: value for name, value in values.items() if value != defaults[name] and name not in _IGNORED}


_OUTCOME = ObjectOf(
    {
        **dict.fromkeys(("data", "task", "protocol", "model", "arithmetic", "data_digest", "created"), str),
        **dict.fromkeys(("seed", "best_epoch", "epochs", "threads"), int),
        **dict.fromkeys(("test", "validation"), Every(object)),
        **{"fold": Either(int, None), "state": Words("finished", "failed"), "reason": Either(str, None)},
        **{"seconds": Number, "interrupted": bool, "versions": Every(str)},
        **{"settings": Every(object), "config": Every(Every(object)), "split": Every(object)},
    },
    {"per_class": Either(int, None)},
    others=object,
)
"""What the record of a run must be."""


def save_outcome(path: Path, outcome: Outcome) -> None:
    """Write an outcome atomically."""
    write_json(path, asdict(outcome))


def read_outcome(job: Job, out: Path) -> Outcome | None:
    """Read the outcome of a completed job, or return None.

    Raises ModelError if the outcome was made with other defaults or with a setting that no longer exists. The digest in
    the file name doesn't cover those.
    """
    path = job.outcome_file(out)
    try:
        record = read_json(path, _OUTCOME, finite=False)
        outcome = Outcome(**{name: record[name] for name in Outcome.__dataclass_fields__ if name in record})
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Delete it to repeat the run.") from error
    then, now = _flatten(outcome.config), _flatten(json.loads(json.dumps(job.config.to_json())))
    for name in (name for name in now if name in then and name not in _IGNORED and then[name] != now[name]):
        raise ModelError(
            f"{path}: was made with {name} = {then[name]!r} (now it is {now[name]!r}: a default has changed). "
            "Delete the file to repeat the run, or choose another --out."
        )
    for name in (name for name in then if name not in now and then[name]):
        raise ModelError(
            f"{path}: was made with {name} = {then[name]!r}, which this version of gtea no longer has. "
            "Delete the file to repeat the run, or choose another --out."
        )
    return outcome


def _flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{key}": value for section, keys in config.items() for key, value in keys.items()}
