from __future__ import annotations

import numpy as np
from tests.live.streams import NAMES, NEW, frame_of, random_model, rows_at, store_of_rows

from gtea.live.live_scorer import LiveScorer
from gtea.live.live_standing import LiveStanding
from gtea.store.strings import table_from, table_of


def scorer_of(seed: int) -> tuple[LiveScorer, np.random.Generator]:
    generator = np.random.default_rng(seed)
    store = store_of_rows(rows_at(generator, 40, NAMES, 100, 130, 2), directed=False)
    model = random_model(store, generator, "gtea-l", nodes=("statistics",), recency=False)
    return LiveScorer(model, store, allow_any_date=True, per_update=0), generator


def test_nothing_that_comes_later_changes_it() -> None:
    scorer, generator = scorer_of(1)
    before = scorer.standing()
    listed = [(before.accounts[node], before.scores[node]) for node in before.top(99).tolist()]
    nobody = before.find("nobody")
    scorer.update(frame_of(rows_at(generator, 60, [*NAMES, *NEW], 100, 160, 4)))
    after = scorer.standing()
    assert [(before.accounts[node], before.scores[node]) for node in before.top(99).tolist()] == listed
    assert after.num_ranked > before.num_ranked == len(listed)
    assert nobody == -1  # it has no event
    assert before.find("a") == -1 != after.find("a")
    assert after.pending == scorer.pending == int(after.marked.sum())


def test_it_ranks_as_the_scorer_does() -> None:
    scorer, _ = scorer_of(2)
    standing, table = scorer.standing(), scorer.top(99)
    found = [account for account in table["account"].to_pylist() if account != "nobody"]
    top = standing.top(99).tolist()
    assert [standing.accounts[node] for node in top] == found
    assert [standing.rank(node) for node in top] == standing.ranks(top) == list(range(1, len(found) + 1))
    assert standing.top(3).tolist() == top[:3]
    assert [len(standing.top(k)) for k in (0, -1)] == [0, 0]
    assert not standing.is_alert(top[0])
    assert standing.num_alerts == 0


def test_ties_and_thresholds() -> None:
    accounts = table_of(table_from([["ab", "ac", "ad", "ae", "xx"]]).to_arrow())
    scores = np.array([0.5, 0.9, 0.5, np.nan, 0.5])
    standing = LiveStanding(accounts, accounts.find, scores, np.zeros(5, bool), np.array([4, 3, 2, 1, 0]), 0.5, 0)
    assert standing.top(9).tolist() == [1, 4, 2, 0]
    assert standing.top(2).tolist() == [1, 4]
    assert standing.ranks([0, 1, 2, 4]) == [4, 1, 3, 2]
    assert standing.ranks([]) == []
    assert (standing.num_alerts, standing.num_ranked, standing.is_alert(2)) == (4, 4, True)
    assert standing.search("A", 9).tolist() == [1, 2, 0]
    assert standing.search("A", 1).tolist() == [1]
    assert standing.find("ae") == standing.find("zz") == -1
