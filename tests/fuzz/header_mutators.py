"""Changes of files that hold a JSON header and arrays: safetensors, the state of live scores, the files of tasks."""

from __future__ import annotations

import random
import struct

from tests.fuzz.byte_mutators import BOUNDS, mutate_bytes
from tests.fuzz.json_mutators import mutate_json

_STATE = 8 + 32
_TAIL = 8 + 32 + len(b"gteapart")


def mutate_safetensors(rng: random.Random, content: bytes) -> bytes:
    """Change the JSON in front of the tensors, and most often the length before it accordingly."""
    (size,) = struct.unpack("<Q", content[:8].ljust(8, b"\0"))
    header = mutate_json(rng, content[8 : 8 + size])
    return _length(rng, header) + header + content[8 + size :]


def mutate_state(rng: random.Random, content: bytes) -> bytes:
    """The same for a state, which has a digest between the length and the header."""
    if len(content) < _STATE:
        return mutate_bytes(rng, content)
    size = int.from_bytes(content[:8], "little")
    header = mutate_json(rng, content[_STATE : _STATE + size])
    return _length(rng, header) + content[8:_STATE] + header + content[_STATE + size :]


def mutate_part(rng: random.Random, content: bytes) -> bytes:
    """The same for the file of a task, whose header comes last, with its length and digest behind it."""
    if len(content) < _TAIL:
        return mutate_bytes(rng, content)
    end = len(content) - _TAIL
    first = end - int.from_bytes(content[end : end + 8], "little")
    if first < 0:
        return mutate_bytes(rng, content)
    header = mutate_json(rng, content[first:end])
    return content[:first] + header + _length(rng, header) + content[end + 8 :]


def _length(rng: random.Random, header: bytes) -> bytes:
    return struct.pack("<Q", len(header) if rng.random() < 0.9 else rng.choice(BOUNDS) % 2**64)
