"""Facts of all rows are those of any parts of them, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from gtea.ingestion.time_facts import MergedTimes, StagedTimes, TimeFact
from gtea.ingestion.workbench import Workbench

FACTS = (
    TimeFact("min", "TRY_CAST(t AS DECIMAL(38, 9))"), TimeFact("max", "TRY_CAST(t AS HUGEINT)"),
    TimeFact("all", "TRY_CAST(t AS INTEGER) > 3"), TimeFact("count", "t = '5'"), TimeFact("first", "t LIKE '%5'"),
)  # fmt: skip
TEXT = st.lists(st.sampled_from(["5", "4.5", "10", "99999999999999999999", "x", "-3", None]), max_size=6)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Workbench(tmp_path_factory.mktemp("bench"), memory="400MB") as made:
        yield made


def staged(bench: Workbench, rows: list[str | None]) -> StagedTimes:
    bench.register("given", pa.table({"t": pa.array(rows, pa.string())}))
    bench.run("CREATE OR REPLACE TABLE staged AS SELECT t FROM given")
    return StagedTimes(bench, "column t")


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(TEXT, min_size=1, max_size=4))
def test_facts_of_parts_are_facts_of_the_whole(bench: Workbench, parts: list[list[str | None]]) -> None:
    expected = staged(bench, [row for part in parts for row in part]).ask(*FACTS)
    known = list[dict[str, list[Any]]]()
    for number, part in enumerate(parts):
        times = staged(bench, part)
        if number % 2:  # every other one was asked before
            times.ask(*FACTS)
        known.append(times.answers)
    asked = list[int]()

    def ask_file(number: int, facts: Any) -> Any:
        asked.append(number)
        return staged(bench, parts[number]).ask(*facts)

    assert MergedTimes(known, ask_file).ask(*FACTS) == expected
    assert asked == list(range(0, len(parts), 2))


def test_large_numbers_are_compared_as_numbers(tmp_path: Path, bench: Workbench) -> None:
    assert TimeFact("max", "t").merged(["9", None, "10", "9.5"]) == "10"
    assert TimeFact("min", "t").merged([None, None]) is None
    assert staged(bench, ["99999999999999999999", "7"]).ask(FACTS[1]) == ("99999999999999999999",)
