"""``gtea datasets``: what is known, fetched from a server on this machine, and prepared from real copies."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.web import Home

from gtea.datasets.catalog import DATASETS

Run = Callable[..., Any]
HEADER = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without copies; the folder of downloads."""
    monkeypatch.delenv("GTEA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gtea" / "datasets"


def prepared(gtea: Run, name: str, out: Path, *more: object) -> dict[str, Any]:
    outcome = gtea("datasets", "prepare", name, "--out", out, *more, "--json")
    assert outcome.code == 0, outcome.err
    facts: dict[str, Any] = json.loads(outcome.out)
    return facts


def own_copy(folder: Path, accounts: int = 12) -> Path:
    """A small copy of ethereum_phishing, in both senses of the word."""
    folder.mkdir(parents=True)
    rows = [
        (f"0x{i}", f"0x{(i + k) % accounts}", 1_600_000_000 + 50 * i + k, 1.5, 0)
        for i in range(accounts)
        for k in (1, 2)
    ]
    names = ["from", "to", "timestamp", "value_eth", "has_call_data"]
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    pq.write_table(table, folder / "transactions.parquet")
    labels = [f"0x{i},{'phishing' if i % 2 else 'normal'}" for i in range(accounts)]
    (folder / "labels.csv").write_text("\n".join(["account,label", *labels, "0xnobody,normal"]) + "\n")
    return folder


def test_list_says_what_there_is_and_what_is_at_hand(gtea: Run, bare: Path) -> None:
    rows = {row["name"]: row for row in json.loads(gtea("datasets", "list", "--json").out)}
    assert set(rows) == set(DATASETS)
    assert {name for name, row in rows.items() if row["url"]} == {"wikipedia", "reddit", "mooc", "lastfm"}
    assert all(row["copy"] is None for row in rows.values())
    assert all(row[key] for row in rows.values() for key in ("about", "source", "licence", "rows", "files"))
    own_copy(bare / "ethereum_phishing")
    text = gtea("datasets", "list").out
    assert f"copy: {bare / 'ethereum_phishing'}\n" in text
    assert "wikipedia          links" in text


def test_a_copy_without_its_labels_is_none(gtea: Run, bare: Path) -> None:
    (own_copy(bare / "ethereum_phishing") / "labels.csv").unlink()
    rows = {row["name"]: row for row in json.loads(gtea("datasets", "list", "--json").out)}
    assert rows["ethereum_phishing"]["copy"] is None


def test_fetched_and_found_by_prepare(gtea: Run, home: Home, bare: Path, tmp_path: Path) -> None:
    home.content, home.cuts = (HEADER + "0,0,0.0,0,1.5\n" * 9).encode(), [20]
    got = json.loads(gtea("datasets", "fetch", "mooc", "--url", home.url, "--json").out)
    assert Path(got["path"]) == bare / "mooc" / "mooc.csv"
    assert (got["checked_by"], got["next"]) == ("first", "gtea datasets prepare mooc --out mooc")
    assert "mooc.csv: already there" in gtea("datasets", "fetch", "mooc", "--url", home.url).out
    short = gtea("datasets", "prepare", "mooc", "--out", tmp_path / "m")
    assert short.code == 3
    assert "mooc must have 411,749 rows (got 9). The file is truncated or a different one" in short.err
    assert not (tmp_path / "m").exists()
    assert list(tmp_path.glob(".m*")) == []


def test_fetch_holds_wikipedia_against_the_published_digest(gtea: Run, home: Home, bare: Path, tmp_path: Path) -> None:
    home.content = b"not wikipedia"
    words = ("datasets", "fetch", "wikipedia", "--url", home.url, "--to", tmp_path / "to")
    refused = gtea(*words)
    assert refused.code == 3
    assert "must be 559,937,473 bytes (got 13)" in refused.err
    home.length = False
    refused = gtea(*words)
    assert refused.code == 3
    assert "must have the sha256 a6b73e09" in refused.err
    assert "as published" in refused.err
    taken = gtea(*words, "--sha256", hashlib.sha256(home.content).hexdigest().upper())
    assert taken.code == 0
    assert f"next: gtea datasets prepare wikipedia --from {tmp_path / 'to'} --out wikipedia" in taken.out


def test_fetch_without_internet_names_the_way_round(gtea: Run, bare: Path) -> None:
    outcome = gtea("datasets", "fetch", "lastfm", "--url", "http://127.0.0.1:9/lastfm.csv", "--retries", "0")
    assert outcome.code == 3
    assert (
        "put it into GTEA_DATA/lastfm/lastfm.csv (GTEA_DATA is not set: set it to a folder of your own)" in outcome.err
    )


def test_what_has_no_home_or_no_name_is_refused(gtea: Run, bare: Path) -> None:
    outcome = gtea("datasets", "fetch", "amlsim")
    assert outcome.code == 2
    assert "into GTEA_DATA/amlsim/transactions.parquet and GTEA_DATA/amlsim/labels.csv" in outcome.err
    outcome = gtea("datasets", "prepare", "wikpedia", "--out", "x")
    assert outcome.code == 2
    assert "Did you mean 'wikipedia'?" in outcome.err


def test_prepare_says_what_it_looked_for_and_where(gtea: Run, bare: Path, tmp_path: Path) -> None:
    outcome = gtea("datasets", "prepare", "wikipedia", "--out", tmp_path / "w")
    assert outcome.code == 3
    assert f"needs wikipedia.csv or wikipedia.csv.gz (found nothing in {bare / 'wikipedia'})" in outcome.err
    assert "Run gtea datasets fetch wikipedia" in outcome.err
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "readme.txt").write_text("hello")
    outcome = gtea("datasets", "prepare", "amlsim", "--from", folder, "--out", tmp_path / "a")
    assert outcome.code == 3
    assert f"needs transactions.parquet and labels.csv (found readme.txt in {folder})" in outcome.err
    outcome = gtea("datasets", "prepare", "amlsim", "--from", folder / "no", "--out", tmp_path / "a")
    assert outcome.code == 2
    assert "no such folder" in outcome.err


