"""Arrays that can't be in a file are refused before anything is made of them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from gtea.runtime.array_table import StoredArray, stored_arrays

_NOTHING = hashlib.sha256().hexdigest()
GOOD = StoredArray(np.dtype("<i8"), (2, 3), 16, _NOTHING)


def test_what_is_described_is_read() -> None:
    found = stored_arrays({"a": GOOD.to_json()}, 64)
    assert found == {"a": GOOD}
    assert found["a"].num_bytes == 48


@pytest.mark.parametrize(
    "changed",
    [
        {"dtype": "|O"}, {"dtype": ">i8"}, {"dtype": "<U4"}, {"dtype": "<i8,<i8"}, {"dtype": 8}, {"shape": [-1]},
        {"shape": [2, 4]}, {"shape": 6}, {"shape": [2**62, 2**62]}, {"shape": [1.0]}, {"shape": [1] * 9},
        {"offset": -1}, {"offset": 17}, {"offset": True}, {"sha256": ""}, {"more": 0},
    ],
)  # fmt: skip
def test_what_can_not_be_there_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="arrays"):
        stored_arrays({"a": {**GOOD.to_json(), **changed}}, 64)


@pytest.mark.parametrize("content", [None, [], {"a": []}, {"a": None}])
def test_anything_else_is_refused(content: Any) -> None:
    with pytest.raises(ValueError, match="arrays"):
        stored_arrays(content, 64)
