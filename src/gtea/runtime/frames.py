"""Read a frame: anything with ``__arrow_c_stream__``, such as those of pandas, polars, pyarrow and DuckDB."""

from __future__ import annotations

import pyarrow as pa

from gtea.errors import DataError

# Raised about values that have no type in Arrow: whole numbers beyond 64 bits, half of a letter, a mixture.
_FAULTS = (pa.ArrowException, OverflowError, TypeError, ValueError)


def frame_reader(frame: object, name: str) -> pa.RecordBatchReader:
    """The batches of a frame.

    Args:
        name: What an error calls it.
    """
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except _FAULTS as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{name}: can't be converted to Arrow ({first}). Give each column a single type.") from error
