from __future__ import annotations

import unicodedata

import pytest

from gtea.runtime.printable import printable, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zoë 王 🙂 a\\b", "Zoë 王 🙂 a\\b"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[2J\x9b2J\x07\x00\x7f", "\\x1b[2J\\x9b2J\\x07\\x00\\x7f"),
        ("\u202eevil\u2066\u200f", "\\u202eevil\\u2066\\u200f"),
        ("a\u200bb\u2060\ufeff\u00ad", "a\\u200bb\\u2060\\ufeff\\xad"),
        ("a\u2028b\u2029\x85\x0b\x0c", "a\\u2028b\\u2029\\x85\\x0b\\x0c"),
        ("\u3164\u115f\ufe0f\U000e0041\u034f", "\\u3164\\u115f\\ufe0f\\U000e0041\\u034f"),
        ("a\udcffb", "a\\udcffb"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_spelt_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


def test_no_control_format_or_separator_is_left_of_all_of_unicode() -> None:
    shown = printable("".join(map(chr, range(0x110000))))
    kinds = {unicodedata.category(letter) for letter in set(shown) - {" "}}
    assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
    assert len(shown.splitlines()) == 1


def test_a_long_name_is_cut_after_it_was_spelt_out() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"
    assert shortened("\n" * 9, 5) == "\\n\\n…"
