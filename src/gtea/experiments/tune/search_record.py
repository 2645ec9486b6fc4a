"""A search's folder: what is searched, on what data, that a resumed search is the same search, and that it is alone.

    DIR/tune.json       what was asked for; written first
    DIR/trials/         one JSON file for each trial that has ended
    DIR/running/        the run of the trial that has not; it goes when the trial has ended
    DIR/trials.csv      all trials in a table, and trials.png and .svg in a picture
    DIR/best.toml       the settings of the best, for gtea train --config
    DIR/model/          the model trained with them, if asked for

Everything but tune.json, trials/ and running/ can be made again from these.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.runtime.files import draft_of, write_json
from gtea.training.run_record import require_same, versions

SEARCH = "tune.json"
_RUNNING = "running"


def enter(out: Path, asked: Mapping[str, Any], *, resume: bool) -> None:
    """Begin a search, or see to it that the one that goes on is the same."""
    if resume and (out / SEARCH).exists():
        require_same(out, _begun(out / SEARCH), asked)
        return
    if out.exists() and not _is_free(out):
        if (out / SEARCH).exists():
            raise UsageError(f"{out}: holds a search already. Go on with it by --resume, or choose another --out.")
        raise UsageError(f"{out}: exists. Choose another --out.")
    write_json(out / SEARCH, {**asked, "versions": versions()})


def busy(out: Path) -> UsageError:
    """What to say when another process searches in the folder."""
    return UsageError(f"{out}: another process is searching there. Wait for it, or choose another --out.")


def run_folder(out: Path, number: int) -> Path:
    """Where a trial trains."""
    return out / _RUNNING / f"{number:04}"


def sweep(out: Path, ended: int) -> None:
    """Remove the runs of trials that have ended: their weights are of no use to anybody."""
    for folder in (out / _RUNNING).glob("*"):
        if folder.name.isdecimal() and int(folder.name) <= ended:
            shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        (out / _RUNNING).rmdir()


def _begun(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Begin the search again in another folder.") from error


def _is_free(out: Path) -> bool:
    """Whether a folder holds nothing but what a search leaves that was killed before it began."""
    return out.is_dir() and all(entry.name == draft_of(out / SEARCH).name for entry in out.iterdir())
