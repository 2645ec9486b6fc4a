"""EdgeBank: who has met, and how lately."""

from __future__ import annotations

import torch

from gtea.models.edgebank import EdgeBank


def test_a_pair_is_scored_by_whether_and_when_it_last_met() -> None:
    age = torch.tensor([0.3, 1.0, 1.9, 5.0, 7.9, 8.0, torch.inf], dtype=torch.float64)
    expected = torch.tensor([1 / 1.25, 1 / 2, 1 / 2, 1 / 5, 1 / 5, 1 / 9, 0], dtype=torch.float64)
    assert torch.allclose(EdgeBank()(age).sigmoid(), expected)


def test_at_its_thresholds_it_is_the_published_rule() -> None:
    """1 if the pair is in the bank, or in the bank of the last so many days."""
    age = torch.rand(200, dtype=torch.float64) * 40
    age[::3] = torch.inf
    score = EdgeBank()(age).sigmoid()
    assert torch.equal(score > 0, torch.isfinite(age))
    for window in (1, 4, 16):
        assert torch.equal(score > 1 / (1 + window), age < window)


def test_there_is_nothing_to_learn_or_to_save() -> None:
    bank = EdgeBank()
    bank.fit(torch.ones(2), torch.ones(2), torch.ones(2))
    assert bank.state_dict() == {}
