"""The audit: every curve is a replay."""

from __future__ import annotations

import numpy as np
import pytest
from tests.explain.worlds import CUT, among, model_of, random_rows, replayed, small, store_of, with_threshold

from gtea.config import FeaturesConfig
from gtea.errors import UsageError
from gtea.explain.explainer import Explainer
from gtea.explain.fidelity import ORDERS, audit

ROWS = random_rows(1)
STORE = store_of(ROWS)


def test_curves_are_replays() -> None:
    model = with_threshold(model_of(STORE, small("hybrid"), features=FeaturesConfig(neighbour_labels=True)), 0.0)
    explainer = Explainer(model, STORE, CUT)
    found = audit(explainer, 3)
    assert len(found.accounts) == 3
    for each in found.accounts:
        assert each.num_counterparties >= 3
        assert set(each.curves) == set(ORDERS)
        assert {len(curve) for curve in each.curves.values()} == {12}
        node = STORE.node(each.account)
        others = np.unique(STORE.as_of(CUT).neighbours(node).nodes)[explainer.scored([node]).raising]
        named = {STORE.account(int(other)) for other in others[:2]}
        truth = replayed(ROWS, among(each.account, named), model, [each.account])[0]
        assert each.curves["removal"][1] == pytest.approx(truth, abs=1e-6)
        assert each.curves["greedy"][0] == each.curves["removal"][0]
        assert each.curves["greedy"][1] <= each.curves["removal"][1] + 1e-9
    curves = np.array([each.curves["random"] for each in found.accounts])
    np.testing.assert_allclose(found.orders["random"].curve, curves.mean(axis=0))


def test_what_is_refused() -> None:
    model = with_threshold(model_of(STORE, small("gtea-l")), 1.1)
    with pytest.raises(
        UsageError, match=r"^--audit: no account with 4 counterparties or more is an alert as of .*Z\. Ch"
    ):
        audit(Explainer(model, STORE, CUT))
    model.threshold = None
    message = r"^--audit: needs a GTEA or hybrid model of accounts with two classes\. Use another model\.$"
    with pytest.raises(UsageError, match=message):
        audit(Explainer(model, STORE, CUT))
