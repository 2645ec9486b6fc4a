from __future__ import annotations

import numpy as np
import pytest
from starlette.requests import Request
from tests.service.standings import standing_of

from gtea.service.path_keys import path_key
from gtea.service.problem import ProblemError
from gtea.service.ranked_rows import asked_number, listed, ranked_rows, search_text


def request(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


def test_rows_are_ranked_as_accounts_are_alone() -> None:
    standing = standing_of({"a": 0.5, "b": 0.9, "ab": 0.5, "c": np.nan})
    rows = ranked_rows(standing, 10)
    assert [(row["rank"], row["account"]) for row in rows] == [(1, "b"), (2, "a"), (3, "ab")]
    assert [row["rank"] for row in rows] == [standing.rank(standing.find(row["account"])) for row in rows]
    assert rows[0] == {"rank": 1, "account": "b", "key": path_key("b"), "score": 0.9, "alert": True}
    assert [(row["rank"], row["account"]) for row in ranked_rows(standing, 10, "A")] == [(2, "a"), (3, "ab")]
    assert len(ranked_rows(standing, 1)) == 1


def test_what_can_be_asked_for() -> None:
    assert (listed(request("")), listed(request("limit=7")), search_text(request("q=%2F"))) == (200, 7, "/")
    assert asked_number(request("n=0"), "n", 0, 20, 3) == 0
    for query in ("limit=0", "limit=1001", "limit=-1", "limit=1e2", "limit=%D9%A3", "limit=00001"):
        with pytest.raises(ProblemError, match="limit: must be a whole number from 1 to 1,000"):
            listed(request(query))
    with pytest.raises(ProblemError, match="q: must have at most 200 characters"):
        search_text(request("q=" + "a" * 201))
