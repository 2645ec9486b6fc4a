from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from gtea.datasets.world_accounts import form_population
from gtea.datasets.world_signals import Form, Group, Signal, collected_payments, plant, returned_payments

ACCOUNTS = form_population(2_000, 500, 365, "spread", 0.0, 0.0, seed=0)
SIGNALS: tuple[Signal, ...] = get_args(Signal)
TOUCHED = {
    "own": {"rate", "level", "spread"},
    "partners": {"to_large"},
    "histories": {"illicit_form"},
    "order": {"illicit_form"},
}


def both_forms(form: Form) -> tuple[Group, Group]:
    """The illicit form and the other one from the same draws."""
    amount = np.random.default_rng(1).lognormal(size=(500, 4))
    illicit, other = (form(np.full(500, kind), amount.copy(), np.random.default_rng(2)) for kind in (True, False))
    return illicit, other


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_separates_the_classes_in_its_own_habits_only(signal: Signal) -> None:
    accounts = ACCOUNTS
    apart, together = (plant(signal, accounts, np.full(2_000, d), seed=3) for d in (3.0, 0.0))
    for name in ("rate", "level", "spread", "to_large", "illicit_form"):
        with_signal, without = getattr(apart, name), getattr(together, name)
        if name in TOUCHED[signal]:
            assert (with_signal[accounts.illicit] > without[accounts.illicit]).all()
            assert (with_signal[~accounts.illicit] < without[~accounts.illicit]).all()
        else:
            np.testing.assert_array_equal(with_signal, without)


def test_groups_exist_only_where_they_carry_the_signal() -> None:
    forms = [plant(signal, ACCOUNTS, np.zeros(2_000), seed=0).form for signal in SIGNALS]
    assert forms == [None, None, returned_payments, collected_payments]


def test_without_separation_probabilities_are_uniform_in_both_classes() -> None:
    probability = plant("order", ACCOUNTS, np.zeros(2_000), seed=0).illicit_form
    for some in (probability[ACCOUNTS.illicit], probability[~ACCOUNTS.illicit]):
        np.testing.assert_allclose(np.quantile(some, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.06)


def test_returned_payments_differ_only_in_who_returns_them() -> None:
    illicit, other = both_forms(returned_payments)
    for name in ("day", "pays", "amount"):
        np.testing.assert_array_equal(getattr(illicit, name), getattr(other, name))
    assert (illicit.partner[:, 1::2] == illicit.partner[:, ::2]).all()
    assert (other.partner[:, 1::2] != other.partner[:, ::2]).all()
    for group in (illicit, other):
        assert set(np.unique(group.partner)) == {0, 1}
        # each partner is paid once and pays once
        assert (group.partner[:, ::2].sum(axis=1) == 1).all()
        assert (group.partner[:, 1::2].sum(axis=1) == 1).all()


def test_returned_payments_come_back_nearly_in_full_within_hours() -> None:
    group, _ = both_forms(returned_payments)
    np.testing.assert_array_equal(group.pays, np.tile([True, False, True, False], (500, 1)))
    delay, share = 24 * np.diff(group.day)[:, ::2], group.amount[:, 1::2] / group.amount[:, ::2]
    assert 0.5 <= delay.min() <= delay.max() <= 6
    assert 0.9 <= share.min() <= share.max() <= 1
    assert group.day.max() < 3


def test_collected_payments_differ_only_in_the_place_of_the_payment() -> None:
    illicit, other = both_forms(collected_payments)
    np.testing.assert_array_equal(illicit.day, other.day)
    assert illicit.pays[:, -1].all()
    assert other.pays[:, 0].all()
    for group in (illicit, other):
        assert (np.diff(group.day) >= 0).all()
        assert group.day.max() < 3
        assert (group.pays.sum(axis=1) == 1).all()
        # whoever is paid has not paid
        receipts = group.partner[~group.pays].reshape(-1, 3)
        assert (receipts == 1 - group.partner[group.pays][:, None]).all()
        total = group.amount[~group.pays].reshape(-1, 3).sum(axis=1)
        share = group.amount[group.pays] / total
        assert 0.9 <= share.min() <= share.max() <= 1
    assert abs(illicit.partner[illicit.pays].mean() - 0.5) < 0.1
