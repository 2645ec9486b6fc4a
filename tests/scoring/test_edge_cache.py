"""Edge embeddings on disk: reused, refused, and still there after kill -9."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from tests.models.documents import FACTS, metrics_of

from gtea.config import read_config
from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.errors import StoreError, UsageError
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.model_folder import SavedModel, load_model, save_model
from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.model import GTEA
from gtea.scoring.edge_cache import edge_cache, model_digest
from gtea.scoring.exact import ExactEmbedder
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store

CPU = torch.device("cpu")
CHUNK = 50


@dataclasses.dataclass(frozen=True)
class Ready:
    store: Store
    folder: Path
    model: NodeModel

    @property
    def everybody(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.arange(self.store.num_nodes)

    def embed(self, cache: Path, nodes: Any = None, *, cut: int | None = None) -> torch.Tensor:
        view, model = self.store.as_of(cut), self.model
        with edge_cache(cache, model.saved, self.store, view.cut, chunk=CHUNK) as kept:
            embedder = ExactEmbedder(
                cast(GTEA, model.network.gtea), view, model.preprocessing, model.config, CPU, cache=kept
            )
            return embedder.embed(self.everybody if nodes is None else np.asarray(nodes))


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    folder = tmp_path_factory.mktemp("cache")
    transactions, _ = write_payments(PaymentsSpec(accounts=100, events=1000, illicit_share=0.4), folder)
    columns = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"], "time_unit": "s"}
    store = ingest(transactions, **columns, out=folder / "store")  # type: ignore[arg-type]
    config = read_config(
        None, ["model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "sampling.fanout=2"]
    )
    preprocessing = preprocessing_for(store, store.end, config)
    spec = input_spec(preprocessing)
    network = GTEANodeClassifier(config.model, spec, 2, seed=0)
    described = {
        "run": config.to_json(), "task": "nodes", "classes": ["a", "b"], "positive": "a", "input": vars(spec),
    }  # fmt: skip
    metrics = metrics_of(["a", "b"])
    saved = SavedModel(network.state_dict(), described, preprocessing.to_json(), metrics, FACTS)
    save_model(folder / "model", saved, "Untrained.")
    return Ready(store, folder, NodeModel.open(folder / "model", CPU))


def chunks(cache: Path) -> dict[str, int]:
    """The chunks there are, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in cache.glob("slots-*")}


def test_what_was_kept_is_used_again_and_changes_nothing(ready: Ready, tmp_path: Path) -> None:
    first = ready.embed(tmp_path / "c")
    written = chunks(tmp_path / "c")
    assert len(written) == -(-len(ready.store.arrays.slot_edge) // CHUNK) > 5
    assert torch.equal(ready.embed(tmp_path / "c"), first)
    assert chunks(tmp_path / "c") == written
    fresh = ready.model.embedded(ready.store, ready.store.end, ready.everybody, EXACT).z
    torch.testing.assert_close(first, fresh, atol=1e-6, rtol=0)


def test_a_few_accounts_fill_only_the_chunks_they_need(ready: Ready, tmp_path: Path) -> None:
    everybody = ready.embed(tmp_path / "whole")
    degrees = np.diff(ready.store.arrays.node_offset)
    leaf = int(degrees.argmin())
    torch.testing.assert_close(ready.embed(tmp_path / "c", [leaf]), everybody[[leaf]], atol=1e-6, rtol=0)
    assert 0 < len(chunks(tmp_path / "c")) < len(chunks(tmp_path / "whole"))


def test_kept_embeddings_are_really_read(ready: Ready, tmp_path: Path) -> None:
    """Rows from a cache that was filled by a model with other weights give other answers."""
    before = ready.embed(tmp_path / "c")
    other = dataclasses.replace(ready, model=NodeModel(ready.model.saved, CPU))
    with torch.no_grad():
        encoder = cast(GTEA, other.model.network.gtea).edge_encoder.enc_i
        cast(LSTMEncoder, encoder).b[0].add_(1)
    assert torch.equal(other.embed(tmp_path / "c"), before)
    assert not torch.equal(other.embed(tmp_path / "other"), before)


def test_a_cache_of_another_cut_model_or_store_is_refused(ready: Ready, tmp_path: Path) -> None:
    ready.embed(tmp_path / "c")
    written = chunks(tmp_path / "c")
    with pytest.raises(
        UsageError, match=r"belongs to another model, store or cut \(different: as_of\)\. Choose another folder"
    ):
        ready.embed(tmp_path / "c", cut=ready.store.end - 1000)
    saved = ready.model.saved
    changed = {name: weight + (name == "head.mlp_3.out.bias") for name, weight in saved.weights.items()}
    other = dataclasses.replace(ready, model=NodeModel(dataclasses.replace(saved, weights=changed), CPU))
    with pytest.raises(UsageError, match="different: model"):
        other.embed(tmp_path / "c")
    manifest = tmp_path / "c" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(ready.store.digest, "0" * 64))
    with pytest.raises(UsageError, match="different: data"):
        ready.embed(tmp_path / "c")
    assert chunks(tmp_path / "c") == written


def test_the_digest_is_of_the_model_and_not_of_where_it_lies(ready: Ready) -> None:
    assert model_digest(load_model(ready.folder / "model")) == model_digest(ready.model.saved)


@pytest.mark.parametrize("harm", ["cut", "changed"])
def test_a_damaged_chunk_is_named(ready: Ready, tmp_path: Path, harm: str) -> None:
    ready.embed(tmp_path / "c")
    path = sorted((tmp_path / "c").glob("slots-*"))[2]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content[:-100] if harm == "cut" else content)
    with pytest.raises(StoreError, match=r"has been changed or cut\. Delete it; it will be computed again"):
        ready.embed(tmp_path / "c")
    path.unlink()
    ready.embed(tmp_path / "c")


