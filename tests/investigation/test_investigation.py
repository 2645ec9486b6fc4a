"""One command from a table to ranked accounts: the same bytes as its steps, and what it does when it is run again."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.training.kills import Killed, killed_after

from gtea.datasets.world import WorldSpec, write_world
from gtea.errors import UsageError
from gtea.investigation.investigation import InvestigationRequest, investigate
from gtea.runtime.files import locked
from gtea.store.schema import EventColumns

Run = Callable[..., Any]
QUICK = (
    *("model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "train.epochs=2"),
    *("sampling.fanout=4", "sampling.max_events=8"),
)


@dataclass(frozen=True)
class Tables:
    """A CSV of transactions, its beginning, and labels."""

    whole: Path
    beginning: Path
    labels: Path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    folder = tmp_path_factory.mktemp("tables")
    transactions, labels = write_world(WorldSpec(accounts=200, prevalence=0.3, strength=1), folder)
    rows = pq.read_table(transactions).sort_by("timestamp")
    to_itself = rows.slice(0, 1).set_column(rows.schema.get_field_index("payee"), "payee", rows["payer"].slice(0, 1))
    rows = pa.concat_tables([to_itself, rows])
    whole, beginning = folder / "whole.csv", folder / "beginning.csv"
    pacsv.write_csv(rows, whole)
    pacsv.write_csv(rows.slice(0, len(rows) * 95 // 100), beginning)
    return Tables(whole, beginning, labels)


@pytest.fixture
def request_of(tables: Tables, tmp_path: Path) -> InvestigationRequest:
    columns = EventColumns("payer", "payee", "timestamp", ("amount",))
    folder = tmp_path / "case"
    return InvestigationRequest(tables.whole, tables.labels, folder, columns, settings=QUICK, top=3, device="cpu")


@pytest.fixture(scope="module")
def done(tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an investigation of the beginning of the table."""
    folder = tmp_path_factory.mktemp("done") / "case"
    columns = EventColumns("payer", "payee", "timestamp", ("amount",))
    request = InvestigationRequest(tables.beginning, tables.labels, folder, columns, settings=QUICK, device="cpu")
    investigate(replace(request, top=3))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """The arrays, the weights and the scores: what depends on the data, and not on when it was made."""
    wanted = ("*.bin", "*.html", "model.safetensors", "calibration.json", "thresholds.json", "scores.csv")
    return {str(path.relative_to(folder)): path.read_bytes() for name in wanted for path in folder.rglob(name)}


def test_it_is_the_same_as_its_steps(gtea: Run, request_of: InvestigationRequest, tmp_path: Path) -> None:
    found = investigate(request_of)
    assert (found["new_store"], found["new_model"]) == (True, True)
    case, steps = request_of.out, tmp_path / "steps"
    for line in found["commands"]:
        words = shlex.split(line.replace(str(case), str(steps)))
        assert words[0] == "gtea"
        outcome = gtea(*words[1:])
        assert outcome.code == 0, outcome.err
    made = files_of(case)
    assert len(made) > 10
    assert made == files_of(steps)
    assert (case / "MODEL_CARD.md").read_bytes() == (case / "model" / "MODEL_CARD.md").read_bytes()
    recorded = json.loads((case / "investigation.json").read_text())
    assert recorded["columns"]["src"] == "payer"
    defaults = recorded["defaults"]
    assert defaults["training"] == json.loads((case / "model" / "config.json").read_text())["run"]
    assert (defaults["ingest"]["self_loops"], defaults["ingest"]["timezone"]) == ("drop", "UTC")
    assert defaults["report"] == {"top": 3, "unlabelled": True, "amount": "amount"}
    assert (
        recorded["model"]["threshold"]["value"]
        == json.loads((case / "model" / "thresholds.json").read_text())["threshold"]["value"]
    )


def test_a_second_time_nothing_is_made_again(request_of: InvestigationRequest, tables: Tables, done: Path) -> None:
    shutil.copytree(done, request_of.out)
    again = investigate(replace(request_of, transactions=tables.beginning))
    assert (again["new_store"], again["new_model"]) == (False, False)
    assert files_of(request_of.out) == files_of(done)
    assert again["model"]["test"] == json.loads((done / "investigation.json").read_text())["model"]["test"]


def test_a_table_that_has_grown_is_scored_by_the_model_that_is_there(
    request_of: InvestigationRequest, tables: Tables, done: Path
) -> None:
    shutil.copytree(done, request_of.out)
    weights = request_of.out / "model" / "model.safetensors"
    grown = investigate(request_of)
    assert (grown["new_store"], grown["new_model"]) == (True, False)
    assert weights.read_bytes() == (done / "model" / "model.safetensors").read_bytes()
    # One line is the header, and one a payment to oneself.
    assert grown["store"]["events"] == tables.whole.read_text().count("\n") - 2
    again = investigate(replace(request_of, retrain=True))
    assert (again["new_store"], again["new_model"]) == (False, True)
    manifest = json.loads((request_of.out / "model" / "manifest.json").read_text())
    assert manifest["data_digest"] == again["store"]["digest"] == grown["store"]["digest"]


