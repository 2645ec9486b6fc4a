"""Where copies of the known data sets are: the user's own (``GTEA_DATA``), and what was downloaded.

GTEA_DATA/NAME/...                 the user's copies; gtea only reads there
~/.cache/gtea/datasets/NAME/...    downloads (under XDG_CACHE_HOME, where that is set)
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
    """Where downloads go unless somebody says otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "gtea" / "datasets"


def find_copy(dataset: Dataset, given: Path | None = None) -> Copy | None:
    """A whole copy of a data set: in the folder given, or else in the user's own and then among the downloads."""
    for folder in _folders(dataset, given):
        events = next(((folder / file, each) for each in dataset.layouts for file in each.files
                       if (folder / file).is_file()), None)  # fmt: skip
        labels = None if dataset.labels is None else folder / dataset.labels.file
        if events and (labels is None or labels.is_file()):
            return Copy(*events, labels)
    return None


def require_copy(dataset: Dataset, given: Path | None = None) -> Copy:
    """A whole copy; where there is none, say what was looked for, where, and what to do."""
    if given is not None and not given.is_dir():
        raise UsageError(f"--from {given}: no such folder. Name the one that holds {' and '.join(dataset.files)}.")
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
    """Where a user may put the files, for the ends of messages."""
    places = " and ".join(f"GTEA_DATA/{dataset.name}/{file}" for file in dataset.files)
    set_to = "" if os.environ.get("GTEA_DATA") else " (GTEA_DATA is not set: it names a folder of your own)"
    return f"into {places}{set_to}"


def _folders(dataset: Dataset, given: Path | None) -> list[Path]:
    if given is not None:
        return [given / dataset.name, given]
    own = os.environ.get("GTEA_DATA")
    return [*([Path(own) / dataset.name] if own else []), download_folder() / dataset.name]


def _wanted(dataset: Dataset) -> list[str]:
    events = " or ".join(file for layout in dataset.layouts for file in layout.files)
    return [events, *([dataset.labels.file] if dataset.labels else [])]


def _found(folders: list[Path]) -> str:
    there = {folder: sorted(entry.name for entry in folder.iterdir()) for folder in folders if folder.is_dir()}
    shown = [
        f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''} in {at}" for at, names in there.items() if names
    ]
    return "; ".join(shown) or f"nothing in {' and '.join(map(str, folders))}"


def _refuse_pickles_in(folder: Path) -> None:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file():
            refuse_pickle(path)
