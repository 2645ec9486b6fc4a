"""Copies of data sets: where they are looked for, and what is said if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.datasets.catalog import DATASETS
from gtea.datasets.copies import by_hand, download_folder, find_copy, require_copy
from gtea.errors import DataError, UsageError

BITCOIN, MOOC = DATASETS["bitcoin_otc"], DATASETS["mooc"]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GTEA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("a,b\n")


def test_the_users_own_copy_comes_before_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_copy(MOOC) is None
    put(download_folder() / "mooc", "mooc.csv.gz")
    found = find_copy(MOOC)
    assert found is not None
    assert (found.events, found.labels) == (download_folder() / "mooc" / "mooc.csv.gz", None)
    monkeypatch.setenv("GTEA_DATA", str(tmp_path / "own"))
    put(tmp_path / "own" / "mooc", "mooc.csv")
    assert require_copy(MOOC).events == tmp_path / "own" / "mooc" / "mooc.csv"
    put(tmp_path / "given", "mooc.csv")
    assert require_copy(MOOC, tmp_path / "given").events == tmp_path / "given" / "mooc.csv"


def test_a_copy_without_its_labels_is_none(tmp_path: Path) -> None:
    put(tmp_path, "ratings.csv")
    assert find_copy(BITCOIN, tmp_path) is None
    with pytest.raises(DataError, match=r"needs ratings\.csv or ratings\.csv\.gz and labels\.csv \(found "):
        require_copy(BITCOIN, tmp_path)
    put(tmp_path, "labels.csv")
    assert require_copy(BITCOIN, tmp_path).labels == tmp_path / "labels.csv"


def test_what_to_do_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"found nothing in .* Run gtea datasets fetch mooc, or put it into "):
        require_copy(MOOC)
    with pytest.raises(UsageError, match=r"--from .*nowhere: no such folder"):
        require_copy(MOOC, tmp_path / "nowhere")
    assert by_hand(MOOC).endswith("(GTEA_DATA is not set: set it to a folder of your own)")
    monkeypatch.setenv("GTEA_DATA", str(tmp_path))
    assert by_hand(MOOC) == "into GTEA_DATA/mooc/mooc.csv"