def test_scores_for_a_spreadsheet_have_no_formulas(
    request_of: InvestigationRequest, tables: Tables, tmp_path: Path, done: Path
) -> None:
    shutil.copytree(done, request_of.out)
    lines = tables.beginning.read_text().splitlines(keepends=True)
    formula = tmp_path / "formula.csv"
    formula.write_text("".join([*lines, lines[-1].replace(lines[-1].partition(",")[0], '"=1+1"', 1)]))
    asked = replace(request_of, transactions=formula, spreadsheet_safe=True)
    found = investigate(asked)
    scores = (request_of.out / "scores.csv").read_text()
    assert "'=1+1" in scores
    assert '"=1+1' not in scores
    assert [line.endswith(" --spreadsheet-safe") for line in found["commands"]] == [False, False, True, False]


def test_other_labels_train_another_model(request_of: InvestigationRequest, tmp_path: Path, done: Path) -> None:
    shutil.copytree(done, request_of.out)
    lines = request_of.labels.read_text().splitlines()
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(lines[:-5]) + "\n")
    again = investigate(replace(request_of, labels=fewer))
    assert again["new_model"]
    assert again["model"]["labels"]["accounts"] == len(lines) - 6


def test_the_split_that_is_asked_for_is_a_part_of_what_makes_the_model(request_of: InvestigationRequest) -> None:
    asked = replace(request_of, split_by="random")
    assert asked.model_inputs() != request_of.model_inputs()
    assert "--split random" in asked.commands(unlabelled=False)[1]
    assert "--split" not in request_of.commands(unlabelled=False)[1]
    assert investigate(replace(asked, top=1))["model"]["split"]["split"] == "random"


def test_a_killed_training_goes_on(
    request_of: InvestigationRequest, tables: Tables, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0")
    request = replace(request_of, transactions=tables.beginning)
    with pytest.raises(Killed):
        investigate(request, killed_after(2))
    assert (request.out / "model" / "checkpoint.safetensors").exists()
    investigate(request)
    assert files_of(request.out) == files_of(done)


def test_a_killed_training_on_an_earlier_table_starts_again(
    request_of: InvestigationRequest, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        investigate(replace(request_of, transactions=tables.beginning), killed_after(2))
    assert investigate(request_of)["new_model"]


def test_nobody_else_s_folder_is_used(request_of: InvestigationRequest, tables: Tables) -> None:
    request_of.out.mkdir()
    (request_of.out / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"case: is not empty and holds no investigation\. Choose another --out"):
        investigate(request_of)
    with pytest.raises(UsageError, match=r"is a file\. Choose another --out"):
        investigate(replace(request_of, out=tables.labels))


def test_a_store_and_a_model_of_the_users_own_stay(request_of: InvestigationRequest, done: Path) -> None:
    """They have the names that an investigation would use, but it didn't make them."""
    for name in ("transactions.store", "model"):
        shutil.copytree(done / name, request_of.out / name)
    with pytest.raises(UsageError, match=r"case: is not empty and holds no investigation\. Choose another --out"):
        investigate(request_of)
    assert sorted(path.name for path in request_of.out.iterdir()) == ["model", "transactions.store"]


def test_two_at_once(request_of: InvestigationRequest) -> None:
    with (
        locked(request_of.out, AssertionError()),
        pytest.raises(UsageError, match="another gtea investigate is running"),
    ):
        investigate(request_of)


def test_the_command_says_what_it_took_for_what(gtea: Run, tables: Tables, tmp_path: Path) -> None:
    settings = [word for setting in QUICK for word in ("--set", setting)]
    outcome = gtea(
        "investigate", tables.whole, "--labels", tables.labels, *settings, "--top", 4, "--out", tmp_path / "case"
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("columns: payer pays payee at timestamp\nfeatures of an event: amount\n")
    assert re.search(r"\ndropped: 1 of [\d,]+ rows \(self loop 1\)\n", outcome.out)
    assert "the first of 200 accounts as of " in outcome.out
    assert outcome.out.endswith("report/index.html: 4 accounts with their reasons\n")
    again = gtea("investigate", tables.whole, "--labels", tables.labels, *settings, "--out", tmp_path / "case")
    assert "model: kept, because labels, columns and settings are the same" in again.out


@pytest.mark.parametrize("named", [[], ["--time", "date"]], ids=["guessed", "named"])
def test_dates_that_would_be_misread_are_refused(gtea: Run, tables: Tables, tmp_path: Path, named: list[str]) -> None:
    path = tmp_path / "days.csv"
    path.write_text("payer,payee,date,amount\na,b,20240102,1.5\nb,c,20240203,2.5\nc,a,20240304,0.5\n")
    outcome = gtea("investigate", path, "--labels", tables.labels, *named, "--out", tmp_path / "case")
    assert outcome.code == 2
    assert "dates must be written year first, as in 2024-05-31" in outcome.err
    assert "'date'" in outcome.err


def test_what_can_t_be_told_is_asked_for(gtea: Run, tables: Tables, tmp_path: Path) -> None:
    two = tmp_path / "two.csv"
    two.write_text(
        "payer,payee,booked_date,value_date\na,b,2024-01-01,2024-01-02\nb,c,2024-01-03,2024-01-04\nc,a,2024-01-03,2024-01-04\n"
    )
    outcome = gtea("investigate", two, "--labels", tables.labels, "--out", "case")
    assert outcome.code == 2
    assert "can't tell which column is the time of the event (it could be 'booked_date', 'value_date')" in outcome.err
    assert (
        f"Name it: gtea investigate {two} --labels {tables.labels} --src payer --dst payee --time TIME --out case"
        in (outcome.err)
    )
