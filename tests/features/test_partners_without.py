"""Running sums are taken up where the first partner is gone, also if only some of them are kept."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, random_rows, store_of

from gtea.features import partners_without
from gtea.features.partner_statistics import PartnerStatistics
from gtea.features.partners_without import partner_rows_without
from gtea.features.removals import RemovableEvents, Removals


@pytest.mark.parametrize("marks", [1, 2, 5])
def test_few_kept_sums_change_nothing(marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(random_rows(2))
    view = store.as_of(CUT)
    account = RemovableEvents(view, store.node("a00"))
    made = Removals(account, np.random.default_rng(0).random((20, len(account.partners))) < 0.3)
    truth = partner_rows_without(PartnerStatistics(view), made)
    monkeypatch.setattr(partners_without, "_NUM_MARKS", marks)
    np.testing.assert_array_equal(partner_rows_without(PartnerStatistics(view), made), truth)


def test_an_account_without_partners_has_zeros() -> None:
    store = store_of(random_rows(1))
    view = store.as_of(0)
    made = Removals(RemovableEvents(view, store.node("a00")), np.zeros((2, 0), dtype=bool))
    assert not partner_rows_without(PartnerStatistics(view), made).any()
