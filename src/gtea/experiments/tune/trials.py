"""Records of completed trials: one JSON file per trial, and one CSV table of all trials."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gtea.errors import ModelError
from gtea.runtime.files import atomic_write, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Either, Every, Natural, Number, ObjectOf, Words

FOLDER = "trials"
TrialState = Literal["finished", "pruned", "failed"]
_TRIAL = ObjectOf(
    {
        "number": Natural,
        "settings": Every(object),
        "state": Words("finished", "pruned", "failed"),
        "curve": [Number],
        "seconds": Number,
        "reason": Either(str, None),
    },
    others=object,
)


@dataclass(frozen=True)
class Trial:
    """One training run and its validation metric."""

    number: int
    """Trial number, starting at 1."""
    settings: dict[str, Any]
    state: TrialState
    curve: list[float]
    """The validation metric after each epoch."""
    seconds: float
    """Run time since the start or the last resume."""
    reason: str | None = None
    """Why it failed."""

    @property
    def metric(self) -> float | None:
        """The best validation metric over all epochs; None if the trial failed."""
        return max(self.curve) if self.curve and self.state != "failed" else None

    @property
    def best_epoch(self) -> int | None:
        """The first epoch with the best metric, starting at 0."""
        return None if self.metric is None else self.curve.index(self.metric)

    def to_json(self) -> dict[str, Any]:
        """The trial as stored on disk and printed by --json."""
        return {**asdict(self), "metric": self.metric, "best_epoch": self.best_epoch, "epochs": len(self.curve)}


def save_trial(out: Path, trial: Trial) -> None:
    """Write a completed trial atomically."""
    write_json(_path(out, trial.number), trial.to_json())


def read_trials(out: Path) -> list[Trial]:
    """Read all completed trials in order."""
    trials: list[Trial] = []
    while _path(out, len(trials) + 1).exists():
        trials.append(_read(_path(out, len(trials) + 1)))
    return trials


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Finished trials, best first. Ties go to the earlier trial; pruned and failed trials are left out."""
    finished = [trial for trial in trials if trial.state == "finished"]
    return sorted(finished, key=lambda trial: -max(trial.curve))


def write_table(path: Path, trials: Sequence[Trial], metric: str) -> None:
    """Write one CSV row per trial."""
    text = io.StringIO()
    names = list(trials[0].settings)
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["trial", *names, f"validation_{metric}", "best_epoch", "epochs", "seconds", "state", "reason"])
    for trial in trials:
        results = (trial.metric, trial.best_epoch, len(trial.curve), trial.seconds, trial.state, trial.reason)
        rows.writerow([trial.number, *(trial.settings[name] for name in names), *results])
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def _path(out: Path, number: int) -> Path:
    return out / FOLDER / f"{number:04}.json"


def _read(path: Path) -> Trial:
    try:
        record = read_json(path, _TRIAL, finite=False)
        trial = Trial(**{name: record[name] for name in Trial.__dataclass_fields__})
        if _path(Path(), trial.number).name != path.name or not (trial.curve or trial.state == "failed"):
            raise ValueError("it is of another trial, or has no metric")
        return trial
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Delete it and all later ones to repeat them.") from error
