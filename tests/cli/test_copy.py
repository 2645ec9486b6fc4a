"""Stores, models and scores in object stores, by commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import Case, made_case

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return made_case(tmp_path_factory.mktemp("copy"), directed=False)


def test_from_an_address_everything_is_as_from_a_path(gtea: Run, place: str, case: Case, tmp_path: Path) -> None:
    model = case.model("gtea-he")
    for source, name, what in ((case.store, "s", "store"), (model, "m", "model")):
        sent = gtea("copy", source, f"{place}/{name}")
        assert (sent.code, sent.err) == (0, "")
        assert sent.out == f"{source}: a {what}, copied to {place}/{name}\n"
    here = gtea("score", model, case.store, "--out", tmp_path / "here.parquet")
    there = gtea("score", f"{place}/m", f"{place}/s", "--out", f"{place}/out/there.parquet")
    assert (here.code, there.code, there.err) == (0, 0, here.err)
    assert f"written to {place}/out/there.parquet" in there.out
    assert gtea("copy", f"{place}/m", tmp_path / "model").code == 0
    assert gtea("copy", f"{place}/s", tmp_path / "store").code == 0
    for command in (("verify", f"{place}/s"), ("info", f"{place}/s"), ("verify", tmp_path / "store")):
        assert gtea(*command).code == 0
    again = gtea("score", tmp_path / "model", tmp_path / "store", "--out", tmp_path / "again.parquet")
    assert again.code == 0
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    from gtea.runtime.remote_folder import RemoteFolder, parse_remote

    scores = RemoteFolder(parse_remote(f"{place}/out")).read("there.parquet", 1 << 24)
    assert scores == (tmp_path / "here.parquet").read_bytes()
    changed = gtea(
        "score", f"{place}/m", f"{place}/s", "--out", f"{place}/out/now.csv", "--since", tmp_path / "here.parquet"
    )
    assert changed.code == 0, changed.err
    assert f"written to {place}/out/now.changes.csv" in changed.out
    assert RemoteFolder(parse_remote(f"{place}/out")).has("now.changes.csv")


def test_a_file_is_copied_and_replaced(gtea: Run, place: str, tmp_path: Path) -> None:
    for content in ("1", "2"):
        (tmp_path / "a.csv").write_text(content)
        assert gtea("copy", tmp_path / "a.csv", f"{place}/b.csv", "--json").code == 0
    from gtea.runtime.remote_folder import RemoteFolder, parse_remote

    assert RemoteFolder(parse_remote(place)).read("b.csv", 9) == b"2"


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_what_cannot_be_done_is_said_by_the_right_code(gtea: Run, place: str, case: Case, tmp_path: Path) -> None:
    model = case.model("gtea-he")
    for words, code, said in (
        (("info", f"{place}/none"), 4, f"gtea: {place}/none/manifest.json: is not there."),
        (("score", f"{place}/none", case.store, "--out", "x.csv"), 5, f"{place}/none/manifest.json: is not there."),
        (("info", "https://u:geheim@x/y"), 2, "address: must be s3://bucket/folder"),
        (("train", case.store, "--labels", "l.csv", "--out", "s3://b/geheim"), 2, "--out: must be a path on this mach"),
        (("ingest", "e.csv", "--src", "a", "--dst", "b", "--time", "t", "--out", "s3://b/c"), 2, "send it with gtea c"),
        (("append", "s3://b/c", "e.csv"), 2, "store: must be a path on this machine (got an address)."),
        (("score", model, case.store, "--out", "s3://u:geheim@b/c.csv"), 2, "address: must be s3://bucket/folder"),
        (("copy", tmp_path, tmp_path / "x"), 2, "SOURCE, TARGET: one of them must be an address, the other a path."),
        (("copy", f"{place}/a", f"{place}/b"), 2, "SOURCE, TARGET: one of them must be an address"),
        (("copy", f"{place}/a", tmp_path), 2, "exists. Choose another TARGET."),
        (("copy", tmp_path / "none", f"{place}/b"), 4, "is not a store"),
    ):
        refused = gtea(*words)
        assert (refused.code, said in refused.err, "Traceback" in refused.err) == (code, True, False), refused.err
        assert "geheim" not in refused.err
    assert not Path("s3:").exists()


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_nothing_is_half_there_if_a_copy_is_stopped(
    gtea: Run, place: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gtea("copy", case.store, f"{place}/s").code == 0

    def fails(source: Path, target: Path) -> None:
        target.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr("gtea.cli.copy.shutil.copytree", fails)
    assert gtea("copy", f"{place}/s", tmp_path / "here").code == 130
    assert not (tmp_path / "here").exists()
    assert not list(tmp_path.glob(".here*"))
