"""The page: a summary on top, a table per metric, and what is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.experiments.few_labels.conftest import few_outcome, leave_all

from gtea.experiments.few_labels.few_labels_page import curve_lines, verdict_lines, write_few_labels
from gtea.experiments.few_labels.learning_curves import CurvesResult, LearningCurves
from gtea.experiments.runs.jobs import save_outcome


def test_the_summary_names_the_sizes_that_are_behind(result: CurvesResult) -> None:
    assert verdict_lines(result) == [
        "By average precision: ahead at 1 of 2 sizes, level at 0, behind at 1: tiny 8.",
        "By log-likelihood, both classes counting the same: ahead at 0 of 2 sizes, level at 0, behind at 2: "
        "tiny 4, tiny 8.",
        "By macro-F1: ahead at 1 of 2 sizes, level at 0, behind at 1: tiny 8.",
        "By ROC-AUC: ahead at 1 of 2 sizes, level at 0, behind at 1: tiny 8.",
    ]
    one = CurvesResult(3, result.sizes[:1])
    assert verdict_lines(one)[0] == "By average precision: ahead at 1 of 1 size, level at 0, behind at 0."


def test_a_row_has_every_model_and_the_difference(result: CurvesResult) -> None:
    lines = curve_lines(result, "macro_f1")
    assert lines[0].startswith("| data | labels per class | test accounts | hybrid | tree | strong-tree | difference |")
    cells = [line.strip("| ").split(" | ") for line in lines[2:]]
    # The mean of 0.60, 0.61 and 0.60, and so on. The difference is the same in every draw.
    assert cells[0][:7] == ["tiny", "4", "80 (30 positive)", "0.6033", "0.4033", "0.5033", "+0.1000"]
    assert cells[0][7:] == ["+0.1000 to +0.1000", "ahead (strong-tree)"]
    assert cells[1][6:] == ["-0.1000", "-0.1000 to -0.1000", "**behind** (tree)"]


def test_the_files_have_everything(result: CurvesResult, tmp_path: Path) -> None:
    page, content = write_few_labels(tmp_path / "few-labels", result, ["--data tiny", "--draws 3"])
    text = page.read_text()
    assert "    gtea reproduce few-labels --data tiny --draws 3\n" in text
    for title in ("Average precision", "Log-likelihood, both classes counting the same", "Macro-F1", "ROC-AUC"):
        assert f"## {title}\n" in text
    assert "4,000 of the other accounts at most are the test" in text
    assert "in the log-likelihood each class has half of the weight" in text
    assert "Not finished" not in text
    found = json.loads(content.read_text())
    assert found["draws"] == 3
    assert found["verdicts"]["average_precision"] == {"ahead": ["tiny 4"], "level": [], "behind": ["tiny 8"]}
    first = found["sizes"][0]
    assert (first["data"], first["per_class"], first["seeds"]) == ("tiny", 4, [0, 1, 2])
    assert first["figures"]["hybrid"]["average_precision"]["each"] == [0.7, 0.71, 0.7]
    assert first["differences"]["roc_auc"]["verdict"] == "ahead"


def test_what_is_missing_is_said(curves: LearningCurves, tmp_path: Path) -> None:
    failed, late = curves.jobs["tiny", 4, 1, "tree"], curves.jobs["tiny", 8, 0, "hybrid"]
    leave_all(curves)
    save_outcome(failed.outcome_file(curves.out), few_outcome(failed, 0.9, "failed"))
    save_outcome(late.outcome_file(curves.out), few_outcome(late, 0.9, "failed"))
    whole = curves.run(lambda status: None, lambda found: None)
    assert whole is not None
    page, content = write_few_labels(tmp_path / "few-labels", whole, [])
    text = page.read_text()
    assert "| tiny | 4 (2 of 3 draws) |" in text
    assert "- tiny, tree, 4 per class, draw 2: failed. it diverged\n" in text
    assert json.loads(content.read_text())["sizes"][0]["failed"] == ["tree, 4 per class, draw 2: it diverged"]
    begun = replace(whole, sizes=tuple(replace(size, standing=None) for size in whole.sizes))
    page, content = write_few_labels(tmp_path / "few-labels", begun, [])
    assert "- tiny 8: fewer than two draws have all their models.\n" in page.read_text()
    assert "few-labels.png" not in page.read_text()
    assert "figures" not in json.loads(content.read_text())["sizes"][0]
