from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.report.conftest import CPU, SmallReport
from tests.report.hostile_ids import HOSTILE

from gtea.errors import UsageError
from gtea.explain.explainer import Explainer
from gtea.ingestion.ingest import ingest
from gtea.report.known_labels import KnownLabels
from gtea.report.ranking import ranked
from gtea.report.report import ReportOptions, _chosen, rank_accounts, write_report, write_single_case
from gtea.runtime.files import locked
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store

Run = Callable[..., Any]


def test_pages_of_the_highest_scores_named_by_rank(small_report: SmallReport) -> None:
    out, record = small_report.out, small_report.record
    model, store = NodeModel.open(small_report.model, CPU), small_report.store
    scores = model.scores(model.probabilities(store, store.end, np.arange(store.num_nodes)))
    assert [case["score"] for case in record["cases"]] == pytest.approx(sorted(scores, reverse=True)[:12], abs=1e-6)
    assert record["files"][:3] == ["index.html", "01.html", "02.html"]
    assert all((out / name).is_file() for name in record["files"])
    assert json.loads((out / "report.json").read_text()) == record
    assert {len(list(folder.iterdir())) for folder in (out / "files").iterdir()} == {6}
    assert all((out / name).stat().st_size < 1_000_000 for name in record["files"])


def test_a_smaller_report_replaces_a_larger_one(small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model
    accounts = tmp_path / "accounts.csv"
    accounts.write_text("account\n" + "\n".join(store.account(node) for node in range(4)) + "\n")
    out = tmp_path / "report"
    for top in (3, 2):
        options = ReportOptions(top=top, accounts=str(accounts), exports=None, as_of=store.date(store.end))
        record = write_report(model, store.path, out, options, device=CPU)
    assert sorted(path.name for path in out.iterdir()) == ["1.html", "2.html", "index.html", "report.json"]
    assert {case["account"] for case in record["cases"]} <= {store.account(node) for node in range(4)}


def test_a_record_can_not_name_files_of_the_users(small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model
    out, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    write_report(model, store.path, out, ReportOptions(top=2), device=CPU)
    (out / "notes.txt").write_text("mine")
    shutil.move(out / "files" / "2", elsewhere)
    (out / "files" / "2").symlink_to(elsewhere)
    record = json.loads((out / "report.json").read_text())
    strange = ["notes.txt", "../elsewhere/ego.csv", str(elsewhere / "ego.csv"), "files/2/../../notes.txt", "files"]
    (out / "report.json").write_text(json.dumps({**record, "files": [*record["files"], *strange]}))
    write_report(model, store.path, out, ReportOptions(top=1), device=CPU)
    assert (out / "notes.txt").read_text() == "mine"
    assert len(list(elsewhere.iterdir())) == 6
    assert sorted(path.name for path in out.glob("*.html")) == ["1.html", "index.html"]


def test_a_killed_report_is_written_again(small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model

    def killed(stage: str, done: float | None) -> None:
        if stage == "writing pages" and done:
            raise KeyboardInterrupt

    out = tmp_path / "report"
    with pytest.raises(KeyboardInterrupt):
        write_report(model, store.path, out, ReportOptions(top=3), device=CPU, progress=killed)
    assert not (out / "index.html").exists()
    write_report(model, store.path, out, ReportOptions(top=1), device=CPU)
    assert sorted(path.name for path in out.glob("*.html")) == ["1.html", "index.html"]


def test_two_reports_in_one_folder(small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model
    with locked(tmp_path / "report", UsageError("busy")), pytest.raises(UsageError, match="another gtea report"):
        write_report(model, store.path, tmp_path / "report", ReportOptions(top=1), device=CPU)


@pytest.mark.parametrize("record", [b"[]", b'{"files": [1]}', b'{"files": ' + b"[" * 100_000, b"\xff"])
def test_a_damaged_record_is_none(small_model: tuple[Store, Path], tmp_path: Path, record: bytes) -> None:
    store, model = small_model
    (tmp_path / "report.json").write_bytes(record)
    with pytest.raises(UsageError, match="exists and is no report of ours"):
        write_report(model, store.path, tmp_path, ReportOptions(top=1), device=CPU)


def test_what_is_refused(small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(
        UsageError, match=r"mine: exists and is no report of ours\. Name another folder, or remove it\."
    ):
        write_report(model, store.path, tmp_path / "mine", ReportOptions(), device=CPU)
    with pytest.raises(UsageError, match=r"--top, --jobs: must be at least 1 \(got 0 and 1\). Try 200 and 2."):
        write_report(model, store.path, tmp_path / "new", ReportOptions(top=0), device=CPU)
    with pytest.raises(UsageError, match=r"--as-of: no account has an event before .*\. Try a later time\."):
        rank_accounts(NodeModel.open(model, CPU), store.as_of(0))
    (tmp_path / "late.csv").write_text(f"account\n{store.account(0)}\n")
    first = int(store.as_of().neighbours(0).first_time[0])
    options = ReportOptions(accounts=str(tmp_path / "late.csv"), as_of=store.date(first))
    with pytest.raises(UsageError, match=r"--accounts: none of them has an event before --as-of\."):
        write_report(model, store.path, tmp_path / "new", options, device=CPU)
    explainer = Explainer(NodeModel.open(model, CPU), store)
    inactive = dataclasses.replace(explainer.explain(store.account(0)), active=False)
    with pytest.raises(UsageError, match=r"has no event before .*, so there is nothing to show\. Try a later"):
        write_single_case(explainer, inactive, model, tmp_path / "case.html")


def test_accounts_of_the_training_can_be_left_out(small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model
    options = ReportOptions(top=3, unlabelled=True, exports=None)
    record = write_report(model, store.path, tmp_path / "new", options, device=CPU)
    assert [case["known"] for case in record["cases"]] == [None] * 3
    labels = NodeModel.open(model, CPU).preprocessing.neighbour_labels
    known = KnownLabels(store, labels)
    trained = [account for account in range(store.num_nodes) if known.of([account]) != [None]]
    (tmp_path / "trained.csv").write_text(f"account\n{store.account(trained[0])}\n")
    options = ReportOptions(accounts=str(tmp_path / "trained.csv"), unlabelled=True)
    with pytest.raises(UsageError, match="--unlabelled: the model was trained with the labels of all accounts"):
        write_report(model, store.path, tmp_path / "none", options, device=CPU)
    with pytest.raises(UsageError, match="--unlabelled: this model keeps no labels of its training"):
        _chosen(ranked(np.array([0]), np.array([0.5])), store, KnownLabels(store, None), ReportOptions(unlabelled=True))


def test_the_replay_on_a_page_makes_its_content_again(gtea: Run, small_report: SmallReport, tmp_path: Path) -> None:
    case = small_report.record["cases"][0]
    page = tmp_path / "case.html"
    words = ("--as-of", small_report.record["as_of"], "--html", page)
    done = gtea("explain", small_report.model, small_report.store.path, case["account"], *words)
    assert done.code == 0
    assert f"page written to {page}" in done.err
    pages = [page.read_text(), (small_report.out / case["page"]).read_text()]
    tables, figures = ([text.split(f"<{tag}")[1].split(f"</{tag}>")[0] for text in pages] for tag in ("table", "main"))
    assert tables[0] == tables[1]
    # A page of a report leads to its other pages. Else both are the same.
    assert figures[0] == re.sub(
        r"<li>Also cases of this report:.*?</li>", "", re.sub(r" \(<a .*?</a>\)", "", figures[1])
    )
    refused = gtea("explain", small_report.model, small_report.store.path, "a", "b", "--html", page)
    assert "--html: is about one account. Give an ACCOUNT of a model that scores accounts." in refused.err


def test_the_command(gtea: Run, small_model: tuple[Store, Path], tmp_path: Path) -> None:
    store, model = small_model
    where = ("report", model, store.path, "--out", tmp_path / "r", "--top", 2, "--jobs", 1)
    done = gtea(*where, "--csv-limit", "2 kB", "--exact-ids")
    assert done.code == 0
    assert "2 of 200 accounts as of" in done.out
    assert f"open {tmp_path / 'r' / 'index.html'}" in done.out
    assert all(path.stat().st_size <= 2_000 for path in tmp_path.glob("r/files/*/transactions.csv"))
    as_json = gtea(*where, "--no-exports", "--json")
    assert len(json.loads(as_json.out)["cases"]) == 2
    assert list(tmp_path.glob("r/files/*/*")) == []
    refused = gtea(*where, "--no-exports", "--exact-ids")
    assert "--csv-limit, --exact-ids: are about exported files. Leave out --no-exports." in refused.err
    refused = gtea(*where, "--csv-limit", "much")
    assert "--csv-limit: must be a size in bytes, kB, MB or GB (got 'much'). Try 1MB." in refused.err


def test_hostile_ids_stay_inert_in_the_terminal(gtea: Run, small_model: tuple[Store, Path], tmp_path: Path) -> None:
    # A store takes ids of up to 1,024 bytes.
    names = [account for account in HOSTILE if len(account.encode()) <= 1_024]
    rows = [(name, "me", 60 * place) for place, name in enumerate(names)]
    rows += [("me", name, 7_000 + 60 * place) for place, name in enumerate(names)]
    table = pa.table(dict(zip(("payer", "payee", "timestamp"), map(list, zip(*rows, strict=True)), strict=True)))
    table = table.append_column("amount", [[1.5] * len(rows)])
    columns: dict[str, Any] = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"]}
    store = ingest(table, **columns, time_unit="s", out=tmp_path / "hostile.store")
    model, out = small_model[1], tmp_path / "out"
    done = gtea("report", model, store.path, "--top", 4, "--out", out, "--jobs", 1)
    assert done.code == 0
    hostile = "\x1b[31mred\x1b[0m"
    told = gtea("explain", model, store.path, hostile)
    assert all(line.isprintable() for outcome in (done, told) for line in (outcome.out + outcome.err).split("\n"))
    assert r"\x1b[31mred" in told.out
    pages = {path.relative_to(out).as_posix() for path in out.rglob("*.html")}
    assert pages == {"index.html", "1.html", "2.html", "3.html", "4.html"}
