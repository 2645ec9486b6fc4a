"""Changes that know nothing of a format: flipped bits, lost and repeated parts, integers at their bounds."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

ByteMutator = Callable[[random.Random, bytes], bytes]

BOUNDS = tuple(
    sorted({
        edge + step
        for edge in (0, 2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**52, 2**53, 2**62, 2**63, 2**64)
        for step in (-2, -1, 0, 1, 2)
    } | {-(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1})
)  # fmt: skip
"""Integers next to which code breaks."""


def mutate_bytes(rng: random.Random, content: bytes) -> bytes:
    """One change of some bytes."""
    return rng.choice(_MUTATORS)(rng, content)


def mutate_integers(rng: random.Random, content: bytes) -> bytes:
    """Overwrite some aligned integers, as in an array of offsets or indices, with bounds or with one another."""
    size = rng.choice([4, 8])
    count = len(content) // size
    if not count:
        return mutate_bytes(rng, content)
    changed = bytearray(content[: count * size])
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        place = rng.choice([0, count - 1, rng.randrange(count)])
        other = rng.randrange(count)
        near = int.from_bytes(changed[place * size : (place + 1) * size], "little") + rng.choice([-1, 1])
        value = rng.choice([rng.choice(BOUNDS), near, rng.randrange(256), -rng.randrange(256)])
        packed = (value % 2 ** (8 * size)).to_bytes(size, "little")
        if rng.random() < 0.2:
            packed = bytes(changed[other * size : (other + 1) * size])
        changed[place * size : (place + 1) * size] = packed
    return bytes(changed) + content[count * size :]


def mutate_floats(rng: random.Random, content: bytes) -> bytes:
    """Overwrite an aligned 4-byte float with a value that is rare."""
    count = len(content) // 4
    if not count:
        return mutate_bytes(rng, content)
    place = rng.randrange(count)
    value = rng.choice([float("nan"), float("inf"), -float("inf"), 3.4e38, 1e-45, -0.0])
    return content[: 4 * place] + struct.pack("<f", value) + content[4 * place + 4 :]


def _flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(rng: random.Random, content: bytes) -> bytes:
    place, size = _place(rng, content), rng.choice([1, 2, 4, 8, 64])
    new = rng.choice([b"\0" * size, b"\xff" * size, rng.randbytes(size)])
    return content[:place] + new + content[place + size :]


def _truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.choice([0, 1, len(content) // 2, max(0, len(content) - 1), _place(rng, content)])]


def _extend(rng: random.Random, content: bytes) -> bytes:
    size = rng.choice([1, 8, 100, 5000])
    return content + rng.choice([b"\0" * size, rng.randbytes(size), content[:size]])


def _lose(rng: random.Random, content: bytes) -> bytes:
    place = _place(rng, content)
    return content[:place] + content[place + rng.choice([1, 1, 4, 8, 50]) :]


def _repeat(rng: random.Random, content: bytes) -> bytes:
    place, size = _place(rng, content), rng.choice([1, 4, 8, 50])
    return content[:place] + content[place : place + size] * rng.choice([2, 2, 3, 50]) + content[place + size :]


def _move(rng: random.Random, content: bytes) -> bytes:
    size = rng.choice([1, 4, 8, 16])
    first, second = sorted((_place(rng, content), _place(rng, content)))
    if second - first < size:
        return _flip(rng, content)
    return b"".join([
        content[:first], content[second : second + size], content[first + size : second],
        content[first : first + size], content[second + size :],
    ])  # fmt: skip


def _place(rng: random.Random, content: bytes) -> int:
    """Near an end as often as anywhere: that is where headers and footers are."""
    near = min(len(content), 64)
    return rng.choice([rng.randint(0, near), len(content) - rng.randint(0, near), rng.randint(0, len(content))])


_MUTATORS: tuple[ByteMutator, ...] = (_flip, _flip, _overwrite, _truncate, _extend, _lose, _repeat, _move)
