"""Workers: lines there and back, errors told and raised again, and nothing left behind."""

from __future__ import annotations

import errno
import os
import queue
import subprocess
import sys
from pathlib import Path

import pytest

from gtea.errors import ModelError, StoreError, UsageError
from gtea.runtime.worker_process import Answers, WorkerProcess, error_answer, told_error

ECHO = """
import json, sys
from gtea.runtime.worker_process import answer_stream, send_answer
answers = answer_stream()
print("a library prints this")
for line in sys.stdin:
    asked = json.loads(line)
    if asked == {"die": True}:
        answers.write('{"half of a')
        answers.flush()
        raise SystemExit(3)
    send_answer(answers, {"got": asked})
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "gtea_test_echo.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    return "gtea_test_echo"


def test_lines_go_there_and_back(echo: str) -> None:
    answers: Answers = queue.Queue()
    workers = [WorkerProcess(echo, number, answers, threads=1) for number in range(2)]
    for number, worker in enumerate(workers):
        worker.send({"text": "two\nlines \u2028", "number": number})
    found = dict(answers.get(timeout=60) for _ in workers)
    assert found == {number: {"got": {"text": "two\nlines \u2028", "number": number}} for number in range(2)}
    for worker in workers:
        worker.close()
    assert sorted(answers.get(timeout=60) for _ in workers) == [(0, {"died": 0}), (1, {"died": 0})]


def test_one_that_dies_is_told_once_and_half_a_line_is_none(echo: str) -> None:
    answers: Answers = queue.Queue()
    worker = WorkerProcess(echo, 7, answers, threads=1)
    worker.send({"die": True})
    assert answers.get(timeout=60) == (7, {"died": 3})
    worker.send({"text": "nobody reads this"})
    worker.close()
    assert answers.empty()


class OwnModelError(ModelError):
    """An error of a module, of a class of gtea.errors."""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (UsageError("one", "two"), UsageError, "one\ntwo"),
        (OwnModelError("broken"), ModelError, "broken"),
        (OSError(errno.EIO, "Input/output error", "/x"), StoreError, "/x: Input/output error"),
        (KeyError("x"), RuntimeError, "the job: KeyError: 'x' (use --jobs 1 for a traceback)"),
    ],
)
def test_an_error_is_raised_as_if_it_had_happened_here(error: Exception, kind: type[Exception], text: str) -> None:
    found = told_error(error_answer(error), "the job")
    assert type(found) is kind
    assert str(found).startswith(text)


def test_a_worker_whose_parent_is_gone_ends_without_a_word(echo: str) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", echo], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stderr is not None
    worker.stdout.close()
    worker.stdin.write('{"text": "nobody reads the answer"}\n')
    worker.stdin.close()
    assert worker.wait(timeout=60) == 1
    assert worker.stderr.read() == "a library prints this\n"
    worker.stderr.close()
