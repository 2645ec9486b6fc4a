from __future__ import annotations

import re

from tests.report.hostile_ids import HOSTILE
from tests.service.standings import standing_of

from gtea.service.home_page import render_home, render_list
from gtea.service.path_keys import path_key
from gtea.service.published import Published
from gtea.service.ranked_rows import ranked_rows


def home(published: Published, text: str = "") -> str:
    rows = ranked_rows(published.standing, 1000)
    return render_home(published, rows, "bad", text, 200, only_alerts=False)


def test_a_list_without_a_script() -> None:
    page = home(Published(1_234, standing_of({"a": 0.25, "b": 0.75})))
    assert re.findall(r'<td class="n">(\d+)</td>.*?href="(.*?)".*?<td class="score">(.*?)</td>', page) == [
        ("1", f"cases/{path_key('b')}", "0.750"),
        ("2", f"cases/{path_key('a')}", "0.250"),
    ]
    assert page.count(">alert<") == 1
    assert "<dd>1,234</dd>" in page


def test_what_moves_is_a_part_of_the_page() -> None:
    published = Published(5, standing_of({"a": 0.25, "b": 0.75}))
    part = render_list(published, ranked_rows(published.standing, 10), "bad")
    assert part.strip() in home(published)
    assert "<script" not in part


def test_hostile_ids_are_text() -> None:
    names = dict.fromkeys(HOSTILE, 0.5)
    page = home(Published(1, standing_of(names)), text='"><script>window.pwned=1</script>')
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert page.count('<tr class="row"') == len(names)


def test_nobody_to_list() -> None:
    assert "No account" in home(Published(0, standing_of({})))
