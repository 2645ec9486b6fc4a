"""JSON of any shape is described in words, and never believed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtea.runtime.json_shape import (
    Either,
    Every,
    Natural,
    Number,
    ObjectOf,
    Pattern,
    Words,
    misshapen,
    strict_json,
)

VERSION = Pattern("v[0-9]", "a version, such as v1")


@pytest.mark.parametrize(
    ("shape", "right", "wrong"),
    [
        (int, [0, -5, 2**63 - 1], [True, 1.0, "1", None, 2**63, []]),
        (Natural, [0, 5], [-1, False, 0.5]),
        (float, [1, 1.5], [float("nan"), float("inf"), "1.5", True, 10**400]),
        (str, ["", "a"], [1, None, b"a"]),
        (bool, [True, False], [0, 1, "true", None]),
        (None, [None], [0, False, ""]),
        ([int], [[], [1, 2]], [(1,), [1, "2"], {"0": 1}]),
        ({"a": int}, [{"a": 1}], [{}, {"a": "1"}, {"a": 1, "b": 2}, [1], None]),
        (Every(int), [{}, {"x": 1}], [{"x": None}, []]),
        (Either(int, None), [1, None], ["x", 1.5]),
        (Words("s", "us"), ["s", "us"], ["ms", None, ["s"], {}]),
        (Number, [1, 1.5, float("nan"), float("-inf")], [True, "1", None, 2**63]),
        (list, [[], [1, "x"]], [{}, None]),
        (object, [None, [], {"x": 1}], []),
        (ObjectOf({"a": int}), [{"a": 1}], [{}, {"a": 1, "b": 1}, None]),
        (ObjectOf({"a": int}, {"b": str}), [{"a": 1}, {"a": 1, "b": ""}], [{"b": ""}, {"a": 1, "b": 1}]),
        (ObjectOf({"a": int}, {"a": str, "b": str}, others=None), [{"a": 1}], [{"a": ""}]),
        (ObjectOf({"a": int}, others=str), [{"a": 1, "x": ""}], [{"a": 1, "x": 1}, {"x": ""}]),
        (VERSION, ["v1"], ["v12", "v1\n", "../v1", 1]),
    ],
)
def test_shapes(shape: Any, right: list[Any], wrong: list[Any]) -> None:
    for value in right:
        assert misshapen(value, shape, "it") is None
    for value in wrong:
        fault = misshapen(value, shape, "it")
        assert fault is not None
        assert fault.startswith("it")
        assert "must be" in fault


def test_the_place_of_a_fault_is_named() -> None:
    shape = {"counts": {"nodes": Natural}, "names": [Every(str)]}
    assert misshapen({"counts": {"nodes": -1}, "names": []}, shape, "m") == (
        "m.counts.nodes must be a whole number, not negative (got -1)"
    )
    assert (
        misshapen({"counts": {"nodes": 1}, "names": [{}, {"x": 3}]}, shape, "m") == "m.names[1].x must be text (got 3)"
    )
    assert misshapen({"counts": 1}, shape, "m") == "m must be an object with counts, names (got ['counts'])"


def test_a_long_value_is_cut() -> None:
    fault = misshapen("x" * 10_000, int, "it")
    assert fault is not None
    assert len(fault) < 150


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_no_value_raises(value: Any) -> None:
    shapes = (int, Natural, float, str, bool, None, [int], {"a": [str]}, Every(Either(int, None)), Words("s"), VERSION)
    for shape in shapes:
        fault = misshapen(value, shape, "it")
        assert fault is None or "must be" in fault


@pytest.mark.parametrize("text", ["{", "NaN", "[Infinity]", "-Infinity", "1e999", "[" * 200_000, "\xff"])
def test_what_json_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json(text.encode("latin-1"))


def test_json_is_read_as_it_is() -> None:
    assert strict_json(b'{"a": [1, 0.1, null, "x"]}') == {"a": [1, 0.1, None, "x"]}
