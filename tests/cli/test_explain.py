"""``gtea explain``: what it prints, as text and as JSON, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.explain.worlds import CUT, model_of, random_rows, small, with_threshold
from tests.models.documents import FACTS, metrics_of
from tests.properties.graphs import columns
from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store, explained

from gtea.cli.explain import print_explanation
from gtea.config import FeaturesConfig
from gtea.explain.explanation import WhatIf
from gtea.ingestion.ingest import ingest
from gtea.models.model_folder import save_model
from gtea.store.store import Store

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and a store."""
    folder = tmp_path_factory.mktemp("explain")
    table = pa.table(columns(random_rows(1)))
    ingest(
        table,
        src="src",
        dst="dst",
        time="time",
        features=["amount"],
        categorical=["kind"],
        time_unit="step",
        self_loops="keep",
        out=folder / "store",
    )
    model = model_of(Store.open(folder / "store"), small("hybrid"), features=FeaturesConfig(neighbour_labels=True))
    threshold = with_threshold(model, 0.3).threshold
    assert threshold is not None
    metrics, thresholds = metrics_of(model.saved.config["classes"]), {"threshold": asdict(threshold)}
    saved = replace(model.saved, metrics=metrics, facts=FACTS, thresholds=thresholds)
    save_model(folder / "model", saved, "a card")
    return folder / "model", folder / "store"


def test_text_and_json_say_the_same(gtea: Run, files: tuple[Path, Path]) -> None:
    text, found = (
        gtea("explain", *files, "a00", "--as-of", CUT),
        gtea("explain", *files, "a00", "--as-of", CUT, "--json"),
    )
    assert (text.code, found.code) == (0, 0), text.err + found.err
    content = json.loads(found.out)
    assert (content["account"], content["as_of"]) == ("a00", str(CUT))
    assert f"score {content['score']:.4f} (bad), {'an' if content['alert'] else 'no'} alert at 0.3000" in text.out
    for each in content["counterparties"][:10]:
        assert f"{each['effect']:+7.2f}  {each['score_without']:7.4f}" in text.out
    assert content["own_statistics"][0]["sentence"] in text.out


def test_an_account_that_is_not_there_yet(gtea: Run, files: tuple[Path, Path]) -> None:
    outcome = gtea("explain", *files, "x1", "--as-of", 1)
    assert "no event before this time: the score says nothing about it" in outcome.out


def test_the_audit_writes_a_page(gtea: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    outcome = gtea("explain", "--audit", *files, "--accounts", 2, "--out", tmp_path / "f")
    assert outcome.code == 0, outcome.err
    assert "attention" in outcome.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.json", "f.md", "f.svg"]
    content = json.loads(gtea("explain", "--audit", *files, "--accounts", 2, "--json").out)
    assert len(content["accounts"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "explain: give an ACCOUNT, or --audit, and not both."),
        (("a00", "--audit"), "explain: give an ACCOUNT, or --audit, and not both."),
        (("a00", "--accounts", "3"), "--accounts: only goes with --audit. Leave it out."),
        (("a00", "--out", "x"), "--out: only goes with --audit. Leave it out."),
    ],
)
def test_what_is_refused(gtea: Run, files: tuple[Path, Path], words: tuple[str, ...], message: str) -> None:
    outcome = gtea("explain", *files, *words)
    assert outcome.code == 2
    assert message in outcome.err


def test_hostile_ids_are_inert_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """No id moves the cursor, colours what follows, turns the direction of text, or poses as a row of the table."""
    store = busy_store(names=HOSTILE)
    found = explained(store)
    every = WhatIf(tuple(HOSTILE[:10]), 0.2, False, False)
    for account in HOSTILE:
        pages = [found.counterparties[place : place + 10] for place in range(0, len(HOSTILE), 10)]
        page = pages[HOSTILE.index(account) % len(pages)]
        print_explanation(replace(found, account=account, counterparties=page, what_if=every))
    text = capsys.readouterr().out
    assert not [each for each in set(text) if each != "\n" and not each.isprintable()]
    assert max(map(len, text.splitlines())) < 200
    lines_each = text.count("\n") / len(HOSTILE)
    print_explanation(replace(found, account="plain", counterparties=found.counterparties[:10], what_if=every))
    assert lines_each <= capsys.readouterr().out.count("\n")
