"""Lines become events, and a bad one stops no other."""

from __future__ import annotations

import numpy as np

from gtea.live.event_lines import EventLines
from gtea.live.event_rows import EventReader
from gtea.store.schema import EventColumns, Schema


def lines_of(form: str = "auto") -> EventLines:
    schema = Schema(EventColumns("src", "dst", "time", ("amount",), ("kind",)), time_unit="s")
    return EventLines(EventReader(schema, allow_any_date=True), form)  # type: ignore[arg-type]


def numbered(*lines: bytes) -> list[tuple[int, bytes]]:
    return list(enumerate(lines, start=1))


def test_json_lines() -> None:
    rows, bad = lines_of().read(
        numbered(
            b'{"src": "a", "dst": 7, "time": 5, "amount": 1.5, "kind": "x", "more": 1}',
            b"",
            b'{"src": "a", "dst": "b", "time": 5',
            b"[1]",
            b'{"src": "a", "dst": "b", "time": NaN, "amount": 1}',
            b'{"src": "", "dst": "b", "time": 5, "amount": 1}',
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"src": "\\ud800", "dst": "b", "time": 5, "amount": 1}',
            b'{"src": "c", "dst": "b", "time": "6", "amount": "2"}\r',
        )
    )
    assert [(number, row.src, row.dst, row.time, row.features, row.words) for number, _, row in rows] == [
        (1, "a", "7", 5 * 10**9, [1.5], ["x"]),
        (10, "c", "b", 6 * 10**9, [2.0], [""]),
    ]
    assert [line.number for line in bad] == [3, 4, 5, 6, 7, 8, 9]
    assert "must be a JSON object" in bad[0].reason
    assert "an account id must not be empty" in bad[3].reason
    assert bad[4].text == "\\xff\\xfe"


def test_a_name_that_comes_twice_is_no_event() -> None:
    twice = b'{"src": "a", "src": "c", "dst": "b", "time": 5, "amount": 1}'
    rows, bad = lines_of().read([(1, twice), (2, b'{"more": {"x": 1, "\\ud800": 2, "\\ud800": 3}}')])
    assert rows == []
    assert [line.reason.partition(": ")[0] for line in bad] == ["column 'src'", "column '\\\\xed\\\\xa0\\\\x80'"]
    assert all("must be given once" in line.reason for line in bad)


def test_csv_lines() -> None:
    lines = lines_of()
    rows, bad = lines.read(numbered(b"\xef\xbb\xbftime,src,dst,amount,kind,more\r", b'7,"a,b",c,2,x,y\r', b"1,2"))
    assert [(row.src, row.dst, row.time, row.words) for _, _, row in rows] == [("a,b", "c", 7 * 10**9, ["x"])]
    assert [line.reason for line in bad] == ["a line must have 6 fields as the header has (got 2)"]
    rows, bad = lines.read([(4, b"8,d,e,3,,"), (5, b',"broken')])
    assert [(row.src, row.words) for _, _, row in rows] == [("d", [""])]
    assert len(bad) == 1


def test_a_header_must_have_the_columns() -> None:
    rows, bad = lines_of("csv").read(numbered(b"src,dst,time", b"src,dst,time,amount,kind", b"a,b,1,2,x"))
    assert "the header must have the columns 'amount', 'kind' once" in bad[0].reason
    assert len(rows) == 1


def test_rubbish_never_stops_it() -> None:
    generator = np.random.default_rng(0)
    good = b'{"src": "a", "dst": "b", "time": 5, "amount": 1.5}'
    for form in ("json", "csv", "auto"):
        lines = lines_of(form)
        junk = [generator.bytes(int(generator.integers(1, 60))).replace(b"\n", b"") for _ in range(300)]
        for number, line in enumerate(junk):
            mutated = bytearray(good)
            mutated[int(generator.integers(len(good)))] = line[0] if line else 0
            rows, bad = lines.read([(number, line), (number, bytes(mutated))])
            assert len(rows) + len(bad) <= 2
