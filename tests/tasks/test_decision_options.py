"""What may be asked of decisions. The messages are asserted where users see them, in tests/cli/test_decisions.py."""

from __future__ import annotations

from typing import Any

import pytest

from gtea.errors import UsageError
from gtea.tasks.decision_options import DecisionOptions


def test_only_what_was_given_is_part_of_a_run() -> None:
    assert DecisionOptions().given == {}
    assert DecisionOptions(prevalence=0.01, budget=100).given == {"prevalence": 0.01, "budget": 100}


@pytest.mark.parametrize("options", [{"prevalence": 1e-9}, {"budget": 1}, {"precision": 1}, {"precision": 1e-9}])
def test_the_limits_are_allowed(options: dict[str, Any]) -> None:
    assert DecisionOptions(**options).given == options


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"prevalence": 0}, "--prevalence"),
        ({"prevalence": 1}, "--prevalence"),
        ({"prevalence": float("nan")}, "--prevalence"),
        ({"budget": 0}, "--budget"),
        ({"precision": 0}, "--precision"),
        ({"precision": 1.01}, "--precision"),
        ({"budget": 1, "precision": 0.5}, "--budget, --precision"),
    ],
)
def test_the_rest_is_refused(options: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: "):
        DecisionOptions(**options)
