"""Find copies of the public data sets: the user's own (``GTEA_DATA``), and downloads.

GTEA_DATA/NAME/...                 the user's copies; gtea only reads there
~/.cache/gtea/datasets/NAME/...    downloads (under XDG_CACHE_HOME, if that is set)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gtea.datasets.catalog import Dataset, Layout
from gtea.errors import DataError, UsageError
from gtea.ingestion.pickles import refuse_pickle


@dataclass(frozen=True)
class Copy:
    """The files of a data set on this machine."""

    events: Path
    layout: Layout
    labels: Path | None


def download_folder() -> Path:
    """The default folder for downloads."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "gtea" / "datasets"


def find_copy(dataset: Dataset, given: Path | None = None) -> Copy | None:
    """Find a complete copy of a data set: in the given folder, or else in GTEA_DATA and then in the downloads."""
    for folder in _folders(dataset, given):
        events = next(((folder / file, layout) for layout in dataset.layouts for file in layout.files
                       if (folder / file).is_file()), None)  # fmt: skip
        labels = None if dataset.labels is None else folder / dataset.labels.file
        if events and (labels is None or labels.is_file()):
            return Copy(*events, labels)
    return None


def require_copy(dataset: Dataset, given: Path | None = None) -> Copy:
    """Like ``find_copy``, but raises an error that explains what is missing, and where to put it."""
    if given is not None and not given.is_dir():
        raise UsageError(f"--from {given}: no such folder. Name the folder that has {' and '.join(dataset.files)}.")
    found = find_copy(dataset, given)
    if found is not None:
        refuse_pickle(found.events)
        return found
    folders = _folders(dataset, given)
    for folder in folders:
        _refuse_pickles_in(folder)
    download = f"Run gtea datasets fetch {dataset.name}, or put" if dataset.url else "Put"
    raise DataError(
        f"{dataset.name}: needs {' and '.join(_wanted(dataset))} (found {_found(folders)}). "
        f"{download} {'it' if len(dataset.files) == 1 else 'them'} {by_hand(dataset)}, or name the folder with --from."
    )


def by_hand(dataset: Dataset) -> str:
    """Where the user can put the files, as the end of an error message."""
    places = " and ".join(f"GTEA_DATA/{dataset.name}/{file}" for file in dataset.files)
    hint = "" if os.environ.get("GTEA_DATA") else " (GTEA_DATA is not set: set it to a folder of your own)"
    return f"into {places}{hint}"


def _folders(dataset: Dataset, given: Path | None) -> list[Path]:
    if given is not None:
        return [given / dataset.name, given]
    own = os.environ.get("GTEA_DATA")
    return [*([Path(own) / dataset.name] if own else []), download_folder() / dataset.name]


def _wanted(dataset: Dataset) -> list[str]:
    events = " or ".join(file for layout in dataset.layouts for file in layout.files)
    return [events, *([dataset.labels.file] if dataset.labels else [])]


def _found(folders: list[Path]) -> str:
    found = {folder: sorted(entry.name for entry in folder.iterdir()) for folder in folders if folder.is_dir()}
    shown = [
        f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''} in {at}" for at, names in found.items() if names
    ]
    return "; ".join(shown) or f"nothing in {' and '.join(map(str, folders))}"


def _refuse_pickles_in(folder: Path) -> None:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file():
            refuse_pickle(path)
