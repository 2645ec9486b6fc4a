"""Values from the JSON of a saved model. Anything that gtea can't have written raises an error.

``subject`` names the value in the message, such as ``calibration.temperature``.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from reprlib import repr as shortened

from gtea.errors import ModelError

_LARGEST = sys.float_info.max


def read_object(subject: str, content: object, names: Collection[str]) -> Mapping[str, object]:
    """Return a JSON object that has these names and no others."""
    if not isinstance(content, dict) or set(content) != set(names):
        raise damaged(subject, f"must be an object of {', '.join(names)}", content)
    return content


def read_number(subject: str, content: object, low: float = -_LARGEST, high: float = _LARGEST) -> float:
    """Return a finite number from low to high."""
    # To Python a bool is an int. Comparisons with NaN are false.
    if isinstance(content, bool) or not isinstance(content, int | float) or not low <= content <= high:
        raise damaged(subject, f"must be a finite number{_between(low, high)}", content)
    return float(content)


def read_count(subject: str, content: object) -> int:
    """Return an integer that is not negative."""
    if isinstance(content, bool) or not isinstance(content, int) or content < 0:
        raise damaged(subject, "must be an integer from 0", content)
    return content


def read_numbers(subject: str, content: object, low: float = -_LARGEST, high: float = _LARGEST) -> tuple[float, ...]:
    """Return at least one finite number, each from low to high."""
    if not isinstance(content, list) or not content:
        raise damaged(subject, "must be a list of numbers, not empty", content)
    return tuple(read_number(f"{subject}[{i}]", number, low, high) for i, number in enumerate(content))


def damaged(subject: str, rule: str, content: object) -> ModelError:
    """The error of a value that breaks a rule."""
    return ModelError(
        f"{subject} {rule} (got {shortened(content)}). Restore the model from a backup, or train it again."
    )


def _between(low: float, high: float) -> str:
    if low == -_LARGEST:
        return ""
    return f" from {low:g}" if high == _LARGEST else f" from {low:g} to {high:g}"
