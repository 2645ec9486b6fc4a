from __future__ import annotations

import pytest
from tests.report.hostile_ids import HOSTILE

from gtea.report.shown import short_id, shown, xml_text


def test_at_least_sixty_hostile_ids() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


@pytest.mark.parametrize("account", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_shown_has_a_shape_and_an_end(account: str) -> None:
    assert shown(account).isprintable()
    assert len(shown(account)) < 550
    assert short_id(account).isprintable()
    assert len(short_id(account)) <= 15


def test_long_ids_say_how_long_they_are() -> None:
    assert shown("x" * 10_000) == "x" * 512 + "… (10,000 characters)"
    assert shown("a\x00b") == r"a\x00b"


def test_short_ids_keep_what_people_compare() -> None:
    assert short_id("0xef543b5dfce8a981a049d7ccc7e90a88d519448f") == "0xef543b…448f"
    assert short_id("0xef543b5dfce8a981a049d7ccc7e90a88d519448f", 6) == "0xef54…448f"
    assert short_id("a" * 15) == "a" * 15
    assert short_id("a" * 5_000 + "bcde") == "aaaaaaaa…bcde"


def test_xml_holds_no_forbidden_control() -> None:
    assert xml_text("a\x00b\x1bc\ufffed\te\n") == "a\ufffdb\ufffdc\ufffdd\te\n"
