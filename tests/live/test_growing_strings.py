"""New strings get numbers as they come, and ranks in the order in which a store would have them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from gtea.live.growing_strings import GrowingStrings
from gtea.store.strings import StringTable, table_from


def table(*texts: str) -> StringTable:
    return table_from([pa.array(texts, pa.large_string())])


def canonical(texts: list[str]) -> list[str]:
    return sorted(texts, key=lambda text: (len(text.encode()), text.encode()))


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_in_the_canonical_order(seed: int) -> None:
    generator = np.random.default_rng(seed)
    letters = ["a", "b", "é", "0", "zz", "", "~"]
    words = {"".join(letters[i] for i in generator.integers(0, 7, generator.integers(1, 5))) for _ in range(120)}
    words.discard("")
    old, new = canonical(sorted(words))[::4], sorted(words)
    generator.shuffle(new)
    strings = GrowingStrings(table(*old))
    numbers = [strings.add(word) for word in new]
    assert [strings[number] for number in numbers] == new
    assert [strings[i] for i in np.argsort(strings.rank)] == canonical(sorted(words))
    assert strings.find_many(new).tolist() == numbers
    assert [strings.find(word) for word in old] == list(range(len(old)))
    assert strings.find("nowhere") == -1
    assert strings.to_arrow().to_pylist() == [strings[i] for i in range(len(strings))]
    assert GrowingStrings(table(*old), strings.added).to_arrow() == strings.to_arrow()


def test_ids_that_count_upwards_and_downwards_find_room() -> None:
    strings = GrowingStrings(table("m"))
    ids = [f"n{i:05}" for i in range(3_000)] + [f"k{9_999 - i:04}" for i in range(3_000)]
    for text in ids:
        strings.add(text)
    assert [strings[i] for i in np.argsort(strings.rank)] == canonical(["m", *ids])
