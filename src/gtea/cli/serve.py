"""``gtea serve``."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import Any

import click

from gtea.cli.output import memory_option
from gtea.cli.places import MODEL, STORE
from gtea.cli.terminal import warn
from gtea.errors import UsageError


@click.command("serve")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8642, show_default=True, help="0 takes a free one.")
@click.option("--token-file", metavar="FILE", help="A file with the token to ask for; needed for all but loopback.")
@click.option("--allow-host", "allowed_hosts", multiple=True, metavar="NAME", help="A name to answer to, as a proxy's.")
@click.option("--tls-cert", metavar="FILE", help="The certificate and its chain, for TLS.")
@click.option("--tls-key", metavar="FILE", help="The key of the certificate.")
@click.option("--log", metavar="DIR", help="Where events are kept until STORE holds them; default STORE.serve.")
@click.option(
    "--checkpoint-events",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Append to STORE after N events.",
)
@click.option(
    "--checkpoint-minutes",
    type=click.FloatRange(0.01),
    default=60.0,
    show_default=True,
    metavar="M",
    help="Append to STORE when an event has waited so long.",
)
@click.option(
    "--access-log",
    type=click.Choice(["none", "routes", "ids"]),
    default="none",
    show_default=True,
    help="Log requests: none, without account ids, or with them.",
)
@memory_option
def command(model: str, store: str, log: str | None, memory: str, **options: Any) -> None:
    """Serve the scores of STORE by MODEL over HTTP, while events arrive.

    POST /events takes JSON lines with the columns of STORE, and answers when they are on disk and scored. Scores,
    alerts, case pages, a stream of changes and figures for Prometheus are read from the same address; / is a page for
    people. Ctrl-C ends it after what was begun.

    \b
      gtea serve payments.model payments.store
      gtea serve payments.model payments.store --host 0.0.0.0 --token-file token --tls-cert cert.pem --tls-key key.pem
    """
    if importlib.util.find_spec("uvicorn") is None or importlib.util.find_spec("starlette") is None:
        raise UsageError("gtea serve: needs the extra serve. Install it with: pip install 'gtea[serve]'")
    from gtea.service.live_service import ServedFiles
    from gtea.service.log_checkpoints import CheckpointPlan
    from gtea.service.run_service import ServeOptions, run_service

    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[_Lines()], force=True)
    logging.getLogger("gtea").setLevel(logging.INFO)
    plan = CheckpointPlan(options.pop("checkpoint_events"), 60 * options.pop("checkpoint_minutes"), memory)
    files = ServedFiles(Path(model), Path(store), Path(log or f"{store.rstrip('/')}.serve").absolute(), plan)
    for name in ("token_file", "tls_cert", "tls_key"):
        options[name] = None if options[name] is None else Path(options[name])
    run_service(files, ServeOptions(**options), warn)


class _Lines(logging.Handler):
    """What is logged, on standard error: each line inert."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, line by line."""
        warn(*self.format(record).splitlines())
