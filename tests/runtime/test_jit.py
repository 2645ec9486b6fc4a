from __future__ import annotations

from typing import Any

from gtea.runtime.jit import jit


def test_a_function_is_compiled_even_if_there_is_nowhere_to_keep_it() -> None:
    scope: dict[str, Any] = {}
    exec(compile("def double(x):\n    return 2 * x", "<nowhere>", "exec"), scope)
    assert jit(scope["double"])(21) == 42
