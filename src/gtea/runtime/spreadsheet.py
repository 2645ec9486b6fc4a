"""Tables that a spreadsheet shows as they are: text that it would take for a formula gets a quote in front.

A file for programs is exact, so that ids join. In one that people open in a spreadsheet, whoever chose an account's id
must not be able to run a formula. To get the text back, drop the quote of each value that begins with one.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# As Excel, LibreOffice and Google Sheets read a cell, full-width signs and leading blanks included. Text that begins
# with a quote gets another one, or nobody could tell whose it is.
_FORMULA = r"^[\s\x00]*[=+\-@＝＋－＠]|^[\t\r\n\x00']"  # noqa: RUF001
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?$"


def spreadsheet_safe(table: pa.Table) -> pa.Table:
    """The table with a quote before each text, column names too, that looks like a formula and isn't a number."""
    columns = [_quoted(column) if _is_text(column.type) else column for column in table.columns]
    return pa.Table.from_arrays(columns, names=_quoted(pa.array(table.column_names, pa.string())).to_pylist())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _quoted(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    formula = pc.match_substring_regex(texts, _FORMULA)
    number = pc.match_substring_regex(texts, _NUMBER)
    quoted = pc.binary_join_element_wise(pa.scalar("'", texts.type), texts, pa.scalar("", texts.type))
    return pc.if_else(pc.and_not(formula, number), quoted, texts)
