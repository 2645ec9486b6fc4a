"""What a user may ask of a model's decisions: how many alerts, or how precise, and in which population."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gtea.errors import UsageError


@dataclass(frozen=True)
class DecisionOptions:
    """How the threshold of the positive class is chosen, and how rare that class really is."""

    prevalence: float | None = None
    """The share of positives in the population, if labels were sampled; None if they are a fair sample."""
    budget: int | None = None
    """How many accounts of the store are to be alerts."""
    precision: float | None = None
    """The share of alerts that must be positive."""

    def __post_init__(self) -> None:
        if self.prevalence is not None and not 0 < self.prevalence < 1:
            raise UsageError(f"--prevalence: must be between 0 and 1 (got {self.prevalence}). Try 0.001.")
        if self.budget is not None and self.budget < 1:
            raise UsageError(f"--budget: must be at least 1 alert (got {self.budget}). Try 100.")
        if self.precision is not None and not 0 < self.precision <= 1:
            raise UsageError(f"--precision: must be above 0 and at most 1 (got {self.precision}). Try 0.8.")
        if self.budget is not None and self.precision is not None:
            raise UsageError("--budget, --precision: give one of them at most.")

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}
