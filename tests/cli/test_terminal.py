"""Names of strangers on the terminal: no name can start a line, control the terminal, or be taken for markup."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from gtea.cli.bars import percent_bar, progress_bar, say_above
from gtea.cli.terminal import ask, print_json, print_traceback, say, warning_text
from gtea.errors import DataError

EVIL = "\n     1  0.9999  victim\r\x1b[2J\x9b1m\u202e\u200b\u2028[/b][link=x]"
Run = Callable[..., Any]


def is_inert(text: str) -> bool:
    return text.replace("\n", "").isprintable()


class World:
    """The same events and labels, with tame names or with hostile ones."""

    def __init__(self, folder: Path, evil: str) -> None:
        self.folder, self.evil = folder / f"w{evil.replace('/', '')}", evil
        self.folder.mkdir()
        self.store, self.model, self.scores = self.path("s"), self.path("m"), self.path("scores") + ".csv"
        self.events, self.again = self.table("e", range(400)), self.table("again", range(398, 400))
        known = [f'"a{i:02}{evil}","{("odd", "even")[i % 2]}{evil}"' for i in range(40)]
        self.labels = self.write("labels", ["account,label", *known, f'"nobody{evil}","odd{evil}"'])
        self.bad = self.write("bad", ["account,label", f'"a01{evil}",""', f'"a02{evil}",""'])

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}{self.evil.replace('/', '')}")

    def table(self, name: str, times: range) -> str:
        columns = {
            f"src{self.evil}": [f"a{t % 40:02}{self.evil}" for t in times],
            "dst": [f"b{t * 7 % 11}{self.evil}" for t in times],
            "time": list(times),
            f"amount{self.evil}": [float(t % 40 % 2 * 5 + t % 3) for t in times],
            f"kind{self.evil}": [f"k{t % 2}{self.evil}" for t in times],
        }
        pq.write_table(pa.table(columns), self.path(name) + ".parquet")
        return self.path(name) + ".parquet"

    def write(self, name: str, lines: list[str]) -> str:
        Path(self.path(name) + ".csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
        return self.path(name) + ".csv"

    def commands(self) -> list[list[str]]:
        columns = ["--src", f"src{self.evil}", "--dst", "dst", "--time", "time", "--time-unit", "step"]
        columns += ["--features", f"amount{self.evil}", "--categorical", f"kind{self.evil}"]
        trees = ["--variant", "tree", "--positive", f"odd{self.evil}"]
        return [
            ["ingest", self.events, *columns, "--out", self.store],
            ["info", self.store],
            ["info", self.store, "--json"],
            ["verify", self.store],
            ["append", self.store, self.again],
            ["train", self.store, "--labels", self.labels, "--out", self.model, *trees],
            ["train", self.store, "--labels", self.bad, "--out", self.model, *trees],
            ["train", self.store, "--labels", self.labels, "--out", self.model, *trees, "--unknown", "skip"],
            ["score", self.model, self.store, "--out", self.scores],
            ["score", self.model, self.store, "--out", self.scores, "--json"],
            ["evaluate", self.model, self.store, "--labels", self.labels, "--unknown", "skip"],
            ["explain", self.model, self.store, f"a01{self.evil}"],
            ["explain", self.model, self.store, f"a01{self.evil}", "--html", self.path("case") + ".html", "--json"],
            ["explain", self.model, self.store, f"nobody{self.evil}"],
            ["report", self.model, self.store, "--out", self.path("pages"), "--top", "2", "--jobs", "1"],
            ["report", self.model, self.store, "--out", str(self.folder)],
            ["investigate", self.events, "--labels", self.bad, "--out", self.path("case"), *columns[:6]],
            ["investigate", self.events, "--labels", self.labels, "--out", str(self.folder), *columns[:6]],
            ["export", self.store, "--format", "csv", "--out", self.path("x")],
            ["export", self.store, "--out", str(self.folder)],
            ["info", self.path("nowhere"), "--debug"],
            [f"inf{self.evil}"],
            ["info", self.store, f"more{self.evil}"],
            ["export", self.store, "--format", f"none{self.evil}", "--out", "x"],
        ]


def test_hostile_names_print_as_many_lines_as_tame_ones_in_every_command(gtea: Run, tmp_path: Path) -> None:
    tame, hostile = World(tmp_path, ""), World(tmp_path, EVIL)
    for plain, evil in zip(tame.commands(), hostile.commands(), strict=True):
        expected, outcome = gtea(*plain), gtea(*evil)
        assert outcome.code == expected.code, outcome.err
        assert is_inert(outcome.out + outcome.err), evil
        assert outcome.out.count("\n") == expected.out.count("\n"), outcome.out
        assert outcome.err.count("\n") == expected.err.count("\n"), outcome.err
        if "--json" in plain and plain[0] == "score":
            assert json.loads(outcome.out)["top"][0]["account"].endswith(EVIL)


def test_json_is_inert_and_still_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    content = {f"Zoë{EVIL}": ["\U000e0041", "\udcff", "\x7f", "王"]}
    print_json(content)
    printed = capsys.readouterr().out
    assert json.loads(printed) == content
    assert is_inert(printed)
    assert "Zoë" in printed
    assert "王" in printed


def test_an_error_of_several_lines_keeps_its_own_and_no_other(gtea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DataError(f"first{EVIL}", "second", f"third{EVIL}") from ValueError(EVIL)

    monkeypatch.setattr("gtea.store.store.Store.open", fail)
    outcome = gtea("info", "x")
    assert [line[:8] for line in outcome.err.splitlines()] == ["gtea: fi", "second", "third\\n "]
    debug = gtea("info", "x", "--debug").err
    assert is_inert(debug)
    assert debug.splitlines()[0] == "Traceback (most recent call last):"
    assert "ValueError: \\n     1" in debug


def test_a_traceback_names_what_led_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        try:
            raise KeyError(EVIL)
        except KeyError as error:
            raise ValueError(EVIL) from error
    except ValueError as error:
        print_traceback(error)
    printed = capsys.readouterr().err
    kinds = [line.split(":")[0] for line in printed.splitlines() if not line.startswith(" ")]
    assert kinds == ["Traceback (most recent call last)", "KeyError", "which led to", "ValueError"]


def test_a_bar_takes_no_name_for_markup() -> None:
    stream = io.StringIO()
    bar = percent_bar(Console(file=stream, width=400, force_terminal=True, color_system=None))
    bar.add_task(f"name{EVIL}", total=1.0, figures=f"figures{EVIL}")
    bar.console.print(bar.get_renderable())
    say_above(bar, f"above{EVIL}:smile:")
    first, second = stream.getvalue().splitlines()
    assert is_inert(first + second)
    assert first.count("[/b][link=x]") == 2
    assert second.endswith("[/b][link=x]:smile:")


def test_the_bar_of_a_stage_takes_no_name_for_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    with progress_bar() as progress:
        progress(f"reading{EVIL}", 0.5)
    assert "[/b][link=x]" in terminal.getvalue()
    assert "\x1b[2J" not in terminal.getvalue()


def test_warnings_of_libraries_are_one_line() -> None:
    text = warning_text(UserWarning(EVIL), UserWarning, "x.py", 3)
    assert text.startswith("x.py:3: UserWarning: \\n")
    assert is_inert(text)
    assert text.count("\n") == 1


def test_a_name_that_is_chosen_is_the_name_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a\\nb\n"))
    assert ask(f"Which?{EVIL}", ["c", "a\nb"]) == "a\nb"
    assert is_inert(capsys.readouterr().out)


def test_a_line_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\nb", "", "c")
    assert capsys.readouterr().out == "a\\nb\n\nc\n"
