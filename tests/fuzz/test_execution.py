"""What an execution comes to is told as the command line would tell it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fuzz.execution import Input, Verdict, execute, make_input, result_of
from tests.fuzz.folders import Files, Scratch, Special, read_folder
from tests.fuzz.targets import Target

from gtea.errors import DataError, StoreError

SEEDS: Files = {"a.csv": b"x,y\n1,2\n", "b.json": b'{"a": 1}', "c/d.bin": bytes(16)}


def target(run: Callable[[Path], bytes], *, tells: bool = True) -> Target:
    return Target("t", ("a.csv",), run, 1, frozenset({4}), tells, forge=lambda files: files)


def failing(error: Exception) -> Callable[[Path], bytes]:
    def run(folder: Path) -> bytes:
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "forged", "verdict"),
    [
        (lambda folder: b"constant", False, Verdict.SAME),
        (lambda folder: (folder / "a.csv").read_bytes(), False, Verdict.DIFFERENT),
        (lambda folder: (folder / "a.csv").read_bytes(), True, Verdict.ACCEPTED),
        (failing(StoreError("damaged")), False, Verdict.REFUSED),
        (failing(OSError("damaged")), False, Verdict.REFUSED),
        (failing(DataError("wrong")), False, Verdict.WRONG_CLASS),
        (failing(DataError("wrong")), True, Verdict.REFUSED),
        (failing(KeyError("wrong")), True, Verdict.UNCAUGHT),
    ],
)
def test_verdicts(tmp_path: Path, run: Callable[[Path], bytes], forged: bool, verdict: Verdict) -> None:
    expected = result_of(target(lambda folder: b"constant"), SEEDS, Scratch(tmp_path / "scratch"))
    given = Input(target(run), {"a.csv": b"changed"}, forged)
    outcome = execute(given, expected, Scratch(tmp_path / "scratch"))
    assert outcome.verdict is verdict
    assert outcome.verdict.is_finding == (verdict in (Verdict.DIFFERENT, Verdict.WRONG_CLASS, Verdict.UNCAUGHT))


def test_another_result_may_be_where_no_digest_could_tell(tmp_path: Path) -> None:
    given = Input(target(lambda folder: b"x", tells=False), SEEDS, forged=False)
    assert execute(given, "another", Scratch(tmp_path / "scratch")).verdict is Verdict.ACCEPTED


def test_inputs_follow_from_their_seed_and_differ_from_the_original() -> None:
    for name in SEEDS:
        subject = Target("t", (name,), lambda folder: b"", 1, frozenset())
        first, again = ([make_input(random.Random(n), subject, SEEDS).files for n in range(300)] for _ in range(2))
        assert first == again
        assert all(files != {name: SEEDS[name]} for files in first)
        assert len({str(files) for files in first}) > 100


def test_a_scratch_folder_holds_one_input_after_the_other(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    strange: Files = {**SEEDS, "a.csv": Special.PIPE, "c/d.bin": Special.FOLDER}
    for files in (SEEDS, strange, Files({"b.json": Special.LINK}), SEEDS):
        scratch.hold(files)
        assert {name: found for name, found in read_folder(scratch.folder).items() if name != "c"} == files
