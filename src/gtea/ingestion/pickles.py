"""Detect Python pickles by their content, and refuse them: loading a pickle runs any code that it contains.

Some graphs are published as pickles (networkx graphs such as ``MulDiGraph.pkl`` and ``.gpickle`` files). The error
message explains how to extract the events safely.
"""

from __future__ import annotations

import bz2
import gzip
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from gtea.errors import DataError

_BINARY = re.compile(rb"\x80[\x02-\x05]")
# Protocols 0 and 1. So that a table is not taken for a pickle, the file must also end with a pickle's last byte, a dot.
_TEXT = re.compile(rb"c[A-Za-z_][\w.]*\n[A-Za-z_]\w*\n|\([dl]p\d+\n|[\]}(]q\x00")
_STOP = b"."
_HEAD = 256
_SCRIPT = (
    "import csv, pickle, sys; graph = pickle.load(open(sys.argv[1], 'rb')); "
    "rows = csv.writer(open('transactions.csv', 'w')); rows.writerow(['from', 'to', 'timestamp', 'value']); "
    "rows.writerows([u, v, e['timestamp'], e['amount']] for u, v, e in graph.edges(data=True))"
)


def is_pickle(path: Path) -> bool:
    """Whether a file, plain or compressed with gzip or bzip2, starts (and in older protocols ends) like a pickle."""
    with path.open("rb") as stream:
        magic = stream.read(3)
    if magic.startswith(b"\x1f\x8b"):
        return _looks_like_pickle(lambda: cast(BinaryIO, gzip.GzipFile(path)))
    if magic == b"BZh":
        return _looks_like_pickle(lambda: cast(BinaryIO, bz2.BZ2File(path)))
    return _looks_like_pickle(lambda: path.open("rb"), path)


def refuse_pickle(path: Path) -> None:
    """Raise an error if a file is a pickle, and explain how to convert it."""
    if not is_pickle(path):
        return
    raise DataError(
        f"{path.name}: is a Python pickle, which gtea never opens, because loading a pickle runs any code in it. "
        "Convert it in a throw-away environment that has networkx, but no network access and none of your files, to a "
        "CSV file of from, to, timestamp, value. For a graph whose edges have timestamp and amount:",
        f'  python -c "{_SCRIPT}" {shlex.quote(path.name)}',
        "Then give gtea transactions.csv (and the labels as a CSV file of account, label).",
    )


def _looks_like_pickle(opened: Callable[[], BinaryIO], path: Path | None = None) -> bool:
    try:
        with opened() as stream:
            head = stream.read(_HEAD)
    except (OSError, EOFError):  # a damaged archive is reported when it is read
        return False
    if _BINARY.match(head):
        return True
    return bool(_TEXT.match(head)) and (path is None or _last_byte(path) == _STOP)


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as stream:
        stream.seek(-1, 2)
        return stream.read(1)
