"""Values from JSON: what gtea writes is read, anything else is an error that names the value."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from gtea.errors import ModelError
from gtea.tasks.checked_json import read_count, read_number, read_numbers, read_object

REMEDY = r"Restore the model from a backup, or train it again\.$"


def test_what_was_written_is_read() -> None:
    content = json.loads('{"a": 1, "b": [0.25, 1], "c": 0}')
    assert read_object("x", content, ("a", "b", "c")) == content
    assert read_number("x.a", content["a"]) == 1.0
    assert isinstance(read_number("x.a", content["a"]), float)
    assert read_numbers("x.b", content["b"], 0, 1) == (0.25, 1.0)
    assert read_count("x.c", content["c"]) == 0
    assert read_number("x.a", sys.float_info.max) == sys.float_info.max


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: read_object("x", None, ("a", "b")), r"x must be an object of a, b \(got None\)"),
        (lambda: read_object("x", {"a": 1}, ("a", "b")), r"object of a, b \(got {'a': 1}\)"),
        (lambda: read_object("x", {"a": 1, "b": 2, "c": 3}, ("a", "b")), "object of a, b"),
        (lambda: read_number("x.a", "1"), r"x.a must be a finite number \(got '1'\)"),
        (lambda: read_number("x.a", True), r"got True"),
        (lambda: read_number("x.a", None), r"got None"),
        (lambda: read_number("x.a", float("nan")), r"got nan"),
        (lambda: read_number("x.a", float("-inf")), r"got -inf"),
        (lambda: read_number("x.a", 10**400), r"got 10000000000"),
        (lambda: read_number("x.a", -1, 0), r"x.a must be a finite number from 0 \(got -1\)"),
        (lambda: read_number("x.a", 1.5, 0, 1), r"x.a must be a finite number from 0 to 1 \(got 1.5\)"),
        (lambda: read_numbers("x.b", 1), r"x.b must be a list of numbers, not empty \(got 1\)"),
        (lambda: read_numbers("x.b", []), "not empty"),
        (lambda: read_numbers("x.b", [0.5, 2], 0, 1), r"x.b\[1\] must be a finite number from 0 to 1 \(got 2\)"),
        (lambda: read_count("x.c", -1), r"x.c must be an integer from 0 \(got -1\)"),
        (lambda: read_count("x.c", 1.0), r"got 1.0"),
        (lambda: read_count("x.c", False), r"got False"),
    ],
)
def test_anything_else_is_an_error(read: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        read()
    assert caught.match(REMEDY)


def test_long_content_is_shortened() -> None:
    with pytest.raises(ModelError) as caught:
        read_object("x", list(range(100_000)), ("a",))
    assert len(str(caught.value)) < 200
