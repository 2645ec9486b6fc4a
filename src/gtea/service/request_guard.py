"""What every request passes: names, token, rate and origin on its way in, headers and errors on its way out."""

from __future__ import annotations

import logging
import time
import traceback
from typing import Literal

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from gtea.runtime.printable import shortened
from gtea.service.access import Access
from gtea.service.client_limits import ClientLimits, RateLimit
from gtea.service.problem import ProblemError
from gtea.service.service_metrics import ServiceMetrics

AccessLog = Literal["none", "routes", "ids"]
"""Which requests are logged: none, all with their route, or with their path, in which accounts are named."""
_OPEN = ("/healthz", "/readyz")
"""What may be asked without a token: a balancer has none, and learns nothing."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SEALED = "default-src 'none'; frame-ancestors 'none'"
_LONGEST_LINE = 500


class RequestGuard:
    """An ASGI application around the routes."""

    def __init__(
        self, routes: Router, access: Access, limits: ClientLimits, metrics: ServiceMetrics, access_log: AccessLog
    ) -> None:
        self._routes, self._access, self._limits = routes, access, limits
        self._metrics, self._access_log = metrics, access_log
        self._requests, self._failures = RateLimit(limits.rate), RateLimit(limits.failures)
        self._log = logging.getLogger("gtea.service")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        assert scope["type"] == "http", "no lifespan and no websockets"
        begun, status = time.perf_counter(), 0

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                _seal(MutableHeaders(scope=message))
            await send(message)

        try:
            self._require(scope)
            await self._routes(scope, receive, guarded_send)
        except ProblemError as problem:
            if not status:
                await problem.response()(scope, receive, guarded_send)
        except Exception as error:
            self._tell(error)
            if status:
                raise _CutError from None  # the answer has begun: the connection is closed
            unknown = ProblemError(500, "Something is wrong in the service. Its log says what.")
            await unknown.response()(scope, receive, guarded_send)
        finally:
            self._count(scope, status, time.perf_counter() - begun)

    def _require(self, scope: Scope) -> None:
        # The protocol limits what is read for a head that is not complete; one that comes at once may be larger.
        head = sum(len(name) + len(value) for name, value in scope["headers"])
        if head + len(scope["raw_path"]) + len(scope["query_string"]) > self._limits.header:
            raise ProblemError(
                431, f"The line and headers of a request must have at most {self._limits.header:,} bytes."
            )
        headers, method = Headers(scope=scope), scope["method"]
        client = scope["client"][0] if scope["client"] else ""
        host = headers.get("host")
        if len(headers.getlist("host")) != 1 or not self._access.knows_host(host):
            raise ProblemError(
                421, "Host: must be a name of this service. Use its address, or start it with --allow-host."
            )
        if not self._requests.allows(client):
            raise ProblemError(429, "Too many requests from this address. Send more events in each.", headers=_LATER)
        if scope["path"] not in _OPEN:
            self._require_token(headers, client)
        if method not in ("GET", "HEAD") and not self._access.is_own_page(
            headers.get("origin"), host, headers.get("sec-fetch-site")
        ):
            raise ProblemError(403, "A page of another site may not send this.")

    def _require_token(self, headers: Headers, client: str) -> None:
        if not self._failures.allows(client, 0.0):
            raise ProblemError(429, "Too many wrong tokens from this address.", headers=_LATER)
        if not self._access.is_allowed(headers.get("authorization")):
            self._failures.allows(client)
            # Basic alone: of a header with two schemes Chromium reads the first, and for Bearer it asks nobody.
            raise ProblemError(
                401,
                "Authorization: must have the token of this service. Send Bearer and the token.",
                headers={"www-authenticate": 'Basic realm="gtea", charset="UTF-8"'},
            )

    def _tell(self, error: Exception) -> None:
        """Log where an error came from. What it says may name accounts, and is left out unless these may be logged."""
        said = f": {error}" if self._access_log == "ids" else ""
        where = "".join(traceback.format_tb(error.__traceback__))
        self._log.error("a request failed with %s%s\n%s", type(error).__name__, shortened(said, _LONGEST_LINE), where)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = scope.get("route")
        name = "other" if route is None else str(route.path)
        self._metrics.count(method, name, status, seconds)
        if self._access_log != "none":
            path = shortened(scope["path"], _LONGEST_LINE) if self._access_log == "ids" else name
            self._log.info("%s %s %d %.1f ms", method, path, status, 1000 * seconds)


class _CutError(Exception):
    """An answer that can't be finished."""


_LATER = {"retry-after": "1"}


def _seal(headers: MutableHeaders) -> None:
    """What a browser must not do with an answer."""
    headers["x-content-type-options"] = "nosniff"
    headers["cross-origin-resource-policy"] = "same-origin"
    headers.setdefault("cache-control", "no-store")
    headers.setdefault("content-security-policy", _SEALED)
    if headers.get("content-type", "").startswith("text/html"):
        headers["referrer-policy"] = "no-referrer"
        headers["x-frame-options"] = "DENY"
        headers["cross-origin-opener-policy"] = "same-origin"