@pytest.mark.parametrize("name", ["MulDiGraph.pkl", "graph.gpickle", "transactions.csv"])
def test_a_pickled_graph_is_refused_and_not_run(gtea: Run, bare: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / name).write_bytes(pickle.dumps({"nodes": 3}))
    (folder / "labels.csv").write_text("account,label\n")
    outcome = gtea("datasets", "prepare", "ethereum_phishing", "--from", folder, "--out", tmp_path / "e")
    assert outcome.code == 3
    assert f"{name}: is a Python pickle" in outcome.err
    assert "writerow(['from', 'to', 'timestamp', 'value'])" in outcome.err


def test_other_columns_are_named(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder = own_copy(tmp_path / "own")
    (folder / "labels.csv").write_text("account,answer\n0x1,phishing\n")
    outcome = gtea("datasets", "prepare", "ethereum_phishing", "--from", folder, "--out", tmp_path / "e")
    assert outcome.code == 3
    assert (
        "labels.csv: ethereum_phishing must have the columns account, label (got account, answer; missing: label)"
        in outcome.err
    )
    pq.write_table(pa.table({"src": ["a"], "to": ["b"]}), folder / "transactions.parquet")
    outcome = gtea("datasets", "prepare", "ethereum_phishing", "--from", folder, "--out", tmp_path / "e")
    assert "(got src, to; missing: from, timestamp, value_eth, has_call_data)" in outcome.err
    (folder / "transactions.parquet").write_bytes(b"rubbish")
    outcome = gtea("datasets", "prepare", "ethereum_phishing", "--from", folder, "--out", tmp_path / "e")
    assert outcome.code == 3
    assert "can't be read as Parquet" in outcome.err
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    "content",
    [b"timestamp,user,item,label\n1,2,3,0\n", b"a\n1\n", b"", gzip.compress(b"x" * 99, mtime=0)[:20]],
    ids=["other columns", "one column", "empty", "cut off"],
)
def test_a_file_that_is_no_jodie_file_is_told(gtea: Run, bare: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "reddit.csv.gz").write_bytes(content if content[:1] == b"\x1f" else gzip.compress(content))
    outcome = gtea("datasets", "prepare", "reddit", "--from", tmp_path / "own", "--out", tmp_path / "r")
    assert outcome.code == 3
    assert "reddit.csv.gz: " in outcome.err


