"""``gtea monitor``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import json_option
from gtea.cli.places import MODEL, STORE
from gtea.cli.terminal import print_json, say, warn
from gtea.cli.train import device_option
from gtea.cli.verified import check_store, verify_option
from gtea.errors import LimitError, UsageError


def _limit(flag: str, default: str, help: str) -> Callable[[Any], Any]:
    return click.option(flag, default=default, show_default=True, metavar="X|none", help=help)


@click.command("monitor")
@click.argument("model", type=MODEL)
@click.argument("store", type=STORE)
@click.option("--out", required=True, metavar="DIR", help="The folder for index.html and monitor.json.")
@click.option("--as-of", metavar="T", help="Nothing at or after T is seen; default just after the last event.")
@click.option("--labels", metavar="FILE", help="Labels that came in: columns account, label and, better, known_at.")
@click.option("--days", default=14, show_default=True, metavar="N", help="Days to show, and days before training.")
@click.option(
    "--checked-days", default=1, show_default=True, metavar="N", help="How many of the latest are held to the limits."
)
@click.option("--steps-per-day", default=1, show_default=True, metavar="N", help="In a store of steps.")
@click.option("--trained-as-of", metavar="T", help="The training cut, for a model that doesn't say it.")
@_limit("--max-score-drift", "0.25", "PSI of a day's scores.")
@_limit("--max-feature-drift", "0.25", "PSI of any feature on a day.")
@_limit("--max-alert-ratio", "3", "So many times the alerts to expect by the days before training, or one of so many.")
@_limit("--max-alerts", "none", "Alerts among the active accounts of a day.")
@_limit("--max-unseen", "0.5", "Share of a day's active accounts without an event before the training cut.")
@_limit("--max-calibration", "0.05", "Difference between predicted and observed share of positives, with --labels.")
@verify_option
@device_option
@json_option
def command(
    model: str,
    store: str,
    out: str,
    as_of: str | None,
    labels: str | None,
    days: int,
    checked_days: int,
    steps_per_day: int,
    trained_as_of: str | None,
    verify: bool | None,
    device: str,
    as_json: bool,
    **allowed: str,
) -> None:
    """Compare the latest days of STORE with those before MODEL was trained: drift, alerts, new accounts, labels.

    Each day's active accounts are scored as of the end of that day. Drift is the population stability index (PSI)
    against as many days before the training cut, which the store must hold. A limit is crossed only if chance does not
    explain it.

    Exit code 6 if a limit is crossed; the page and the figures are written either way.

    \b
      gtea monitor payments.model payments.store --labels came_in.csv --out monitor
    """
    from gtea.monitoring.limits import Limits
    from gtea.monitoring.monitor import PAGE, MonitorOptions, monitor
    from gtea.runtime.device import resolve_device

    numbers: dict[str, Any] = {name.removeprefix("max_"): _number(name, text) for name, text in allowed.items()}
    options = MonitorOptions(as_of, labels, days, checked_days, steps_per_day, trained_as_of, Limits(**numbers))
    check_store(store, verify=verify is not False)
    with progress_bar() as progress:
        record = monitor(Path(model), Path(store), Path(out), options, device=resolve_device(device), progress=progress)
    crossed = record["crossed"]
    if as_json:
        print_json(record)
    else:
        last = record["days"][-1]
        alerts = "" if last["alerts"] is None else f", {last['alerts']:,} alerts"
        drift = last["score_drift"]["psi"]
        active = f"{last['accounts']:,} active accounts, {last['events']:,} events"
        say(f"{last['day']}: {active}{alerts}, score PSI {drift:.3f}")
        say(f"open {Path(out) / PAGE}")
    if crossed and not as_json:
        raise LimitError(
            f"{record['model']}: is outside of {len(crossed)} of its limits:",
            *(f"  {each['day'] or 'labels'}: {each['text']} ({each['limit']})" for each in crossed),
            "Look at the page; train again if the change is there to stay, or set another limit.",
        )
    if crossed:
        warn(f"{len(crossed)} limits crossed")
        raise click.exceptions.Exit(LimitError.exit_code)


def _number(name: str, text: str) -> float | int | None:
    if text.strip().lower() == "none":
        return None
    try:
        return int(text) if name == "max_alerts" else float(text)
    except ValueError as error:
        raise UsageError(f"--{name.replace('_', '-')}: must be a number, or none (got {text!r}). Try none.") from error
