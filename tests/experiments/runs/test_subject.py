"""Data by name are made ready once, and what was made will do where the copy has gone."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gtea.datasets.payments import PaymentsSpec
from gtea.errors import DataError, UsageError
from gtea.experiments.runs.generated import GENERATED
from gtea.experiments.runs.subject import named_subject, own_subject


@pytest.fixture
def copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small copy of bitcoin_otc where a user keeps such things."""
    monkeypatch.setenv("GTEA_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "mine" / "bitcoin_otc"
    folder.mkdir(parents=True)
    rows = [f"{i},{(i + k) % 30},{k},{1_300_000_000 + 40 * i + k}.5" for i in range(30) for k in (1, 2)]
    with gzip.open(folder / "ratings.csv.gz", "wt") as stream:
        stream.write("\n".join(["rater,rated,rating,timestamp", *rows]) + "\n")
    labels = [f"{i},{'fraud' if i % 3 else 'trusted'}" for i in range(30)]
    (folder / "labels.csv").write_text("\n".join(["account,label", *labels]) + "\n")
    return folder


def test_a_named_data_set(copy: Path, tmp_path: Path) -> None:
    found = named_subject("bitcoin_otc", tmp_path / "out", protocol="paper")
    assert (found.name, found.task, found.positive) == ("bitcoin_otc", "nodes", "fraud")
    assert found.store == tmp_path / "out" / "data" / "bitcoin_otc" / "store"
    made = (found.store / "manifest.json").stat().st_mtime_ns
    assert named_subject("bitcoin_otc", tmp_path / "out", protocol="temporal", positive="trusted").positive == "trusted"
    (copy / "ratings.csv.gz").unlink()
    again = named_subject("bitcoin_otc", tmp_path / "out", protocol="paper")
    assert again == found
    assert again.digest() == found.digest()
    assert (found.store / "manifest.json").stat().st_mtime_ns == made
    with pytest.raises(DataError, match=r"bitcoin_otc: needs ratings\.csv or ratings\.csv\.gz"):
        named_subject("bitcoin_otc", tmp_path / "elsewhere", protocol="paper")
    assert not (tmp_path / "elsewhere").exists()
    (found.store.parent / "dataset.json").write_text("{}")
    with pytest.raises(DataError, match=r"dataset\.json: can't be read .*an object with name, task.*Delete"):
        named_subject("bitcoin_otc", tmp_path / "out", protocol="paper")


def test_payments_are_generated_once_and_always_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(GENERATED, "payments", PaymentsSpec(accounts=60, events=600, illicit_share=0.3))
    found = named_subject("payments", tmp_path / "a", protocol="paper")
    assert (found.name, found.task, found.own) == ("payments", "nodes", False)
    assert named_subject("payments", tmp_path / "a", protocol="paper") == found
    assert named_subject("payments", tmp_path / "b", protocol="temporal").digest() == found.digest()
    assert sorted(path.name for path in found.store.parent.iterdir()) == ["dataset.json", "labels.csv", "store"]


def test_a_store_of_ones_own(data: Path) -> None:
    nodes, links = own_subject(data / "tiny.store", data / "labels.csv"), own_subject(data / "tiny.store", None)
    assert (nodes.name, nodes.task, links.task, links.own) == ("tiny", "nodes", "links", True)
    with pytest.raises(UsageError, match="--positive: needs --labels"):
        own_subject(data / "tiny.store", None, positive="illicit")
