"""A file that holds the state of live scores, so that the next start need not score everything again.

The file is a cache. It says which model, which store and how many events it is of, and each of its arrays has a digest.
If anything does not fit, the state is not read, and everything is computed from the store. It is replaced in one step.

    8 bytes   the length of the header, little-endian
    32 bytes  the sha256 of the header
    header    JSON: what the state is of; name, type, shape, offset and sha256 of each array
    arrays    one after the other
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.array_table import StoredArray, stored_arrays
from gtea.runtime.files import atomic_write
from gtea.runtime.json_shape import ObjectOf, misshapen, strict_json
from gtea.runtime.plain_files import open_plain

_FORMAT = {"format": "gtea-live", "format_version": 1}
_LENGTH, _DIGEST = 8, 32
_MOST_HEADER = 1 << 22


def write_state(
    path: Path, identity: Mapping[str, Any], facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a state.

    Args:
        identity: What it is of: it is only read for the very same.
        facts: What else to keep with it.
    """
    described, offset = {}, 0
    for name, array in arrays.items():
        digest = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
        described[name] = StoredArray(array.dtype, array.shape, offset, digest).to_json()
        offset += array.nbytes
    document = {**_FORMAT, "identity": dict(identity), "facts": dict(facts), "arrays": described}
    header = json.dumps(document, sort_keys=True).encode()
    with atomic_write(path) as stream:
        stream.write(len(header).to_bytes(_LENGTH, "little"))
        stream.write(hashlib.sha256(header).digest())
        stream.write(header)
        for array in arrays.values():
            stream.write(np.ascontiguousarray(array).data)


def read_state(
    path: Path, identity: Mapping[str, Any], shape: Any
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """The facts and the arrays of a state. None if there is none, or if it is of something else or damaged.

    Args:
        shape: What the facts must be, as in :mod:`gtea.runtime.json_shape`.
    """
    try:
        with (
            open_plain(path.parent, path.name, through_link=True) as file,
            os.fdopen(os.dup(file.number), "rb") as stream,
        ):
            length = int.from_bytes(stream.read(_LENGTH), "little")
            if length > min(_MOST_HEADER, file.size):
                raise ValueError("its header is cut")
            digest, content = stream.read(_DIGEST), stream.read(length)
            if hashlib.sha256(content).digest() != digest:
                raise ValueError("its header has another digest")
            header = strict_json(content)
            expected = {**_FORMAT, "identity": json.loads(json.dumps(dict(identity)))}
            if not isinstance(header, dict) or any(header.get(name) != value for name, value in expected.items()):
                raise ValueError("it is of another model, store or version")
            fault = misshapen(header, ObjectOf({"facts": shape, "arrays": object}, others=object), "header")
            if fault is not None:
                raise ValueError(fault)
            start = _LENGTH + _DIGEST + length
            described = stored_arrays(header["arrays"], file.size - start)
            return header["facts"], {name: _read(stream, start, each) for name, each in described.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logging.getLogger("gtea").warning("%s: is not used (%s); all accounts are scored again", path.name, error)
        return None


def _read(stream: Any, start: int, stored: StoredArray) -> NDArray[Any]:
    stream.seek(start + stored.offset)
    array = np.fromfile(stream, stored.dtype, math.prod(stored.shape))
    if hashlib.sha256(array.data).hexdigest() != stored.sha256:
        raise ValueError("an array has another digest")
    return array.reshape(stored.shape)
