"""Tables of strings: canonical order, and look-ups one by one or many at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gtea.store.strings import StringTable, merge_tables, table_from

texts = st.lists(st.text(max_size=4), max_size=30)


def table(strings: list[str]) -> StringTable:
    return table_from([pa.array(strings, pa.large_string())])


@given(texts, texts)
def test_every_string_is_found_at_its_place_in_the_canonical_order(strings: list[str], others: list[str]) -> None:
    made = table(strings)
    wanted = sorted(set(strings), key=lambda text: (len(text.encode()), text.encode()))
    assert made.to_arrow().to_pylist() == wanted == [made[i] for i in range(len(made))]
    asked = [*strings, *others]
    places = [wanted.index(text) if text in wanted else -1 for text in asked]
    assert [made.find(text) for text in asked] == places
    assert made.find_many(asked).tolist() == places


def test_few_strings_in_a_large_table_are_searched_one_by_one() -> None:
    made = table([str(i) for i in range(1000)])
    assert made.find_many(["7", "nobody", "999"]).tolist() == [7, -1, 999]
    assert made.find_many(pa.array(["12"])).tolist() == [12]
    assert made.take(np.array([3, 900])).to_pylist() == ["3", "900"]


@given(texts, texts)
def test_a_merged_table_keeps_the_order_of_both(first: list[str], second: list[str]) -> None:
    one, other = table(first), table(second)
    merged, of_one, of_other = merge_tables(one, other)
    assert set(merged.to_arrow().to_pylist()) == {*first, *second}
    for before, places in ((one, of_one), (other, of_other)):
        assert [merged[int(place)] for place in places] == before.to_arrow().to_pylist()
        assert (np.diff(places) > 0).all()
