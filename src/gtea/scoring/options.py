"""How to score: exactly from all neighbours, or from a sample as in training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gtea.errors import UsageError
from gtea.runtime.progress import Progress, no_progress


@dataclass(frozen=True)
class ScoringOptions:
    """Exact unless ``sampled``."""

    sampled: bool = False
    """Read as many neighbours as training samples: approximate, but faster for a few accounts that know hubs."""
    cache: Path | None = None
    """A folder that keeps the edge embeddings of exact scoring."""
    progress: Progress = no_progress

    def __post_init__(self) -> None:
        if self.sampled and self.cache is not None:
            raise UsageError("--sampled, --cache: give one of them at most. Only exact scoring keeps edge embeddings.")


EXACT = ScoringOptions()
