"""The page: a summary on top, a row per table, and what is missing and why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.experiments.defaults.conftest import WARNING, made_answers, outcome_of

from gtea.experiments.defaults.answers import majority_answers
from gtea.experiments.defaults.defaults_page import skipped_lines, summary_lines, table_lines, write_defaults
from gtea.experiments.defaults.standing import standing_of
from gtea.experiments.defaults.suite import Suite, SuiteResult
from gtea.experiments.defaults.suite_tables import SplitCheck


def test_the_summary_names_the_tables_that_are_behind(result: SuiteResult) -> None:
    assert summary_lines(result) == [
        "By average precision: ahead in 1 of 2 tables, level in 0, behind in 1: tiny:folds.",
        "By log-likelihood: ahead in 1 of 2 tables, level in 0, behind in 1: tiny:folds.",
        *summary_lines(result)[2:],
    ]
    one = SuiteResult(result.seeds, result.tables[:1])
    assert summary_lines(one)[0] == "By average precision: ahead in 1 of 1 table, level in 0, behind in 0."


def test_a_row_has_every_model_and_the_difference(result: SuiteResult) -> None:
    lines = table_lines(result)
    assert lines[0].startswith("| table | test examples | hybrid | network | trees | tree | strong-tree | majority |")
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| **Accounts by time**",
        "| tiny",
        "| **Accounts by folds**",
        "| tiny:folds",
    ]
    standing = result.tables[1].standing
    assert standing is not None
    found = standing.differences["average_precision"]
    cells = lines[5].strip("| ").split(" | ")
    assert cells[1] == "600 (150 positive)"
    assert cells[2] == f"{standing.mean('hybrid', 'average_precision'):.4f}"
    assert cells[7] == "0.2500"
    assert cells[8:] == [
        f"{found.interval.value:+.4f}",
        f"{found.interval.low:+.4f} to {found.interval.high:+.4f}",
        f"**behind** ({found.rival})",
    ]
    assert {line.count("|") for line in lines} == {12}


def test_the_page_and_its_json(result: SuiteResult, tmp_path: Path) -> None:
    page, content = write_defaults(tmp_path / "defaults", result, ["--data tiny tiny:folds", "--seeds 2"])
    text = page.read_text()
    assert text.startswith(
        "# The default model against trees\n\n    gtea reproduce defaults --data tiny tiny:folds --se"
    )
    for title in ("Average precision", "Log-likelihood", "Macro-F1", "Calibration error", "What the splits can't show"):
        assert f"\n## {title}\n" in text
    assert "- tiny: test has 3 accounts of 'bad': that is few." in text
    assert "Look at this page once per decision" in text
    assert "Skipped" not in text
    assert "Not finished" not in text
    saved = json.loads(content.read_text())
    assert saved["verdicts"]["ranking"] == {"ahead": ["tiny"], "level": [], "behind": ["tiny:folds"]}
    first = saved["tables"][0]
    assert (first["name"], first["group"], first["task"], first["skipped"]) == ("tiny", "time", "nodes", None)
    assert first["differences"]["log_likelihood"]["verdict"] == "ahead"
    assert len(first["figures"]["hybrid"]["calibration_error"]["each"]) == 2
    assert first["seconds"] == {"hybrid": [2.0, 2.0], "tree": [2.0, 2.0], "strong-tree": [2.0, 2.0]}
    assert first["warnings"] == [WARNING.to_json()]


def test_what_is_missing_is_told(result: SuiteResult, suite: Suite, tmp_path: Path) -> None:
    time, folds = result.tables
    failed = outcome_of(suite.jobs["tiny", "tree", 1], "failed")
    assert time.standing is not None
    half = replace(time, standing=replace(time.standing, runs=(0,)), outcomes=(failed,))
    skipped = replace(folds, check=SplitCheck("training sees nothing."), standing=None, outcomes=())
    found = SuiteResult(result.seeds, (half, skipped))
    assert skipped_lines(found) == ["tiny:folds: skipped. Training sees nothing."]
    text = write_defaults(tmp_path / "defaults", found, [])[0].read_text()
    assert "| tiny (1 of 2 seeds) |" in text
    assert "- tiny, tree, seed 1: failed. it diverged" in text
    assert "- tiny:folds: skipped. Training sees nothing." in text
    nothing = SuiteResult(result.seeds, (replace(folds, standing=None),))
    text = write_defaults(tmp_path / "defaults", nothing, [])[0].read_text()
    assert "- tiny:folds: no seed has all its models yet." in text
    assert "defaults.png" not in text


def test_more_than_two_classes_have_accuracy(result: SuiteResult) -> None:
    names = ("hybrid", "network", "trees", "tree", "strong-tree")
    models = {name: made_answers(i, 60, 4) for i, name in enumerate(names)}
    models["majority"] = majority_answers(models["hybrid"], [4, 3, 2, 1])
    standing = standing_of({0: models, 1: models}, same_examples=True)
    many = SuiteResult(result.seeds, (replace(result.tables[0], standing=standing),))
    assert summary_lines(many)[0].startswith("By average precision (accuracy with more than two classes): ahead in")
    assert "| tiny | 60 |" in table_lines(many)[3]
