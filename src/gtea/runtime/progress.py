"""The progress callback of long-running work: the name of a stage and the fraction that is done."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with the name of the stage and the fraction of it that is done, from 0 to 1 (None: unknown)."""


def no_progress(stage: str, done: float | None) -> None:
    """Ignore progress."""
