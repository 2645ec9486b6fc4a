"""What the service tells the process that explains: where everything is, and which account to explain as of when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LiveCaseRequest:
    """One account to explain, ready for JSON."""

    account: str
    number: int
    """The number of the last event that counts. The store must not hold later ones."""
    score: float
    """The score that the service has published."""
    reasons: int | None
    """How many counterparties to name; None for the page."""
    rank: int
    num_accounts: int
    score_counts: tuple[int, ...]
    """How many accounts have a score in each of equal ranges from 0 to 1."""


@dataclass(frozen=True)
class ServedPlaces:
    """Where everything is, ready for JSON."""

    model: str
    model_digest: str
    store: str
    log: str

    @staticmethod
    def of(model: Path, model_digest: str, store: Path, log: Path) -> ServedPlaces:
        """For a process that may have another working folder."""
        return ServedPlaces(str(model.absolute()), model_digest, str(store.absolute()), str(log.absolute()))
