"""What generators of synthetic payments share: columns of events, random streams, shuffled ids, and the two files."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.runtime.files import atomic_write, locked

# 32 bits are enough, and take half the memory
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Counts = NDArray[np.int64]

DAY = 86_400
_ROWS = 1 << 20  # rows generated and written at a time
_EPOCH = 1_704_067_200  # Monday 1 January 2024, 00:00 UTC
_SCHEMA = pa.schema({"payer": pa.string(), "payee": pa.string(), "timestamp": pa.int64(), "amount": pa.float64()})


@dataclass(frozen=True)
class Events:
    """Payments as columns: account numbers, seconds since the first day, unrounded amounts."""

    payer: Ints
    payee: Ints
    second: Ints
    amount: Floats


def require(holds: bool, rule: str, got: float, example: str) -> None:
    """Refuse a spec that breaks a rule, with a value that does not.

    Raises:
        UsageError: The rule doesn't hold.
    """
    if not holds:
        raise UsageError(f"{rule} (got {got}). Try {example}.")


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A separate generator for each purpose, so that an additional draw for one doesn't change the others."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(purpose.encode())])))


def share_out(total: int, weights: NDArray[np.float64]) -> Counts:
    """Split ``total`` into whole numbers in proportion to ``weights``. They add up exactly."""
    cumulative = np.cumsum(weights)
    shares: Counts = np.diff(np.floor(cumulative / cumulative[-1] * total).astype(np.int64), prepend=0)
    return shares


def shuffled_ids(accounts: int, seed: int) -> pa.Array:
    """An id like ``A0001234`` for each account number, shuffled."""
    width = max(7, len(str(accounts - 1)))
    number = pa.array(stream(seed, "ids").permutation(accounts)).cast(pa.string())
    return pc.binary_join_element_wise("A", pc.utf8_lpad(number, width, "0"), "")


def transaction_tables(events: Events, ids: pa.Array) -> Iterator[pa.Table]:
    """Yield the events as tables of about a million rows, in time order. Amounts are in whole cents, at least one."""
    bits = len(events.second).bit_length()
    # the row number in the low bits makes each key unique, so any sort gives the same order on every machine
    keys = events.second.astype(np.int64)
    keys <<= bits
    keys |= np.arange(len(keys))
    keys.sort()
    for start in range(0, len(keys), _ROWS):
        key = keys[start : start + _ROWS]
        order = key & ((1 << bits) - 1)
        cents = np.rint(100 * events.amount[order]).astype(np.float64)
        yield pa.table(
            {
                "payer": ids.take(pa.array(events.payer[order])),
                "payee": ids.take(pa.array(events.payee[order])),
                "timestamp": (key >> bits) + _EPOCH,
                "amount": np.maximum(cents, 1) / 100,
            },
            schema=_SCHEMA,
        )


def write_files(tables: Iterator[pa.Table], labels: pa.Table, out: Path) -> tuple[Path, Path]:
    """Write ``out/transactions.parquet`` and ``out/labels.csv`` and return their paths.

    Both are written to temporary files and renamed, so that a reader never sees an incomplete file. The folder is
    locked: the labels of one process must not end up with the transactions of another.
    """
    _make_folder(out)
    paths = out / "transactions.parquet", out / "labels.csv"
    busy = UsageError(f"{out}: another gtea process is writing there. Wait for it, or choose another --out.")
    with (
        locked(out, busy),
        atomic_write(paths[0]) as transactions_file,
        atomic_write(paths[1]) as labels_file,
    ):
        _write_parquet(tables, transactions_file)
        pacsv.write_csv(labels, labels_file, pacsv.WriteOptions(quoting_style="none"))
    return paths


def _write_parquet(tables: Iterator[pa.Table], stream: BinaryIO) -> None:
    # times are sorted, so their differences are small; for shuffled ids, neither a dictionary nor row group
    # statistics are worth their cost
    delta, bounded = {"timestamp": "DELTA_BINARY_PACKED"}, ["timestamp"]
    with pq.ParquetWriter(
        stream, _SCHEMA, use_dictionary=False, column_encoding=delta, write_statistics=bounded
    ) as writer:
        for table in tables:
            writer.write_table(table)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{out}: must be a folder (got a file). Choose another.") from error
