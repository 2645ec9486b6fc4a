"""How to score: exactly from all neighbours, or from a sample as in training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gtea.errors import UsageError
from gtea.runtime.progress import Progress, no_progress


@dataclass(frozen=True)
class Grain:
    """What is computed at once where all accounts or many pairs are scored: it may decide the last bit of a score."""

    accounts: int = 1 << 12
    """Accounts in a block. Few enough that a graph of some ten thousand accounts can be scored in parts, and enough
    that a product of the rows of a block keeps a processor busy."""
    slots: int = 1 << 16
    """Slots in a piece of a hub that has more."""
    pairs: int = 1 << 12
    """Pairs in a block, in the order of both ends: wherever pairs are scored exactly, however many there are."""


@dataclass(frozen=True)
class ScoringOptions:
    """Exact unless ``sampled``."""

    sampled: bool = False
    """Read as many neighbours as training samples: approximate, but faster for a few accounts that know hubs."""
    cache: Path | None = None
    """A folder that keeps the edge embeddings of exact scoring."""
    progress: Progress = no_progress
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        if self.sampled and self.cache is not None:
            raise UsageError("--sampled, --cache: give one of them at most. Only exact scoring keeps edge embeddings.")


EXACT = ScoringOptions()
