from __future__ import annotations

from pathlib import Path

from gtea.training.epochs_done import share_trained


def test_epochs_are_counted_in_the_folders_of_runs(tmp_path: Path) -> None:
    begun, done, not_yet = (tmp_path / name for name in ("begun", "done", "not yet"))
    for folder in (begun, done):
        folder.mkdir()
        (folder / "metrics.jsonl").write_text('{"epoch": 0}\n')
    (done / "manifest.json").write_text("{}")
    assert share_trained([begun, done, not_yet, not_yet], 2) == (0.5 + 1) / 4
    assert share_trained([], 2) == 0
