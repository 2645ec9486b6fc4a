"""How long work tells how far it has come: a stage's name and the share that is done."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Told the name of the stage and how much of it is done, from 0 to 1 (None: not known)."""


def no_progress(stage: str, done: float | None) -> None:
    """The progress listener of somebody who doesn't care."""
