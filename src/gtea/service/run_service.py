"""``gtea serve``: a socket, uvicorn, the routes and the service together, until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from gtea.errors import UsageError
from gtea.service.access import Access, is_loopback, read_token
from gtea.service.client_limits import ClientLimits
from gtea.service.guarded_protocol import protocol_with
from gtea.service.live_service import LiveService, ServedFiles
from gtea.service.request_guard import AccessLog, RequestGuard
from gtea.service.routes import Routes
from gtea.service.service_metrics import ServiceMetrics

_LAST_ANSWERS = 10
_SWITCH_INTERVAL = 5e-4


@dataclass(frozen=True)
class ServeOptions:
    """How to listen, and to whom."""

    host: str = "127.0.0.1"
    port: int = 8642
    token_file: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    access_log: AccessLog = "none"
    limits: ClientLimits = field(default_factory=ClientLimits)


def run_service(files: ServedFiles, options: ServeOptions, say: Callable[[str], None]) -> None:
    """Serve until a signal.

    Args:
        say: Tells the user where the service listens, and who can reach it.
    """
    access = _access(options)
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert, --tls-key: go together (got one of them). Give both.")
    for file in (options.tls_cert, options.tls_key):
        if file is not None and not file.is_file():
            raise UsageError(f"{file}: must be a file in PEM format. Check --tls-cert and --tls-key.")
    listener = _listening(options)
    with contextlib.closing(listener):
        for line in _told(listener, options):
            say(line)
        service = LiveService(files)
        with _switching_often():
            asyncio.run(_serve(service, access, options, listener, say))
    if service.error is not None:
        raise service.error


async def _serve(
    service: LiveService, access: Access, options: ServeOptions, listener: socket.socket, say: Callable[[str], None]
) -> None:
    metrics, protocol = ServiceMetrics(), protocol_with(options.limits)
    routes = Routes(
        service, options.limits, metrics, lambda: (len(server.server_state.connections), protocol.cut)
    ).router()
    guard = RequestGuard(routes, access, options.limits, metrics, options.access_log)
    config = uvicorn.Config(
        guard,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=options.limits.header,
        timeout_keep_alive=int(options.limits.keep_alive),
        timeout_graceful_shutdown=_LAST_ANSWERS,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    server = _Server(config, service.feed.close)

    def failed() -> None:
        server.should_exit = True

    running = asyncio.create_task(service.run(failed))
    told = asyncio.create_task(_tell_when_ready(service, say))
    try:
        await server.serve(sockets=[listener])
    finally:
        told.cancel()
        await asyncio.to_thread(service.stop)
        await running


async def _tell_when_ready(service: LiveService, say: Callable[[str], None]) -> None:
    while not service.ready:
        await asyncio.sleep(0.1)
    published = service.opened.published
    say(f"ready: {published.standing.num_ranked:,} accounts as of event {published.number:,} of the log")


class _Server(uvicorn.Server):
    """Ends streams with the first signal: they have no end of their own. A clean end is no error."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals, and don't raise them again once the service has ended."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams, then all else."""
        self._end_streams()
        await super().shutdown(sockets)


@contextlib.contextmanager
def _switching_often() -> Iterator[None]:
    """The thread that answers waits for the one that scores: up to 5 ms by default, each time it reads or sends."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _access(options: ServeOptions) -> Access:
    if options.token_file is None and not is_loopback(options.host):
        raise UsageError(
            f"--host {options.host}: can be reached from other machines, so a token must be asked for. "
            "Give --token-file, or listen on 127.0.0.1 behind a proxy that asks who is there."
        )
    token = None if options.token_file is None else read_token(options.token_file)
    return Access.of(options.host, options.allowed_hosts, token)


def _listening(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host.strip("[]"), options.port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(
            f"--host {options.host}, --port {options.port}: can't listen there ({error.strerror}). Choose others."
        ) from error
    return listener


def _told(listener: socket.socket, options: ServeOptions) -> Iterator[str]:
    scheme = "http" if options.tls_cert is None else "https"
    host = f"[{options.host}]" if ":" in options.host else options.host
    yield f"listening on {scheme}://{host}:{listener.getsockname()[1]}"
    if is_loopback(options.host):
        if options.token_file is None:
            yield "every user of this machine can read scores and send events; --token-file asks for a token"
        return
    yield f"every machine that reaches {options.host} and has the token can read scores and send events"
    if options.tls_cert is None:
        yield "warning: without TLS, whoever listens on the network reads the token. Give --tls-cert and --tls-key"
