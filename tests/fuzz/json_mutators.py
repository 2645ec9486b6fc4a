"""Changes of JSON that leave it JSON: other types, other values, missing, new and repeated names."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from tests.fuzz.byte_mutators import BOUNDS, mutate_bytes

_TEXTS = (
    "", " ", "\0", "a\nb", "\ud800", "../../outside", "/etc/passwd", "v000002", "|O", "<i8", ">f8", "O", "V4",
    "é" * 300, "nan", "0", "-1", "1e999", "true", "x" * 70_000, "\u202e", "%s", "'; drop",
    "step", "ns", "us", "nodes", "links",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, [], {}, [[]], [0], {"a": 0}, 0.5, -0.0, 1e308, 5e-324, float("nan"), float("inf"), 10**400,
    *_TEXTS, *BOUNDS,
)  # fmt: skip


def mutate_json(rng: random.Random, content: bytes) -> bytes:
    """Change a few values or names of a document."""
    if rng.random() < 0.02:
        return rng.choice([b"[" * 100_000, b'{"a":' * 5_000 + b"0" + b"}" * 5_000, b"null", b"", b"7", b"1" * 5_000])
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return mutate_bytes(rng, content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        document = _changed(rng, document)
    text = json.dumps(document)
    if rng.random() < 0.05:
        text = text.replace(": ", ": 0, ", 1) if rng.random() < 0.5 else text.replace("{", '{"format": 1, ', 1)
    return text.encode("utf-8", "surrogatepass")


def _changed(rng: random.Random, document: Any) -> Any:
    document = copy.deepcopy(document)
    holders = list(_holders(document))
    if not holders:
        return rng.choice(_VALUES)
    holder = rng.choice(holders)
    place: Any = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    other = rng.choice(holders)
    value = holder[place]
    match rng.randrange(10):
        case 0:
            del holder[place]
        case 1 if isinstance(holder, dict):
            holder[rng.choice([*_TEXTS, f"{place}x", str(place)[:-1]])] = holder.pop(place)
        case 2 if isinstance(holder, dict):
            holder[rng.choice(["extra", *_TEXTS])] = rng.choice(_VALUES)
        case 1 | 2:
            holder.insert(rng.randint(0, len(holder)), rng.choice([value, *_VALUES]))
        case 3:
            holder[place] = copy.deepcopy(rng.choice(list(other.values()) if isinstance(other, dict) else other))
        case 4 | 5 if isinstance(value, int) and not isinstance(value, bool):
            holder[place] = value + rng.choice([-1, 1, value, -2 * value, 2**32, -(2**32)])
        case 4 | 5 if isinstance(value, float):
            holder[place] = value * rng.choice([-1.0, 2.0, 1e30, 1e-30]) + rng.choice([0.0, 1.0])
        case 6 if isinstance(value, str):
            holder[place] = mutate_bytes(rng, value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        case _:
            holder[place] = copy.deepcopy(rng.choice(_VALUES))
    return document


def _holders(document: Any) -> list[Any]:
    """All objects and lists that hold something."""
    found, waiting = [], [document]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list) and each:
            found.append(each)
            waiting += each.values() if isinstance(each, dict) else each
    return found