def test_a_snap_file_is_prepared_for_links(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    rows = [f"{i % 12} {(i * i + 1) % 12} {1_254_192_988 + i}\n" for i in range(60)]
    loops = sum(row.split()[0] == row.split()[1] for row in rows)
    (folder / "sx-mathoverflow.txt").write_text("# source target seconds\n" + "".join(rows))
    facts = prepared(gtea, "mathoverflow", tmp_path / "m", "--from", folder)
    assert (facts["task"], facts["rows"], facts["rows_known"], facts["features"]) == ("links", 60, 506_550, [])
    assert (facts["events"], facts["self_loops"]) == (60 - loops, loops)
    assert facts["next"].startswith(f"gtea train {tmp_path / 'm' / 'store'} --task links")
    (folder / "sx-mathoverflow.txt").write_text("")
    refused = gtea("datasets", "prepare", "mathoverflow", "--from", folder, "--out", tmp_path / "x")
    assert refused.code == 3
    assert "sx-mathoverflow.txt: a SNAP file must have lines of source, target, seconds" in refused.err


def test_prepare_is_safe_to_repeat_and_refuses_what_is_not_its_own(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder, out = own_copy(tmp_path / "data" / "ethereum_phishing"), tmp_path / "e"
    words = ("--from", tmp_path / "data")
    first = prepared(gtea, "ethereum_phishing", out, *words)
    assert first["labels_left_out"] == {"not_in_the_store": 1}
    assert (first["rows"], first["rows_known"], first["labelled"]) == (24, 516_292, 12)
    made = {path: path.stat().st_mtime_ns for path in (out / "store").rglob("*")}
    assert prepared(gtea, "ethereum_phishing", out, *words) == first
    by_time = prepared(gtea, "ethereum_phishing", out, *words, "--protocol", "temporal")
    assert (by_time["split"]["split"], by_time["next"].count("--folds")) == ("temporal", 0)
    assert {path: path.stat().st_mtime_ns for path in (out / "store").rglob("*")} == made
    assert (
        "left out         1 not in the store"
        in gtea("datasets", "prepare", "ethereum_phishing", "--out", out, *words).out
    )

    own_copy(tmp_path / "data" / "amlsim")
    (folder / "labels.csv").write_text((folder / "labels.csv").read_text().replace("0x1,phishing", "0x1,normal"))
    other = gtea("datasets", "prepare", "ethereum_phishing", "--out", out, *words)
    assert other.code == 2
    assert "was prepared from other files" in other.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    other = gtea("datasets", "prepare", "ethereum_phishing", "--out", tmp_path / "mine", *words)
    assert other.code == 2
    assert "exists and is not a prepared data set" in other.err
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_a_changed_folder_is_not_passed_off_as_prepared(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder, out = own_copy(tmp_path / "own"), tmp_path / "e"
    prepared(gtea, "ethereum_phishing", out, "--from", folder)
    more = pa.table(
        {"from": ["0x1"], "to": ["0x5"], "timestamp": [1_700_000_000], "value_eth": [1.0], "has_call_data": [0]}
    )
    pq.write_table(more, tmp_path / "more.parquet")
    assert gtea("append", out / "store", tmp_path / "more.parquet").code == 0
    outcome = gtea("datasets", "prepare", "ethereum_phishing", "--out", out, "--from", folder)
    assert outcome.code == 4
    assert "was changed after it was prepared" in outcome.err


def test_killed_before_the_rename_nothing_is_there(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder, out = own_copy(tmp_path / "own"), tmp_path / "e"
    script = """
import os, sys
from gtea.cli.main import main
sys.addaudithook(lambda event, words: event == "os.rename" and str(words[0]).endswith("prepared") and os._exit(9))
main(sys.argv[1:])
"""
    words = ["datasets", "prepare", "ethereum_phishing", "--from", str(folder), "--out", str(out)]
    killed = subprocess.run([sys.executable, "-c", script, *words], check=False)
    assert killed.returncode == 9
    assert not out.exists()
    assert len(list(tmp_path.glob(".e.gtea-*"))) == 1
    prepared(gtea, "ethereum_phishing", out, "--from", folder)
    assert list(tmp_path.glob(".e*")) == []
    assert gtea("verify", out / "store").code == 0


@pytest.mark.slow
def test_the_next_command_trains(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder = own_copy(tmp_path / "own", accounts=30)
    facts = prepared(gtea, "ethereum_phishing", tmp_path / "e", "--from", folder)
    outcome = gtea(*shlex.split(facts["next"])[1:], "--set", "train.epochs=1", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["folds"] == 5


def test_the_next_command_names_the_class_that_is_looked_for(gtea: Run, bare: Path, tmp_path: Path) -> None:
    """Otherwise it would be the rarer one, which in a user's copy may well be the harmless one."""
    folder = own_copy(tmp_path / "own", accounts=24)
    rows = [f"0x{i},{'normal' if i % 4 == 0 else 'phishing'}" for i in range(24)]
    (folder / "labels.csv").write_text("\n".join(["account,label", *rows]) + "\n")
    outcome = gtea("datasets", "prepare", "ethereum_phishing", "--from", folder, "--out", tmp_path / "e")
    assert "normal: 6\n" in outcome.out
    assert "phishing: 18, the positive class\n" in outcome.out
    assert f"labels.csv --positive phishing --folds 5 --out {tmp_path / 'e'}" in outcome.out
    (folder / "labels.csv").write_text("\n".join(["account,label", *rows]).replace("phishing", "1") + "\n")
    facts = prepared(gtea, "ethereum_phishing", tmp_path / "other", "--from", folder)
    assert (facts["positive"], facts["next"].count("--positive")) == (None, 0)


def test_a_converted_graph_is_read_from_csv(gtea: Run, bare: Path, tmp_path: Path) -> None:
    folder = own_copy(tmp_path / "own")
    (folder / "transactions.parquet").unlink()
    rows = [f"0x{i},0x{(i + 1) % 12},{1_600_000_000 + i},{i}.5" for i in range(12)]
    (folder / "transactions.csv").write_text("\n".join(["from,to,timestamp,value", *rows]) + "\n")
    facts = prepared(gtea, "ethereum_phishing", tmp_path / "e", "--from", folder)
    assert (facts["events"], facts["features"]) == (12, ["value"])


def test_wikipedia_is_the_papers(gtea: Run, data_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "w"
    facts = prepared(gtea, "wikipedia", out)
    assert (facts["edges_directed"], facts["samples"]) == (20_922, 26_678)
    pairs = [facts["split"][part]["pairs"] for part in ("train", "validation", "test")]
    assert pairs == [6_743, 3_228, 3_368]
    assert facts["next"] == f"gtea train {out}/store --task links --set split.protocol=paper --out {out}/model"
    by_time = prepared(gtea, "wikipedia", out, "--protocol", "temporal")
    assert (by_time["edges_directed"], by_time["samples"]) == (20_922, 26_678)
    assert by_time["split"]["test"]["as_of"] > facts["split"]["test"]["as_of"]
    assert gtea("verify", out / "store").code == 0


def test_mathoverflow_is_that_of_its_authors(gtea: Run, data_folder: Path, tmp_path: Path) -> None:
    facts = prepared(gtea, "mathoverflow", tmp_path / "m", "--protocol", "temporal")
    assert facts["rows"] == facts["rows_known"] == 506_550
    assert (facts["nodes"], facts["events"], facts["self_loops"]) == (24_818, 390_441, 116_109)
    assert [source["name"] for source in facts["sources"]] == ["sx-mathoverflow.txt.gz"]
    assert "split.protocol" not in facts["next"]


@pytest.mark.slow
def test_the_next_command_trains_on_wikipedia(gtea: Run, data_folder: Path, tmp_path: Path) -> None:
    """With little of each account's full_subgraph: a full training takes too long for a test."""
    facts = prepared(gtea, "wikipedia", tmp_path / "w")
    short = ["train.epochs=1", "sampling.fanout=2", "sampling.max_events=2", "sampling.batch_size=512"]
    settings = [word for setting in short for word in ("--set", setting)]
    outcome = gtea(*shlex.split(facts["next"])[1:], *settings, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["split"]["test"]["pairs"] == 3_368


# Labelled accounts that can be used, how many were left out and why, and the test parts of the five folds.
NODES: dict[str, tuple[int, dict[str, int], list[int]]] = {
    "ethereum_phishing": (3_360, {"not_in_the_store": 0}, [672] * 5),
    "email_eu": (965, {"not_in_the_store": 0}, [193] * 5),
    "bitcoin_otc": (316, {"not_in_the_store": 0}, [64, 63, 63, 63, 63]),
    "primary_school": (242, {"not_in_the_store": 0}, [49, 49, 48, 48, 48]),
    "amlsim": (19_980, {"not_in_the_store": 20}, [3_996] * 5),
}


@pytest.mark.parametrize("name", NODES)
def test_labels_and_folds_of_the_copies(gtea: Run, data_folder: Path, tmp_path: Path, name: str) -> None:
    facts = prepared(gtea, name, tmp_path / "p")
    labelled, left_out, test = NODES[name]
    assert (facts["labelled"], facts["labels_left_out"]) == (labelled, left_out)
    assert sum(facts["classes"].values()) == labelled
    assert [fold["test"] for fold in facts["split"]["folds"]] == test
    assert all(sum(fold.values()) == labelled for fold in facts["split"]["folds"])
    assert facts["rows"] == facts["rows_known"]
    lines = (tmp_path / "p" / "labels.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("account,label", labelled + 1)


def test_phishing_by_class(gtea: Run, data_folder: Path, tmp_path: Path) -> None:
    facts = prepared(gtea, "ethereum_phishing", tmp_path / "p", "--protocol", "temporal")
    assert facts["classes"] == {"normal": 1_700, "phishing": 1_660}
    assert [facts["split"][part]["accounts"] for part in ("train", "validation", "test")] == [2_016, 672, 672]
