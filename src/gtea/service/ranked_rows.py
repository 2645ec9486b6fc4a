"""A list of accounts by score, as answers have it, and how a request asks for one."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from gtea.live.live_standing import LiveStanding
from gtea.service.path_keys import path_key
from gtea.service.problem import ProblemError

_MOST_LISTED = 1_000
_LISTED = 200
_LONGEST_SEARCH = 200


def ranked_rows(standing: LiveStanding, limit: int, text: str = "") -> list[dict[str, Any]]:
    """The accounts with the highest scores, all or those whose id has a text in it. To be called off the event loop."""
    if text:
        nodes = standing.search(text, limit).tolist()
        ranks = standing.ranks(nodes)
    else:
        nodes = standing.top(limit).tolist()
        ranks = list(range(1, len(nodes) + 1))
    found = []
    for node, rank in zip(nodes, ranks, strict=True):
        account = standing.accounts[node]
        found.append(
            {
                "rank": rank,
                "account": account,
                "key": path_key(account),
                "score": float(standing.scores[node]),
                "alert": standing.is_alert(node),
            }
        )
    return found


def listed(request: Request) -> int:
    """How many accounts a request asks for."""
    return asked_number(request, "limit", 1, _MOST_LISTED, _LISTED)


def search_text(request: Request) -> str:
    """The text that a request looks for in ids."""
    text = request.query_params.get("q", "")
    if len(text) > _LONGEST_SEARCH:
        raise ProblemError(400, f"q: must have at most {_LONGEST_SEARCH} characters.")
    return text


def asked_number(request: Request, name: str, least: int, most: int, default: int) -> int:
    """A whole number among the parameters of a request."""
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)) or not least <= int(text) <= most:
        raise ProblemError(400, f"{name}: must be a whole number from {least} to {most:,}.")
    return int(text)
