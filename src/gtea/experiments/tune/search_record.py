"""The folder of a search. Checks that a resumed search has the same settings and data.

    DIR/tune.json       settings and data of the search; written first
    DIR/trials/         one JSON file per completed trial
    DIR/running/        the training run of the current trial; removed when the trial completes
    DIR/trials.csv      table of all trials, with a figure in trials.png and trials.svg
    DIR/best.toml       the best settings, for gtea train --config
    DIR/model/          the model trained with the best settings (--final)

Everything else can be rebuilt from tune.json, trials/ and running/.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.runtime.files import holds_only_drafts, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every
from gtea.training.run_record import require_same, versions

_SEARCH = "tune.json"
_RUNNING = "running"


def begin_or_resume(out: Path, search: Mapping[str, Any], *, resume: bool) -> None:
    """Start a new search, or check that the one to resume has the same settings and data."""
    if out.exists() and not holds_only_drafts(out / _SEARCH):
        if (out / _SEARCH).exists():
            if resume:
                require_same(out, _read(out / _SEARCH), search)
                return
            raise UsageError(f"{out}: already holds a search. Continue it with --resume, or choose another --out.")
        raise UsageError(f"{out}: already exists. Choose another --out.")
    write_json(out / _SEARCH, {**search, "versions": versions()})


def busy_error(out: Path) -> UsageError:
    """The error for a folder that another process is searching in."""
    return UsageError(f"{out}: another process is running a search there. Wait for it, or choose another --out.")


def run_folder(out: Path, number: int) -> Path:
    """The folder of a trial's training run."""
    return out / _RUNNING / f"{number:04}"


def remove_completed_runs(out: Path, num_completed: int) -> None:
    """Delete the training runs of completed trials. Their weights are not used again."""
    for folder in (out / _RUNNING).glob("*"):
        if folder.name.isdecimal() and int(folder.name) <= num_completed:
            shutil.rmtree(folder, ignore_errors=True)  # another job of the same search may be deleting it
    with contextlib.suppress(OSError):
        (out / _RUNNING).rmdir()


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path, Every(object)))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Start the search again in another folder.") from error
