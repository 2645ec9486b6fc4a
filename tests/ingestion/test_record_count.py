"""The count of records against Python's own parsers, whatever the blocks in which the bytes arrive."""

from __future__ import annotations

import csv
import io
import re

import hypothesis
import hypothesis.strategies as st
import pytest

from gtea.ingestion.record_count import RecordCounter


def count(content: bytes, delimiter: str | None, size: int = 1 << 20) -> tuple[int, bool]:
    counter = RecordCounter(delimiter)
    for start in range(0, len(content), size):
        counter.add(content[start : start + size], first=start == 0)
    counter.finish()
    return counter.records, counter.exact


FIELDS = st.text(st.sampled_from('ab,;"\r\n #é'), max_size=8)


@hypothesis.settings(max_examples=100)
@hypothesis.given(st.lists(st.lists(FIELDS, min_size=2, max_size=3), max_size=6), st.integers(3, 9), st.booleans())
def test_well_formed_csv_is_counted_exactly(rows: list[list[str]], size: int, crlf: bool) -> None:
    text = io.StringIO()
    if crlf:
        csv.writer(text).writerows(rows)
    else:  # with this line break, the writer would leave a "\r" without quotes
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    assert count(text.getvalue().encode(), ",", size) == (len(rows), True)


@hypothesis.settings(max_examples=200)
@hypothesis.given(st.text(st.sampled_from('a,"\r\n'), max_size=20), st.integers(1, 5))
def test_what_is_called_exact_is_what_python_counts(text: str, size: int) -> None:
    records, exact = count(text.encode(), ",", size)
    if exact:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        assert records == sum(record != [] for record in reader)


@pytest.mark.parametrize("text", ['a"b\n', '"a"b\n', '"a" ,b\n', '"a\nb', 'a,"b\n'])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_misplaced_and_open_quotes_are_noticed(text: str, size: int) -> None:
    assert not count(text.encode(), ",", size)[1]


def test_a_byte_order_mark_is_no_field() -> None:
    assert count(b'\xef\xbb\xbf"a",b\n\n1,2', ",") == (2, True)


@hypothesis.settings(max_examples=200)
@hypothesis.given(st.text(st.sampled_from("1 \t#\r\n"), max_size=30), st.integers(1, 9))
def test_lines_of_snap_files(text: str, size: int) -> None:
    lines = [line for line in re.split("[\r\n]", text) if line.strip(" \t") and line[0] != "#"]
    assert count(text.encode(), None)[0] == len(lines) or text.endswith((" ", "\t"))
    records, exact = count(text.encode(), None, size)
    assert records == len(lines) or not exact
