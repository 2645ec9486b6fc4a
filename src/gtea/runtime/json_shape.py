"""Check that JSON has the shape that a format demands, before anything of it is used.

A shape is one of:

- ``int``, ``float``, ``str``, ``bool``: a value of that type. Integers must fit into 64 bits, floats must be finite.
- ``Natural``: an integer that is not negative.
- ``[shape]``: a list of values of that shape.
- ``{"name": shape, ...}``: an object with exactly these names.
- ``Every(shape)``: an object with any names, all of whose values have that shape.
- ``Either(shape, ...)``: a value that has one of the shapes.
- ``Words("s", "us")``: one of some words.
- ``None``: null.
"""

from __future__ import annotations

import math
import re
from typing import Any

_SHOWN = 60


class Natural:
    """An integer that is not negative."""


class Every:
    """An object with any names."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


class Either:
    """One of several shapes."""

    def __init__(self, *shapes: Any) -> None:
        self.shapes = shapes


class Words:
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words = words


class Pattern:
    """Text that a regular expression matches as a whole."""

    def __init__(self, expression: str, meaning: str) -> None:
        self.expression = re.compile(expression)
        self.meaning = meaning


def misshapen(value: Any, shape: Any, name: str) -> str | None:
    """What is wrong with a value, in words: ``name must be ... (got ...)``. None if it has the shape.

    Args:
        value: What ``json.loads`` returned.
        shape: A shape, as above.
        name: The name of the value.
    """
    match shape:
        case dict():
            if not isinstance(value, dict) or set(value) != set(shape):
                return _wrong(name, f"an object with {', '.join(shape)}", _names(value))
            found = (misshapen(value[key], inner, f"{name}.{key}") for key, inner in shape.items())
        case list():
            if not isinstance(value, list):
                return _wrong(name, "a list", value)
            found = (misshapen(item, shape[0], f"{name}[{place}]") for place, item in enumerate(value))
        case Every():
            if not isinstance(value, dict):
                return _wrong(name, "an object", value)
            found = (misshapen(item, shape.shape, f"{name}.{key[:_SHOWN]}") for key, item in value.items())
        case Either():
            faults = [misshapen(value, each, name) for each in shape.shapes]
            return None if None in faults else faults[0]
        case _:
            wanted = _wanted(value, shape)
            return None if wanted is None else _wrong(name, wanted, value)
    return next((fault for fault in found if fault is not None), None)


def _wanted(value: Any, shape: Any) -> str | None:
    """What a single value should have been; None if it is that."""
    whole = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    if shape is None:
        return None if value is None else "null"
    if shape is Natural:
        return None if whole and value >= 0 else "a whole number, not negative"
    if shape is int:
        return None if whole else "a whole number of at most 64 bits"
    if shape is float:
        is_number = whole or (isinstance(value, float) and math.isfinite(value))
        return None if is_number else "a finite number"
    if isinstance(shape, Words):
        return None if value in shape.words else f"one of {', '.join(shape.words)}"
    if isinstance(shape, Pattern):
        matches = isinstance(value, str) and shape.expression.fullmatch(value)
        return None if matches else shape.meaning
    assert shape in (str, bool), f"not a shape: {shape!r}"
    return None if isinstance(value, shape) else {str: "text", bool: "true or false"}[shape]


def _wrong(name: str, wanted: str, value: Any) -> str:
    shown = repr(value)
    return f"{name} must be {wanted} (got {shown if len(shown) <= _SHOWN else f'{shown[:_SHOWN]}...'})"


def _names(value: Any) -> Any:
    return list(value) if isinstance(value, dict) else value
