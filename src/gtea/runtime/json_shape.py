"""Check that JSON has the shape that a format demands, before anything of it is used.

A shape is one of:

- ``int``, ``float``, ``str``, ``bool``: a value of that type. Integers must fit into 64 bits, floats must be finite.
- ``Natural``: an integer that is not negative.
- ``Number``: a number, or NaN or infinity.
- ``[shape]``: a list of values of that shape; ``list``: of any values.
- ``{"name": shape, ...}``: an object with exactly these names.
- ``Every(shape)``: an object with any names, all of whose values have that shape.
- ``ObjectOf({...}, {...}, shape)``: an object with the first names, perhaps some of the second, and perhaps any others.
- ``Either(shape, ...)``: a value that has one of the shapes.
- ``Words("s", "us")``: one of some words.
- ``None``: null; ``object``: anything.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

_SHOWN = 60


class Natural:
    """An integer that is not negative."""


class Number:
    """A number, or NaN or infinity."""


class Every:
    """An object with any names."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


class ObjectOf:
    """An object with some names that it must have, and others that it may have."""

    def __init__(self, required: dict[str, Any], optional: dict[str, Any] | None = None, others: Any = None) -> None:
        """Describe an object.

        Args:
            others: The shape of the values of all other names; None if there must be none.
        """
        self.required, self.optional, self.others = required, optional or {}, others

    def names(self, value: dict[str, Any]) -> dict[str, Any]:
        """The shape by name that a value must have to be such an object."""
        chosen = {name: shape for name, shape in self.optional.items() if name in value}
        others = {} if self.others is None else dict.fromkeys(value, self.others)
        return {**self.required, **others, **chosen, **self.required}


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


def strict_json(content: bytes, *, finite: bool = True) -> Any:
    """Parse JSON. Raises a ValueError for anything else.

    Args:
        finite: Whether NaN and infinity are something else: JSON doesn't have them.
    """
    try:
        found = json.loads(content, parse_constant=_no_constant, parse_float=_finite) if finite else json.loads(content)
        if b"\\ud" in content.lower():
            json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair is no text, and can't be written
        return found
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"it has the number {text}")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(text)


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
        case ObjectOf():
            return misshapen(value, shape.names(value) if isinstance(value, dict) else shape.required, name)
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
    if shape is object:
        return None
    if shape is list:
        return None if isinstance(value, list) else "a list"
    if shape is Natural:
        return None if whole and value >= 0 else "a whole number, not negative"
    if shape is int:
        return None if whole else "a whole number of at most 64 bits"
    if shape is Number:
        return None if whole or isinstance(value, float) else "a number"
    if shape is float:
        is_number = whole or (isinstance(value, float) and math.isfinite(value))
        return None if is_number else "a finite number"
    if isinstance(shape, Words):
        return None if isinstance(value, str) and value in shape.words else f"one of {', '.join(shape.words)}"
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
