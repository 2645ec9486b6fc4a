"""``gtea watch``."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.output import any_date_option
from gtea.cli.places import MODEL, STORE
from gtea.cli.terminal import say, warn
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.live.event_lines import BadLine, EventLines
    from gtea.live.growing_input import GrowingInput
    from gtea.live.live_scorer import Changes, LiveScorer

_REPORTED = 20
"""How many bad lines are named on standard error; all are in the file."""


@click.command("watch")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.option("--events", required=True, metavar="FILE", help="A file that grows; - for standard input.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["auto", "json", "csv"]),
    default="auto",
    show_default=True,
    help="JSON lines, or CSV with a header.",
)
@click.option(
    "--replay/--from-now",
    default=True,
    show_default=True,
    help="Read what the file holds already, or only what is added from now on.",
)
@click.option("--once", is_flag=True, help="Stop at the end of the file instead of waiting for more.")
@click.option("--batch", type=click.IntRange(1), default=256, show_default=True, help="Score after at most N events.")
@click.option(
    "--all",
    "compute_all",
    is_flag=True,
    help="After each batch compute every account that it reaches, not only the nearest.",
)
@click.option("--state", metavar="FILE", help="Keep the state here, so that a restart need not score everything again.")
@click.option(
    "--save-every",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Seconds between saves.",
)
@click.option("--dead-letters", metavar="FILE", help="Where bad lines go; default STORE.dead_letters.jsonl.")
@any_date_option
def command(
    model: str,
    store: str,
    events: str,
    form: Any,
    replay: bool,
    once: bool,
    batch: int,
    compute_all: bool,
    state: str | None,
    save_every: float,
    dead_letters: str | None,
    allow_any_date: bool,
) -> None:
    """Score events with MODEL as they arrive, on top of those in STORE, which does not change.

    Prints a JSON line for each account whose score has changed: account, old (null for a new account), new, alert. An
    event is a line with the columns of the store. A line that can't become an event is reported with its number and
    written to the dead letters, and the stream goes on. Ctrl-C ends it after the batch at hand.

    After a batch, both ends of every event and the accounts nearest to them are computed. What else the events reach
    is computed at the end, or after each batch with --all.

    \b
      tail -f events.jsonl | gtea watch payments.model payments.store --events -
      gtea watch payments.model payments.store --events events.csv --state payments.live
    """
    from gtea.live.event_lines import EventLines
    from gtea.live.growing_input import GrowingInput
    from gtea.live.live_scorer import PER_UPDATE, LiveScorer

    source = GrowingInput(sys.stdin.fileno() if events == "-" else Path(events), once=once)
    if not replay and state is not None and source.is_file:
        raise UsageError("--from-now, --state: give one of them. A state goes on where it was saved.")
    per_update = None if compute_all else PER_UPDATE
    options: dict[str, Any] = {"per_update": per_update, "allow_any_date": allow_any_date}
    scorer = LiveScorer(model, store, state=state, still_fits=source.skip_to if source.is_file else None, **options)
    lines = EventLines(scorer.reader, form)
    if not replay or source.num_lines:
        lines.read([(1, source.first_line())] if _is_header(source, form) else [])
    if not replay:
        source.skip_to_end()
    letters = Path(dead_letters or f"{store.rstrip('/')}.dead_letters.jsonl")
    warn(f"watching {events}: {scorer.num_accounts:,} accounts, {scorer.num_events:,} events since the store was made")
    Watch(scorer, source, lines, letters, save_every if state is not None else None).run(batch)


class Watch:
    """One run."""

    def __init__(
        self, scorer: LiveScorer, source: GrowingInput, lines: EventLines, letters: Path, save_every: float | None
    ) -> None:
        self._scorer, self._source, self._lines = scorer, source, lines
        self._letters, self._save_every = letters, save_every
        self._stopped = False
        self._taken = self._bad = self._changed = 0

    def run(self, batch: int) -> None:
        """Read until the end or a signal."""
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        saved = time.monotonic()
        try:
            for numbered in self._source.batches(batch, lambda: self._stopped):
                if numbered:
                    self._score(numbered)
                if self._save_every is not None and time.monotonic() >= saved + self._save_every and self._taken:
                    self._scorer.save(self._source.position)
                    saved = time.monotonic()
            self._print(self._scorer.settle())
            if self._save_every is not None:
                self._scorer.save(self._source.position)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        bad = f", {self._bad:,} bad lines in {self._letters}" if self._bad else ""
        warn(f"{self._taken:,} events, {self._changed:,} changed scores{bad}")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopped = True

    def _score(self, numbered: list[tuple[int, bytes]]) -> None:
        from gtea.errors import DataError
        from gtea.live.event_lines import bad_line

        rows, bad = self._lines.read(numbered)
        try:
            changes = self._scorer.update_records([row for _, _, row in rows])
            self._taken += changes.num_events
            self._print(changes)
        except DataError:
            # Events that don't go together, as times that need different units: each alone.
            for number, line, row in rows:
                try:
                    changes = self._scorer.update_records([row])
                    self._taken += changes.num_events
                    self._print(changes)
                except DataError as error:
                    bad.append(bad_line(number, line, str(error)))
        if bad:
            self._report(bad)

    def _print(self, changes: Changes) -> None:
        self._changed += len(changes)
        columns = changes.accounts, changes.old.tolist(), changes.new.tolist(), changes.alert.tolist()
        for account, old, new, alert in zip(*columns, strict=True):
            known = None if old != old else old
            say(json.dumps({"account": account, "old": known, "new": new, "alert": alert}))
        sys.stdout.flush()

    def _report(self, bad: list[BadLine]) -> None:
        from gtea.runtime.files import appended

        with appended(self._letters) as stream:
            for line in bad:
                letter = {"line": line.number, "reason": line.reason, "text": line.text}
                stream.write((json.dumps(letter) + "\n").encode())
        for line in bad[: max(0, _REPORTED - self._bad)]:
            warn(f"line {line.number}: {line.reason}")
        self._bad += len(bad)


def _is_header(source: GrowingInput, form: str) -> bool:
    """Whether the first line of a file that is not read from its start is the header of the lines that follow."""
    first = source.first_line().lstrip()
    return bool(first) and (form == "csv" or (form == "auto" and first[:1] not in (b"{", b"[")))
