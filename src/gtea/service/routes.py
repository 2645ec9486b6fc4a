"""The addresses of the service, and what each answers. ``openapi.json`` describes them for machines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any, cast, get_args

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from gtea.errors import DataError, StoreError
from gtea.service.case_desk import Explained
from gtea.service.change_feed import Wanted
from gtea.service.client_limits import ClientLimits
from gtea.service.event_body import body_digest, idempotency_key, read_body, read_events, require_json_lines
from gtea.service.event_log import Entry, OtherBodyError
from gtea.service.live_service import LiveService
from gtea.service.live_writer import NoRoomError
from gtea.service.page_routes import PageRoutes, asked_account, explain
from gtea.service.path_keys import path_key
from gtea.service.problem import ProblemError, busy
from gtea.service.published import Published, Receipt
from gtea.service.ranked_rows import asked_number, listed, ranked_rows, search_text
from gtea.service.service_metrics import ServiceMetrics, resident_bytes

_MOST_REASONS = 20


class Routes:
    """Answers requests from a service."""

    def __init__(
        self,
        service: LiveService,
        limits: ClientLimits,
        metrics: ServiceMetrics,
        connections: Callable[[], tuple[int, int]],
    ) -> None:
        """Wrap a service.

        Args:
            connections: How many connections are open, and how many were cut.
        """
        self._service, self._limits, self._metrics, self._connections = service, limits, metrics, connections

    def router(self) -> Router:
        """The addresses."""
        pages = PageRoutes(self._service)
        return Router(
            [
                Route("/", pages.get_home),
                Route("/cases/{key}", pages.get_case),
                Route("/events", self.post_events, methods=["POST"]),
                Route("/accounts", self.get_accounts),
                Route("/accounts/{key}", self.get_account),
                Route("/alerts", self.get_alerts),
                Route("/stream", self.get_stream),
                Route("/healthz", self.get_health),
                Route("/readyz", self.get_readiness),
                Route("/metrics", self.get_metrics),
                Route("/openapi.json", self.get_openapi),
            ],
            redirect_slashes=False,
            default=_nowhere,
        )

    async def post_events(self, request: Request) -> Response:
        """Accept events. The answer comes when they are on disk and scored."""
        key = idempotency_key(request)
        require_json_lines(request)
        opened = self._service.opened
        body = await read_body(request, self._limits)
        rows = await read_events(body, opened.scorer.reader, self._limits)
        try:
            receipt = await asyncio.wrap_future(opened.writer.submit(Entry(key, body_digest(body), rows)))
        except NoRoomError as error:
            raise busy("More events wait than there is room for. Try again in a second.") from error
        except OtherBodyError as error:
            raise ProblemError(
                422, "Idempotency-Key: was sent before with another body. Send a new one.", lines=[]
            ) from error
        except DataError as error:
            raise ProblemError(422, str(error), lines=[]) from error
        except StoreError as error:
            raise ProblemError(507, "The events can't be written to disk, and were not accepted. Try again.") from error
        accepted = receipt.accepted
        if accepted.repeated:
            self._metrics.repeated += accepted.count
        else:
            self._metrics.accepted += accepted.count
        return _json(_receipt(receipt))

    async def get_account(self, request: Request) -> Response:
        """The score of an account, exact as of the last event."""
        reasons, opened = asked_number(request, "reasons", 0, _MOST_REASONS, 0), self._service.opened
        account, published = await asked_account(request, opened)
        explained = None if not reasons else await explain(opened.cases.reasons(account, reasons))
        standing = published.standing
        node = standing.find(account)
        score = float(standing.scores[node])
        return _json(
            {
                "account": account,
                "key": path_key(account),
                "score": score,
                "probability": score,
                "class": opened.model.positive,
                "rank": standing.rank(node),
                "of": standing.num_ranked,
                "alert": standing.is_alert(node),
                "threshold": standing.threshold,
                **_as_of(published),
                **({} if explained is None else {"reasons": _reasons(explained)}),
            }
        )

    async def get_accounts(self, request: Request) -> Response:
        """The accounts with the highest scores, all or those whose id has a text in it."""
        published, limit, text = self._service.opened.published, listed(request), search_text(request)
        rows = await asyncio.to_thread(ranked_rows, published.standing, limit, text)
        return _json({"of": published.standing.num_ranked, "accounts": rows, **_as_of(published)})

    async def get_alerts(self, request: Request) -> Response:
        """The accounts at or above the threshold, the highest first."""
        published, limit = self._service.opened.published, listed(request)
        standing = published.standing
        rows = await asyncio.to_thread(ranked_rows, standing, min(limit, standing.num_alerts))
        return _json(
            {
                "threshold": standing.threshold,
                "alerts": standing.num_alerts,
                "accounts": rows,
                **_as_of(published),
            }
        )

    async def get_stream(self, request: Request) -> Response:
        """Changes as they happen, as server-sent events."""
        wanted = request.query_params.get("changes", "all")
        if wanted not in get_args(Wanted):
            raise ProblemError(400, f"changes: must be one of {', '.join(get_args(Wanted))}.")
        feed = self._service.feed
        if not self._service.ready or feed.num_readers >= self._limits.streams:
            raise busy("There is no room for another stream. Close one, or try again.")
        last = request.headers.get("last-event-id")
        return StreamingResponse(feed.read(cast(Wanted, wanted), last), media_type="text/event-stream")

    async def get_health(self, request: Request) -> Response:
        """Whether the process answers."""
        return _json({"status": "ok"})

    async def get_readiness(self, request: Request) -> Response:
        """Whether it can answer about accounts."""
        if not self._service.ready:
            raise busy(f"Not ready: {self._service.state}.")
        return _json({"status": "ready"})

    async def get_metrics(self, request: Request) -> Response:
        """Figures for Prometheus."""
        connections, cut = self._connections()
        gauges: dict[str, float] = {
            "gtea_ready": float(self._service.ready),
            "gtea_resident_bytes": resident_bytes(),
            "gtea_streams": self._service.feed.num_readers,
            "gtea_stream_overflows_total": self._service.feed.overflows,
            "gtea_connections": connections,
            "gtea_connections_cut_total": cut,
        }
        if self._service.ready:
            opened = self._service.opened
            published = opened.published
            gauges |= {
                "gtea_accounts": published.standing.num_ranked,
                "gtea_alerts": published.standing.num_alerts,
                "gtea_pending_accounts": published.standing.pending,
                "gtea_last_event": published.number,
                "gtea_log_bytes": opened.writer.log_bytes,
                "gtea_log_events": published.number - opened.writer.held,
                "gtea_checkpoints_total": opened.checkpoints.done,
                "gtea_checkpoint_failures_total": opened.checkpoints.failed,
            }
        return Response(self._metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def get_openapi(self, request: Request) -> Response:
        """The description of all this."""
        return Response(openapi(), media_type="application/json")


@cache
def openapi() -> bytes:
    """The OpenAPI document of the service."""
    return (resources.files("gtea.service") / "openapi.json").read_bytes()


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    raise ProblemError(404, "There is nothing at this address. /openapi.json has those that there are.")


def _json(content: dict[str, Any]) -> Response:
    return Response(json.dumps(content, ensure_ascii=False).encode(), media_type="application/json")


def _as_of(published: Published) -> dict[str, Any]:
    return {"as_of_event": published.number, "pending": published.standing.pending}


def _reasons(explained: Explained) -> dict[str, Any]:
    parties = [{**each, "key": path_key(each["account"])} for each in explained.answer["counterparties"]]
    return {
        "as_of_event": explained.as_of.number,
        "num_counterparties": explained.answer["num_counterparties"],
        "counterparties": parties,
    }


def _receipt(receipt: Receipt) -> dict[str, Any]:
    accepted = receipt.accepted
    return {
        "accepted": accepted.count,
        "first": accepted.first,
        "last": accepted.first + accepted.count - 1,
        "repeated": accepted.repeated,
        "scores": [
            {
                "account": each.account,
                "key": path_key(each.account),
                "old": each.old,
                "new": each.new,
                "alert": each.alert,
                "marked": each.marked,
            }
            for each in receipt.scores
        ],
        "scored_together": receipt.together,
        "as_of_event": receipt.number,
    }
