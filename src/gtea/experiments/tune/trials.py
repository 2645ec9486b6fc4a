"""Trials: what was tried and what came of it, one file each, and all of them in a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gtea.errors import ModelError
from gtea.runtime.files import atomic_write, write_json

FOLDER = "trials"
TrialState = Literal["finished", "pruned", "failed"]


@dataclass(frozen=True)
class Trial:
    """One training, metrics_of by the validation part."""

    number: int
    """From 1."""
    settings: dict[str, Any]
    state: TrialState
    curve: list[float]
    """The validation metric after each epoch."""
    seconds: float
    """Since it began, or was last resumed."""
    reason: str | None = None
    """Why it failed."""

    @property
    def metric(self) -> float | None:
        """The best of its epochs; None if it failed."""
        return max(self.curve) if self.curve and self.state != "failed" else None

    @property
    def best_epoch(self) -> int | None:
        """The first epoch with that metric, from 0."""
        return None if self.metric is None else self.curve.index(self.metric)

    def to_json(self) -> dict[str, Any]:
        """As it is kept and reported."""
        return {**asdict(self), "metric": self.metric, "best_epoch": self.best_epoch, "epochs": len(self.curve)}


def save_trial(out: Path, trial: Trial) -> None:
    """Keep a trial that has ended, whole or not at all."""
    write_json(_path(out, trial.number), trial.to_json())


def read_trials(out: Path) -> list[Trial]:
    """The trials that have ended, in their order."""
    trials: list[Trial] = []
    while _path(out, len(trials) + 1).exists():
        trials.append(_read(_path(out, len(trials) + 1)))
    return trials


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """The finished trials, the best first; of equally good ones the earlier. Those cut short are never the best."""
    finished = [trial for trial in trials if trial.state == "finished"]
    return sorted(finished, key=lambda trial: -max(trial.curve))


def write_table(path: Path, trials: Sequence[Trial], metric: str) -> None:
    """One row a trial, as CSV."""
    text = io.StringIO()
    names = list(trials[0].settings)
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["trial", *names, f"validation_{metric}", "best_epoch", "epochs", "seconds", "state", "reason"])
    for trial in trials:
        facts = (trial.metric, trial.best_epoch, len(trial.curve), trial.seconds, trial.state, trial.reason)
        rows.writerow([trial.number, *(trial.settings[name] for name in names), *facts])
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def _path(out: Path, number: int) -> Path:
    return out / FOLDER / f"{number:04}.json"


def _read(path: Path) -> Trial:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Trial(**{name: kept[name] for name in Trial.__dataclass_fields__})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Delete it and all later ones to try them again.") from error
