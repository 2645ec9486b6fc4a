"""The pages for people: the ranked list that moves, and the case behind each row."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from starlette.requests import Request
from starlette.responses import Response

from gtea.report.assets import file_policy, live_policy
from gtea.service.case_desk import Explained, TooLongError
from gtea.service.home_page import render_home, render_list
from gtea.service.live_service import LiveService, OpenedService
from gtea.service.live_writer import NoRoomError
from gtea.service.path_keys import account_of
from gtea.service.problem import ProblemError, busy
from gtea.service.published import Published
from gtea.service.ranked_rows import listed, ranked_rows, search_text

_NOT_FRAMED = "; frame-ancestors 'none'"


class PageRoutes:
    """Answers browsers from a service."""

    def __init__(self, service: LiveService) -> None:
        self._service = service

    async def get_home(self, request: Request) -> Response:
        """The ranked list, or with ``part=list`` only what moves in it."""
        part = request.query_params.get("part", "page")
        if part not in ("page", "list"):
            raise ProblemError(400, "part: must be page or list.")
        if request.query_params.get("alerts", "1") != "1":
            raise ProblemError(400, "alerts: must be 1, or left out.")
        opened, limit, text = self._service.opened, listed(request), search_text(request)
        only_alerts = "alerts" in request.query_params
        published = opened.published

        def made() -> str:
            rows = ranked_rows(published.standing, limit, text)
            # The list is by score: the alerts are the first of it.
            rows = [row for row in rows if row["alert"]] if only_alerts else rows
            if part == "list":
                return render_list(published, rows, opened.model.positive)
            return render_home(published, rows, opened.model.positive, text, limit, only_alerts=only_alerts)

        return _page(await asyncio.to_thread(made), live_policy())

    async def get_case(self, request: Request) -> Response:
        """The case page of an account, exact as of the event that it names."""
        opened = self._service.opened
        account, _ = await asked_account(request, opened)
        explained = await explain(opened.cases.page(account))
        return _page(explained.answer["page"], file_policy())


async def asked_account(request: Request, opened: OpenedService) -> tuple[str, Published]:
    """The account that a path names, and what readers see with its exact score."""
    account = account_of(request.path_params["key"])
    if account is None:
        raise ProblemError(404, "No such account: an account in a path is the base64url of its id, without padding.")
    try:
        published = await opened.exact(account)
    except NoRoomError as error:
        raise busy("More scores are asked for than can be computed. Try again in a second.") from error
    if published.standing.find(account) < 0:
        raise ProblemError(404, "No such account: it has no event. Ids are compared exactly as written.")
    return account, published


async def explain(asked: Awaitable[Explained]) -> Explained:
    """What is asked of the desk, or the problem that there is."""
    try:
        return await asked
    except NoRoomError as error:
        raise busy("More accounts are to be explained than can be. Try again in a second.") from error
    except TooLongError as error:
        raise ProblemError(504, "This account takes too long to explain. Use gtea explain on the store.") from error


def _page(text: str, policy: str) -> Response:
    # A lone half of a surrogate pair can't be sent.
    content = text.encode("utf-8", "replace")
    return Response(content, media_type="text/html", headers={"content-security-policy": policy + _NOT_FRAMED})
