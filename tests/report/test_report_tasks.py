"""A report as tasks has the files of one that a single process writes, whoever writes it, also after a kill."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.cluster.conftest import InThisProcess
from tests.report.conftest import CPU, SmallReport

from gtea.cluster.job_array import JobArray
from gtea.cluster.tasks import FileTask
from gtea.errors import StoreError, UsageError
from gtea.report.report import ReportOptions, write_report
from gtea.report.report_tasks import write_report_on

TWELVE = ReportOptions(top=12)


def left(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_the_files_are_those_of_one_process_also_after_a_kill(small_report: SmallReport, tmp_path: Path) -> None:
    out, (store, model) = tmp_path / "report", (small_report.store.path, small_report.model)

    def die(task: FileTask, folder: Path) -> None:
        if len(killed.ran) == 4:
            raise KeyboardInterrupt

    killed, again = InThisProcess(die), InThisProcess()
    with pytest.raises(KeyboardInterrupt):
        write_report_on(killed, model, store, out, TWELVE, device=CPU)
    assert not (out / "index.html").exists()
    before = (out / "01.html").stat().st_mtime_ns
    record = write_report_on(again, model, store, out, TWELVE, device=CPU)
    assert record == small_report.record
    assert left(out) == left(small_report.out)
    assert (out / "01.html").stat().st_mtime_ns == before
    assert again.ran[0] == "plan"
    assert again.ran[-1] == "all"
    assert len(again.ran) == 14
    assert not list(tmp_path.glob("*.parts"))
    # A smaller one takes its place, as without --on.
    small = ReportOptions(top=2, exports=None)
    write_report_on(InThisProcess(), model, store, out, small, device=CPU)
    write_report(model, store, tmp_path / "plain", small, device=CPU)
    assert left(out) == left(tmp_path / "plain")


def test_jobs_of_an_array_share_it(small_report: SmallReport, tmp_path: Path) -> None:
    out, ended = tmp_path / "report", dict[int, bool]()

    def job(number: int) -> None:
        record = write_report_on(
            JobArray(number, 2), small_report.model, small_report.store.path, out, TWELVE, device=CPU
        )
        ended[number] = record is not None

    other = threading.Thread(target=job, args=(1,))
    other.start()
    job(0)
    other.join()
    assert sorted(ended.values()) == [False, True]
    assert left(out) == left(small_report.out)
    assert {"all.part", "job.json", "plan.part"} < {path.name for path in (tmp_path / "report.parts").iterdir()}
    # Job 1 is started again, and finds that all is done.
    job(1)
    assert ended[1]


def test_what_is_refused(small_report: SmallReport, tmp_path: Path) -> None:
    model, store = small_report.model, small_report.store.path
    with pytest.raises(UsageError, match=r"--accounts: must be a file with --on \(got a table\)"):
        write_report_on(InThisProcess(), model, store, tmp_path / "a", ReportOptions(accounts=[1]), device=CPU)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="exists and is no report of ours"):
        write_report_on(InThisProcess(), model, store, tmp_path / "mine", TWELVE, device=CPU)

    def steal(task: FileTask, folder: Path) -> None:
        (tmp_path / "out" / "1.html").unlink(missing_ok=True)

    with pytest.raises(StoreError, match=r"1\.html: was deleted meanwhile\. Delete .*out\.parts"):
        write_report_on(InThisProcess(steal), model, store, tmp_path / "out", ReportOptions(top=1), device=CPU)
