"""The first rows of a table, as text: enough to tell what its columns are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from gtea.errors import DataError
from gtea.ingestion.pickles import refuse_pickle
from gtea.ingestion.table_files import file_format, first_records, read_layout

Kind = Literal["time", "integer", "number", "text", "empty"]

_NUM_ROWS = 2_000
_DATE = re.compile(r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d{2}.*)?\s*")
_FOREIGN_DATE = re.compile(
    r"\s*(\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01]))([ T,].*)?\s*"
)
_INTEGER = re.compile(r"\s*[+-]?\d{1,18}\s*")
_FOREIGN_NUMBER = re.compile(r"\s*[+-]?(\d+|\d{1,3}([. ']\d{3})+),\d+\s*|\s*[+-]?\d{1,3}([, ']\d{3})+(\.\d+)?\s*")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class ColumnSample:
    """A column and its first values, as text; None where there is no value."""

    name: str
    values: Sequence[str | None]

    @cached_property
    def kind(self) -> Kind:
        """What all values look like."""
        values = [value for value in self.values if value is not None]
        if not values:
            return "empty"
        kinds: tuple[tuple[Kind, re.Pattern[str]], ...] = (("time", _DATE), ("integer", _INTEGER), ("number", _NUMBER))
        return next((kind for kind, form in kinds if all(form.fullmatch(value) for value in values)), "text")

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers."""
        return self.kind in ("integer", "number")

    @cached_property
    def has_foreign_numbers(self) -> bool:
        """Whether all values are numbers, and some have a decimal comma or signs between thousands."""
        values = [value for value in self.values if value is not None]
        foreign = [_FOREIGN_NUMBER.fullmatch(value) is not None for value in values]
        return any(foreign) and all(
            found or _NUMBER.fullmatch(value) for found, value in zip(foreign, values, strict=True)
        )

    @cached_property
    def has_foreign_dates(self) -> bool:
        """Whether all values are dates as in 31/05/2024 or 20240531: which of two numbers is the month is a guess."""
        values = [value for value in self.values if value is not None]
        return bool(values) and all(_FOREIGN_DATE.fullmatch(value) for value in values)

    @cached_property
    def num_distinct(self) -> int:
        """The number of different values."""
        return len({value for value in self.values if value is not None})


def sample_columns(path: Path, delimiter: str | None = None) -> list[ColumnSample]:
    """All columns of a CSV, TSV or Parquet file, with their first values."""
    refuse_pickle(path)
    kind = file_format(path, "auto")
    if kind == "parquet":
        return _of_parquet(path)
    layout = read_layout(path, (), delimiter or ("\t" if kind == "tsv" else None))
    rows = [row for row in first_records(path, layout, _NUM_ROWS) if len(row) == len(layout.columns)]
    return [ColumnSample(name, [row[place] or None for row in rows]) for place, name in enumerate(layout.columns)]


def _of_parquet(path: Path) -> list[ColumnSample]:
    try:
        with pq.ParquetFile(path) as file:
            batches = list(itertools.islice(file.iter_batches(_NUM_ROWS), 1))
            table = pa.Table.from_batches(batches, file.schema_arrow)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path.name}: can't be read as Parquet ({error}). Check that the file is complete.") from error
    return [
        ColumnSample(name, [None if value is None else str(value) for value in table[name].to_pylist()])
        for name in table.column_names
    ]
