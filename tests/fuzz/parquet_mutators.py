"""Changes of Parquet files: bytes of pages and of the footer, and valid files with columns nobody expects."""

from __future__ import annotations

import decimal
import io
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.byte_mutators import mutate_bytes, mutate_integers

_FOOTER = 8
_LARGE = 2**63 - 1


def mutate_parquet(rng: random.Random, content: bytes) -> bytes:
    """Change some bytes of a Parquet file, most often of its footer, or write another column into it."""
    kind = rng.random()
    if kind < 0.3:
        return _other_columns(rng, content)
    if kind < 0.6:
        return mutate_bytes(rng, content)
    length = int.from_bytes(content[-_FOOTER:-4], "little")
    start = max(0, len(content) - _FOOTER - length)
    footer = rng.choice([mutate_bytes, mutate_integers])(rng, content[start:-_FOOTER])
    size = len(footer) if rng.random() < 0.9 else rng.choice([0, 2**31, 2**32 - 1, len(content)])
    return content[:start] + footer + size.to_bytes(4, "little") + content[-4:]


def _other_columns(rng: random.Random, content: bytes) -> bytes:
    """Give one column other values, another type, another name, or take it away."""
    try:
        table = pq.read_table(io.BytesIO(content), use_threads=False)
    except (pa.ArrowException, OSError):
        return mutate_bytes(rng, content)
    if not table.num_columns:
        return mutate_bytes(rng, content)
    place = rng.randrange(table.num_columns)
    name = table.column_names[place]
    match rng.randrange(8):
        case 0:
            table = table.remove_column(place)
        case 1:
            table = table.append_column(name, table.column(place))
        case 2:
            names = [*table.column_names]
            names[place] = rng.choice(["", " ", name.upper(), "a\0b", "x" * 5000, f"{name}=1"])
            table = table.rename_columns(names)
        case 3:
            table = table.slice(rng.randrange(3), rng.choice([0, 1, 5]))
        case _:
            table = table.set_column(place, name, _column(rng, len(table)))
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, compression=rng.choice(["none", "snappy", "zstd", "gzip"]))
    except (pa.ArrowException, OSError):
        return mutate_bytes(rng, content)
    return sink.getvalue()


def _column(rng: random.Random, length: int) -> pa.Array:
    values, kind = rng.choice(_COLUMNS)(rng)
    return pa.array([rng.choice(values) for _ in range(length)], kind)


_COLUMNS: tuple[Callable[[random.Random], tuple[list[Any], Any]], ...] = (
    lambda _: ([None], pa.null()),
    lambda _: ([1, None], pa.int8()),
    lambda _: ([2**64 - 1, 0], pa.uint64()),
    lambda _: ([_LARGE, -_LARGE, 0], pa.int64()),
    lambda rng: ([_LARGE, -_LARGE, 0], pa.timestamp(rng.choice(["s", "ms", "us", "ns"]), rng.choice([None, "UTC"]))),
    lambda _: ([2**31 - 1, -(2**31), 0], pa.date32()),
    lambda rng: ([0, 1], rng.choice([pa.time64("us"), pa.duration("s"), pa.date64()])),
    lambda _: ([decimal.Decimal("1.50"), None], pa.decimal128(20, 2)),
    lambda _: ([decimal.Decimal(10**70), None], pa.decimal256(76, 0)),
    lambda _: ([float("nan"), float("inf"), 1e300, -0.0], pa.float64()),
    lambda _: ([b"\xff", b"", None], pa.binary()),
    lambda _: ([b"abcd"], pa.binary(4)),
    lambda _: (["", "a\0b", "a\nb", "é", "x" * 3000], pa.string()),
    lambda _: (["a", None], pa.dictionary(pa.int32(), pa.string())),
    lambda _: ([[1], [], None], pa.list_(pa.int64())),
    lambda _: ([{"x": 1}, None], pa.struct([("x", pa.int64())])),
    lambda _: ([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    lambda _: ([True, False, None], pa.bool_()),
)