def resigned(rows: dict[str, torch.Tensor]) -> bytes:
    """A chunk with a digest that is right, as anybody can write it."""
    digest = hashlib.sha256()
    for tensor in rows.values():
        digest.update(tensor.contiguous().numpy().data)
    return save(rows, {"sha256": digest.hexdigest()})


@pytest.mark.parametrize("harm", ["width", "length", "kind", "missing", "link", "pipe", "huge"])
def test_a_chunk_of_somebody_else_is_named(ready: Ready, tmp_path: Path, harm: str) -> None:
    ready.embed(tmp_path / "c")
    path = sorted((tmp_path / "c").glob("slots-*"))[0]
    content = path.read_bytes()
    rows = load(content)
    rows = {name: rows[name] for name in ("e_tilde", "alpha_tilde")}
    path.unlink()
    match harm:
        case "width":
            path.write_bytes(resigned({**rows, "e_tilde": rows["e_tilde"][:, :-1].contiguous()}))
        case "length":
            path.write_bytes(resigned({**rows, "e_tilde": rows["e_tilde"][:-1].contiguous()}))
        case "kind":
            path.write_bytes(resigned({name: tensor.double() for name, tensor in rows.items()}))
        case "missing":
            path.write_bytes(resigned({"e_tilde": rows["e_tilde"]}))
        case "link":
            (tmp_path / "elsewhere").write_bytes(content)
            path.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(path)
        case "huge":
            with path.open("wb") as stream:
                stream.truncate(1 << 40)
    with pytest.raises(StoreError, match=r"has been changed or cut\. Delete it; it will be computed again"):
        ready.embed(tmp_path / "c")


def test_folders_that_are_no_cache_are_refused(ready: Ready, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="must be empty or a cache of gtea"):
        ready.embed(tmp_path / "mine")
    with pytest.raises(UsageError, match="must be a folder"):
        ready.embed(tmp_path / "mine" / "thesis.txt")
    ready.embed(tmp_path / "c")
    for content in ("{", "[" * 100_000, '{"as_of": NaN}'):
        (tmp_path / "c" / "manifest.json").write_text(content)
        with pytest.raises(StoreError, match="can't be read"):
            ready.embed(tmp_path / "c")


def test_one_process_at_a_time(ready: Ready, tmp_path: Path) -> None:
    with (
        edge_cache(tmp_path / "c", ready.model.saved, ready.store, ready.store.end, chunk=CHUNK),
        pytest.raises(StoreError, match="another gtea process is using this cache"),
    ):
        ready.embed(tmp_path / "c")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["between", "within"])
def test_kill_9_loses_no_finished_chunk(ready: Ready, tmp_path: Path, where: str) -> None:
    cache, driver = tmp_path / "c", Path(__file__).with_name("kill_driver.py")
    words = [ready.store.path, ready.folder / "model", cache, CHUNK, where, 4]
    done = subprocess.run([sys.executable, driver, *map(str, words)], check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    finished = chunks(cache)
    assert len(finished) == (4 if where == "between" else 3)
    resumed = ready.embed(cache)
    assert {name: chunks(cache)[name] for name in finished} == finished
    assert torch.equal(resumed, ready.embed(tmp_path / "uninterrupted"))


def test_without_a_cache_nothing_is_left_behind(ready: Ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in ready.folder.rglob("*")}
    ready.model.probabilities(ready.store, ready.store.end, ready.everybody)
    assert not list(tmp_path.iterdir())
    assert {path: path.stat().st_mtime_ns for path in ready.folder.rglob("*")} == before


def test_through_the_command_line(gtea: Callable[..., Any], ready: Ready, tmp_path: Path) -> None:
    words = ("score", ready.folder / "model", ready.store.path, "--json", "--out", tmp_path / "s.csv")
    plain, kept, again = (json.loads(gtea(*words, *more).out) for more in ((), *[("--cache", tmp_path / "c")] * 2))
    assert plain["sampled"] is False
    assert [row["account"] for row in kept["top"]] == [row["account"] for row in plain["top"]]
    assert again == kept
    assert (tmp_path / "c" / "manifest.json").exists()
    sampled = json.loads(gtea(*words, "--sampled").out)
    assert sampled["sampled"] is True
    assert sampled["top"] != plain["top"]
    refused = gtea(*words, "--sampled", "--cache", tmp_path / "d")
    assert (refused.code, "--sampled, --cache: give one of them at most" in refused.err) == (2, True)
    other = gtea(*words, "--cache", tmp_path / "c", "--as-of", "2024-03-01")
    assert (other.code, "belongs to another model, store or cut" in other.err) == (2, True)


def test_evaluate_and_score_agree(gtea: Callable[..., Any], ready: Ready, tmp_path: Path) -> None:
    """Every label made from the scores themselves is evaluated right."""
    out = tmp_path / "s.csv"
    gtea("score", ready.folder / "model", ready.store.path, "--out", out)
    rows = [line.replace('"', "").split(",") for line in out.read_text().splitlines()[1:]]
    threshold = float(rows[len(rows) // 2][1])
    labels = [f"{row[0]},{'a' if float(row[1]) >= threshold else 'b'}" for row in rows]
    (tmp_path / "l.csv").write_text("\n".join(["account,label", *labels]) + "\n")
    evaluated = gtea("evaluate", ready.folder / "model", ready.store.path, "--labels", tmp_path / "l.csv", "--json")
    assert json.loads(evaluated.out)["metrics"]["roc_auc"] == 1.0
    assert json.loads(evaluated.out)["sampled"] is False


def test_a_way_that_can_not_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--sampled, --cache"):
        ScoringOptions(sampled=True, cache=tmp_path)
