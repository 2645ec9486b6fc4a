"""Tables in Markdown, and the two files of a page."""

from __future__ import annotations

import json
from pathlib import Path

from gtea.experiments.result_page import environment_lines, markdown_table, write_page


def test_the_first_column_is_text_and_the_others_are_numbers() -> None:
    assert markdown_table(["model", "a", "b"], [["tree", "1", "2"]]) == [
        "| model | a | b |",
        "| --- | ---: | ---: |",
        "| tree | 1 | 2 |",
    ]


def test_a_page_is_markdown_and_json(tmp_path: Path) -> None:
    page, content = write_page(tmp_path / "some.page", ["# one", "two"], {"é": 1})
    assert (page.name, content.name) == ("some.page.md", "some.page.json")
    assert page.read_text() == "# one\ntwo\n"
    assert json.loads(content.read_text()) == {"é": 1}


def test_without_runs_there_is_nothing_to_say_about_them() -> None:
    assert environment_lines([]) == []
