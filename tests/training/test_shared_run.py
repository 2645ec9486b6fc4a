"""One run by 1, 2, 3 or 4 workers: the same bytes. And worlds that don't fit together."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from gtea.errors import ModelError
from gtea.training import run_record
from gtea.training.loop import TrainingReport, no_report
from gtea.training.request import LinkRequest, NodeRequest
from gtea.training.shared_run import train_shared
from gtea.training.workers import Workers

from .conftest import QUICK
from .worlds import alone, in_workers

MADE = ("model.safetensors", "metrics.jsonl", "metrics.json", "calibration.json", "thresholds.json", "config.json")


def read(kind: str, store: Path, labels: Path, variant: str, *settings: str) -> NodeRequest | LinkRequest:
    words = [*QUICK, "train.epochs=2", "train.micro_batches=4", *settings]
    if kind == "links":
        return LinkRequest.read(store, variant=variant, settings=words, device="cpu")
    return NodeRequest.read(store, labels, variant=variant, settings=words, device="cpu")


def train(workers: Workers, out: Path, *words: Any) -> dict[str, str] | None:
    """Train; the digests of what was made."""
    model = train_shared(lambda: read(*words), str(out), None, workers, no_report)
    return None if model is None else digests(out)


def digests(out: Path) -> dict[str, str]:
    return {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in MADE if (out / name).exists()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "variant", "counts"),
    [("nodes", "hybrid", (2, 4)), ("links", "hybrid", (3,)), ("nodes", "gtea-tx+t", (2,))],
)
def test_the_bytes_do_not_depend_on_the_number_of_workers(
    payments: Any, tmp_path: Path, kind: str, variant: str, counts: tuple[int, ...]
) -> None:
    words = (kind, payments.store.path, payments.labels, variant)
    plain = alone(train, tmp_path / "alone", *words)
    assert len(plain) >= 4
    for count in counts:
        out = tmp_path / f"by-{count}"
        assert in_workers(count, train, out, *words) == [plain, *[None] * (count - 1)]
        assert not (out / "checkpoint.safetensors").exists()


def test_the_number_of_micro_batches_matters(payments: Any, tmp_path: Path) -> None:
    words = ("nodes", payments.store.path, payments.labels, "gtea-l+t")
    one = alone(train, tmp_path / "1", *words, "train.micro_batches=1", "train.epochs=1")
    two = alone(train, tmp_path / "2", *words, "train.micro_batches=2", "train.epochs=1")
    assert one["model.safetensors"] != two["model.safetensors"]


def train_what_differs(workers: Workers, out: Path, words: Any, how: str) -> Any:
    kind, store, labels, variant = words
    settings: tuple[str, ...] = ()
    if workers.number == 1:
        if how == "versions":
            versions = {**run_record.versions(), "torch": "0.1"}
            pytest.MonkeyPatch().setattr(run_record, "versions", lambda: versions)
        elif how == "settings":
            settings = ("train.lr=0.5",)
        elif how == "store":
            store = labels.with_name("other")
        else:
            labels = labels.with_name("nothing.csv")
    return train(workers, out, kind, store, labels, variant, *settings)


@pytest.mark.slow
def test_worlds_that_do_not_fit_together_are_refused(payments: Any, tmp_path: Path) -> None:
    """Another store has another digest: here because it has one event less."""
    import pyarrow.parquet as pq

    from gtea.ingestion.ingest import ingest

    labels = Path(shutil.copy(payments.labels, tmp_path / "labels.csv"))
    rows = pq.read_table(payments.folder / "transactions.parquet")
    ingest(
        rows.slice(0, len(rows) - 1),
        src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=tmp_path / "other",
    )  # fmt: skip
    words = ("nodes", payments.store.path, labels, "gtea-l+t")
    for how, told in [
        ("settings", "config.train.lr must be the same in all workers (got 0.5 in worker 1 on "),
        ("versions", "versions.torch must be the same in all workers (got '0.1' in worker 1 on "),
        ("store", "must be the same in all workers (got "),
    ]:
        (leader, other) = in_workers(2, train_what_differs, tmp_path / "m", words, how)
        assert leader[0] == "UsageError"
        assert told in leader[1]
        assert other == 2
    leader, other = in_workers(2, train_what_differs, tmp_path / "m", words, "labels")
    assert leader[0] in ("UsageError", "DataError")
    assert leader[1].startswith("worker 1: ")
    assert "nothing.csv" in leader[1]
    assert not (tmp_path / "m").exists()  # nobody has begun


def test_the_same_words_go_on_and_a_finished_run_is_left_alone(payments: Any, tmp_path: Path) -> None:
    words = ("nodes", payments.store.path, payments.labels, "gtea-l+t", "train.epochs=1")
    plain = alone(train, tmp_path / "plain", *words)
    stopped = tmp_path / "stopped"

    class StopError(Exception):
        pass

    def stop(report: TrainingReport) -> None:
        raise StopError

    with pytest.raises(StopError):
        train_shared(lambda: read(*words), str(stopped), None, Workers(), stop)
    assert (stopped / run_record.RUN).exists()
    assert alone(train, stopped, *words) == plain
    before = (stopped / "model.safetensors").stat().st_mtime_ns
    assert alone(train, stopped, *words) == plain
    assert (stopped / "model.safetensors").stat().st_mtime_ns == before
    (stopped / run_record.RUN).write_text("{")
    with pytest.raises(ModelError, match="holds no run to resume"):
        alone(train, stopped, *words)
