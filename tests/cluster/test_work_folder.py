"""The folder of a job: one job, and nothing of others is deleted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gtea.cluster.part_files import write_part_file
from gtea.cluster.work_folder import delete_job, describe_job, read_job
from gtea.errors import StoreError, UsageError


def test_a_job_is_described_once_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "parts"
    describe_job(folder, {"kind": "test", "parts": 3})
    describe_job(folder, {"kind": "test", "parts": 3})
    assert read_job(folder) == {"kind": "test", "parts": 3}
    with pytest.raises(UsageError, match=r"belongs to another job .different: parts.*choose another"):
        describe_job(folder, {"kind": "test", "parts": 4})


def test_a_folder_with_other_files_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(UsageError, match=r"must be empty or the folder of a job of gtea"):
        describe_job(tmp_path, {"kind": "test"})
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_only_what_is_ours_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    describe_job(folder, {"kind": "test"})
    for name in ("a", "rank"):
        write_part_file(folder / f"{name}.part", {"x": np.arange(3)}, {})
    delete_job(folder, keep=("rank",))
    assert sorted(path.name for path in folder.iterdir()) == ["job.json", "rank.part"]
    for name in ("letters.txt", "film.part"):
        (folder / name).write_text("dear")
    delete_job(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["film.part", "letters.txt"]


def test_a_damaged_description_is_told(tmp_path: Path) -> None:
    for content in ("{", "[]"):
        (tmp_path / "job.json").write_text(content)
        with pytest.raises(StoreError, match=r"job\.json: can't be read"):
            read_job(tmp_path)


def test_a_job_that_another_process_has_ended(tmp_path: Path) -> None:
    """Its remedy is not to delete the folder, which is gone."""
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(StoreError, match=r"has no job any more. .* has ended it, and the result is there"):
            read_job(folder)
