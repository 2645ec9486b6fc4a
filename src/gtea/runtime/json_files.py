"""Read a JSON file that may come from anybody: a regular file, not too large, of the shape that its reader demands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gtea.runtime.json_shape import misshapen, strict_json
from gtea.runtime.plain_files import read_plain

_MOST = 1 << 28


def read_json(path: Path, shape: Any, *, most: int = _MOST, finite: bool = True) -> Any:
    """The content of a JSON file.

    Args:
        shape: What it must be, as in :mod:`gtea.runtime.json_shape`.
        most: How many bytes it may have.
        finite: Whether NaN and infinity are refused, which JSON doesn't have, but Python writes.

    Raises:
        OSError: It can't be read, or is no regular file.
        ValueError: It is not JSON, or has another shape.
    """
    content = strict_json(read_plain(path.parent, path.name, most, through_link=True), finite=finite)
    fault = misshapen(content, shape, path.name)
    if fault is not None:
        raise ValueError(fault)
    return content
