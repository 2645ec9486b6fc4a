"""``gtea demo``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.output import json_option, print_json, printable, progress_bar, training_bar

if TYPE_CHECKING:
    from gtea.training.request import NodeRequest

# What two cores do in a few minutes; a real run would train longer.
_SETTINGS = ("train.epochs=30",)
_ILLICIT_SHARE = 0.3


@click.command("demo")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="Where to put data, store and model.")
@click.option("--accounts", default=4_000, show_default=True, metavar="N", help="How many accounts.")
@click.option("--events", default=80_000, show_default=True, metavar="M", help="How many payments.")
@json_option
def command(out: str, accounts: int, events: int, as_json: bool) -> None:
    """Generate payments, ingest them, train GTEA, and rank the accounts; a tree on account statistics to compare.

    Both are trained on the earliest 60 % of the accounts and metrics_of on the latest 20 %. A few minutes on two cores.
    Safe to repeat: the store of an earlier run is replaced, and its model used again if it would come out the same.
    """
    started = time.monotonic()
    folder = Path(out)
    _make_store(folder, accounts, events)
    if not as_json:
        from gtea.cli.info import show
        from gtea.store.store import Store

        show(Store.open(folder / "payments.store"), as_json=False, histograms=True)
        click.echo("\ntraining GTEA ...")
    request = _request(folder)
    facts = {
        "gtea": _train(request, folder / "payments.model"),
        "tree": _train(_request(folder, "tree"), folder / "tree.model"),
        "top": _rank(folder, request),
        "seconds": round(time.monotonic() - started, 1),
    }
    if as_json:
        print_json(facts)
        return
    _show(facts, folder)


def _make_store(folder: Path, accounts: int, events: int) -> None:
    from gtea.datasets.payments import PaymentsSpec, write_payments
    from gtea.ingestion.ingest import ingest

    with progress_bar() as progress:
        progress("generating payments", None)
        write_payments(PaymentsSpec(accounts=accounts, events=events, illicit_share=_ILLICIT_SHARE), folder)
        ingest(
            folder / "transactions.parquet",
            src="payer",
            dst="payee",
            time="timestamp",
            time_unit="s",
            features=["amount"],
            labels=folder / "labels.csv",
            out=folder / "payments.store",
            overwrite=True,
            progress=progress,
        )


def _request(folder: Path, variant: str | None = None) -> NodeRequest:
    from gtea.training.request import NodeRequest

    return NodeRequest.read(
        folder / "payments.store", folder / "labels.csv", variant=variant, settings=_SETTINGS, positive="illicit"
    )


def _train(request: NodeRequest, out: Path) -> dict[str, Any]:
    """The test figures of the model: trained now, or by an earlier demo from the same data and settings."""
    import shutil

    from gtea.errors import ModelError
    from gtea.models.model_folder import load_model
    from gtea.training.request import run_once

    try:
        earlier = load_model(out)
    except ModelError:
        earlier = None
    wanted = json.loads(json.dumps(request.config.to_json()))
    if earlier and earlier.facts["data_digest"] == request.store.digest and earlier.config["run"] == wanted:
        return dict(earlier.metrics["test"])
    shutil.rmtree(out, ignore_errors=True)
    with training_bar() as listener:
        return dict(run_once(request, str(out), None, listener)["test"])


def _rank(folder: Path, request: NodeRequest) -> list[dict[str, Any]]:
    from gtea.scoring.table import score_accounts

    result = score_accounts(
        folder / "payments.model", folder / "payments.store", folder / "scores.csv", device=request.device
    )
    top: list[dict[str, Any]] = result["top"]
    return top


def _show(facts: dict[str, Any], folder: Path) -> None:
    click.echo(f"\n{'test, latest 20 % of accounts':<32}{'hybrid':>10}{'tree':>10}")
    for name in ("macro_f1", "accuracy", "average_precision", "roc_auc"):
        click.echo(f"{name:<32}{facts['gtea'][name]:>10.4f}{facts['tree'][name]:>10.4f}")
    click.echo("\nthe ten most suspicious accounts")
    for row in facts["top"]:
        click.echo(f"{row['rank']:>4}  {row['score']:.4f}  {printable(row['account'])}")
    click.echo(f"\n{facts['seconds']} s. Everything is in {printable(str(folder))}: the store, the model, scores.csv.")
