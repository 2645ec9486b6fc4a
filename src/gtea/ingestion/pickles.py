"""Python pickles are told by their content and never opened: to load one is to run whatever its author put in.

Some graphs are published so (networkx graphs, ``MulDiGraph.pkl`` and ``.gpickle`` among them). Whoever has one is told
how to get the events out of it safely.
"""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from gtea.errors import DataError

_BINARY = re.compile(rb"\x80[\x02-\x05]")
# Older protocols are text. So that no table is taken for one, it must also end as a pickle does, with a dot.
_TEXT = re.compile(rb"c[A-Za-z_][\w.]*\n[A-Za-z_]\w*\n|\([dl]p\d+\n|[\]}(]q\x00")
_STOP = b"."
_HEAD = 256
_SCRIPT = (
    "import csv, pickle; graph = pickle.load(open('{name}', 'rb')); "
    "rows = csv.writer(open('transactions.csv', 'w')); rows.writerow(['from', 'to', 'timestamp', 'value']); "
    "rows.writerows([u, v, e['timestamp'], e['amount']] for u, v, e in graph.edges(data=True))"
)


def is_pickle(path: Path) -> bool:
    """Whether a file, perhaps gzipped or under bzip2, begins (and, if it is text, ends) as a pickle does."""
    with path.open("rb") as stream:
        magic = stream.read(3)
    if magic.startswith(b"\x1f\x8b"):
        return _begins_as_pickle(lambda: cast(BinaryIO, gzip.GzipFile(path)))
    if magic == b"BZh":
        return _begins_as_pickle(lambda: cast(BinaryIO, bz2.BZ2File(path)))
    return _begins_as_pickle(lambda: path.open("rb"), path)


def refuse_pickle(path: Path) -> None:
    """Refuse a pickle, and say how to convert it."""
    if not is_pickle(path):
        return
    raise DataError(
        f"{path.name}: is a Python pickle, and gtea opens none: loading a pickle runs any code that its author put in "
        "it. Convert it in a throw-away environment, without network and without your files, where networkx is "
        "installed, to a CSV file of from, to, timestamp, value. For a graph whose edges have timestamp and amount:\n"
        f'  python -c "{_SCRIPT.format(name=path.name)}"\n'
        "Then give gtea transactions.csv (and the labels as a CSV file of account, label)."
    )


def _begins_as_pickle(opened: Callable[[], BinaryIO], path: Path | None = None) -> bool:
    try:
        with opened() as stream:
            head = stream.read(_HEAD)
    except (OSError, EOFError):  # a damaged archive is somebody else's finding
        return False
    if _BINARY.match(head):
        return True
    return bool(_TEXT.match(head)) and (path is None or _last_byte(path) == _STOP)


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read(1)
