from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from gtea.runtime.spreadsheet import spreadsheet_safe

FORMULAS = ("=1+1", "+c|' /C x'!A0", "-2+3", "@SUM(A1)", "\t=1", "\rx", "\nx", "\x00=1", " =1", "\uff1d1", "'=1", "-")
PLAIN = ("a=1", "a-b", "", "-5", "+1", "-1.5e-3", "1e9", "00123", "4 = 4", "王", "-1.")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_formula_gets_a_quote_and_a_number_does_not(kind: pa.DataType) -> None:
    safe = spreadsheet_safe(pa.table({"account": pa.array([*FORMULAS, *PLAIN, None], kind)}))
    assert safe["account"].to_pylist() == [*(f"'{text}" for text in FORMULAS), *PLAIN, None]
    assert safe["account"].type == kind


def test_names_of_columns_are_text_too_and_numbers_stay_numbers() -> None:
    table = pa.table({"=a": [-1.5], "b": [True], "p_=c": pa.array([-3])})
    safe = spreadsheet_safe(table)
    assert safe.column_names == ["'=a", "b", "p_=c"]
    assert safe.columns == table.columns
    assert spreadsheet_safe(table.slice(0, 0)).num_rows == 0


@hypothesis.given(st.lists(st.text(alphabet="=+-@'\t\r\n\x00 a1.e"), max_size=20))
def test_the_text_comes_back_without_its_quote(texts: list[str]) -> None:
    table = pa.table({"account": pa.array(texts, pa.string())})
    safe = spreadsheet_safe(table)["account"].to_pylist()
    assert [text[1:] if text.startswith("'") else text for text in safe] == texts
