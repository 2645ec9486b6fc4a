"""How scores are come by: exactly, from everything within reach, or from a sample of it as in training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gtea.errors import UsageError
from gtea.runtime.progress import Progress, no_progress


@dataclass(frozen=True)
class ScoringOptions:
    """Exact unless ``sampled``."""

    sampled: bool = False
    """As many neighbours as training draws: approximate, and cheaper where a few accounts know hubs."""
    cache: Path | None = None
    """A folder for the edge embeddings of exact scoring; None keeps nothing."""
    progress: Progress = no_progress

    def __post_init__(self) -> None:
        if self.sampled and self.cache is not None:
            raise UsageError("--sampled, --cache: give one of them at most. Only exact scoring keeps edge embeddings.")


EXACT = ScoringOptions()
