"""``gtea demo``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gtea.cli.bars import progress_bar, training_bar
from gtea.cli.output import json_option, print_warnings
from gtea.cli.terminal import cell, print_json, say

if TYPE_CHECKING:
    from gtea.training.request import NodeRequest
    from gtea.training.results import TrainingResult

# A minute or two on two cores; a real run would train longer.
_SETTINGS = ("train.epochs=30",)
_ILLICIT_SHARE = 0.3
_POSITIVE = "illicit"


@click.command("demo")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="Where to put data, store and model.")
@click.option("--accounts", default=4_000, show_default=True, metavar="N", help="How many accounts.")
@click.option("--events", default=80_000, show_default=True, metavar="M", help="How many payments.")
@json_option
def command(out: str, accounts: int, events: int, as_json: bool) -> None:
    """Generate payments, ingest them, train a model, and rank accounts that it has not seen.

    Some accounts gamble: only the order and timing of payments within a pair give them away, so boosted trees on
    account statistics can't find them. The model is trained on the earliest 60 % of the accounts and tested on the
    latest 20 %. Safe to repeat: the store is made again, and the model is reused if it would come out the same.
    """
    started = time.monotonic()
    folder = Path(out)
    _make_store(folder, accounts, events)
    if not as_json:
        from gtea.cli.info import show
        from gtea.store.store import Store

        show(Store.open(folder / "payments.store"), as_json=False, histograms=True)
        say("", "training ...")
    request = _request(folder)
    result = _train(request, folder / "payments.model")
    facts = {
        "test": result["test"],
        "trees_alone": result["test_trees_alone"],
        "top": _rank(folder, request),
        "seconds": round(time.monotonic() - started, 1),
    }
    if as_json:
        print_json(facts)
        return
    _show(result, facts, folder)


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


def _request(folder: Path) -> NodeRequest:
    from gtea.training.request import NodeRequest

    return NodeRequest.read(folder / "payments.store", folder / "labels.csv", settings=_SETTINGS, positive=_POSITIVE)


def _train(request: NodeRequest, out: Path) -> TrainingResult:
    """The result of a training: done now, or by an earlier demo with the same data and settings."""
    import shutil

    from gtea.errors import ModelError
    from gtea.models.model_folder import load_model
    from gtea.training.request import result_of, run_once

    try:
        earlier = load_model(out)
    except ModelError:
        earlier = None
    wanted = json.loads(json.dumps(request.config.to_json()))
    if earlier and earlier.facts["data_digest"] == request.store.digest and earlier.config["run"] == wanted:
        return result_of(earlier, out)
    shutil.rmtree(out, ignore_errors=True)
    with training_bar() as listener:
        return run_once(request, str(out), None, listener)


def _rank(folder: Path, request: NodeRequest) -> list[dict[str, Any]]:
    """The highest scores among the accounts of the test part, with what the generator says of them."""
    import pyarrow as pa

    from gtea.scoring.table import score_accounts

    store, labels, part = request.store, request.labels, request.split().test
    assert part is not None
    nodes = labels.nodes[part.index]
    names = store.accounts.take(nodes).to_pylist()
    truth = dict(zip(names, (labels.classes[target] for target in labels.targets[part.index]), strict=True))
    scored = score_accounts(
        folder / "payments.model",
        folder / "payments.store",
        folder / "scores.csv",
        accounts=pa.table({"account": names}),
        device=request.device,
    )
    view = store.as_of()
    return [{**row, "label": truth[row["account"]], "partners": view.degree(row["account"])} for row in scored["top"]]


def _show(result: TrainingResult, facts: dict[str, Any], folder: Path) -> None:
    from gtea.cli.train import result_lines

    say(*result_lines(result))
    print_warnings(result)
    found = sum(row["label"] == _POSITIVE for row in facts["top"])
    say("", f"highest scores of the test part: {found} of {len(facts['top'])} are {_POSITIVE}")
    say(f"{'rank':>4}  {'account':<10} {'score':>8}  {'partners':>8}  truth")
    for row in facts["top"]:
        name = cell(row["account"])
        say(f"{row['rank']:>4}  {name:<10} {row['score']:>8.5f}  {row['partners']:>8}  {row['label']}")
    say(
        "",
        f"{facts['seconds']} s. In {folder}: transactions.parquet, labels.csv, payments.store, payments.model and",
        "scores.csv. next: put your own table in their place, see docs/tutorials/your-own-data.md",
    )
