"""The pages in a real browser: they look right to a machine, do what they promise, and ask nobody for anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import violations
from tests.monitoring.test_monitor_page import record
from tests.report.conftest import SmallReport
from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store, made_up_case

from gtea.monitoring.monitor_page import render_monitor
from gtea.report.case import Case
from gtea.report.case_page import render_case
from gtea.report.case_writer import write_text

if TYPE_CHECKING:
    from playwright.sync_api import Page

Visit = Callable[..., "Page"]


@pytest.fixture(scope="module")
def case_file(busy_case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("case") / "case.html"
    write_text(path, render_case(busy_case))
    return path


def shown_rows(page: Page) -> list[str]:
    """The numbers of the rows that can be seen, in their order."""
    texts = page.locator("tbody tr.row:visible td.n").all_inner_texts()
    return [text.strip() for text in texts]


def test_rows_are_sorted_filtered_and_counted(visit: Visit, case_file: Path) -> None:
    page = visit(case_file)
    assert shown_rows(page)[:3] == ["1", "2", "3"]
    page.get_by_role("button", name="Received").click()
    keys = [
        float(key)
        for key in page.locator("tbody tr.row td:nth-child(6)").evaluate_all("e => e.map(x => x.dataset.key)")
    ]
    assert keys == sorted(keys, reverse=True)
    assert page.locator("th[aria-sort]").inner_text().strip() == "Received"
    page.get_by_role("button", name="Received").click()
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Lower").click()
    lowering = page.locator("tbody tr.row[data-kind=down]").count()
    assert len(shown_rows(page)) == lowering > 0
    page.keyboard.press("/")
    page.keyboard.type("no such account")
    assert shown_rows(page) == []
    assert page.locator("#count").inner_text() == "0 of 40 counterparties"


def test_a_row_opens_and_its_ribbon_lights_up(visit: Visit, case_file: Path) -> None:
    page = visit(case_file)
    row = page.locator("tr.row").first
    row.hover()
    assert page.locator(".flow.lit .ribbon.on").count() == 1
    row.click()
    more = page.locator("tr.more")
    assert str(row.locator("td.id").get_attribute("title")) in more.inner_text()
    page.locator(".flow .node").last.click()
    assert page.locator("tr.row.picked").count() == 1
    assert page.locator("tr.more").count() == 1


def test_lanes_tell_their_events_and_zoom(visit: Visit, case_file: Path) -> None:
    page = visit(case_file)
    before = page.locator("#span").inner_text()
    page.get_by_role("button", name="Last 30 days").click()
    assert page.locator("#span").inner_text() != before
    page.get_by_role("button", name="Whole time").click()
    drawn = page.locator("tr.row .lane path").evaluate_all("e => e.some(x => x.getAttribute('d'))")
    assert drawn
    strip = page.locator(".brush").bounding_box()
    assert strip is not None
    page.mouse.move(strip["x"] + 20, strip["y"] + 10)
    page.mouse.down()
    page.mouse.move(strip["x"] + strip["width"] / 2, strip["y"] + 10)
    page.mouse.up()
    zoomed = page.locator("#span").inner_text()
    assert zoomed not in (before, "")
    page.locator(".brush").press("Escape")
    assert page.locator("[data-time=all]").get_attribute("aria-pressed") == "true"


def test_everything_works_by_keyboard(visit: Visit, case_file: Path) -> None:
    page = visit(case_file)
    page.locator("tr.row").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.i") == "1"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.i") == "39"
    page.keyboard.press("Enter")
    assert page.locator("tr.more").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("tr.more").count() == 0
    page.keyboard.press("ArrowRight")
    assert page.locator("#live").inner_text().startswith("1 of ")
    assert page.locator("#tip").evaluate("e => e.style.visibility") == "visible"
    assert page.locator("tr.row[tabindex='0']").count() == 1
    page.locator(".brush").press("+")
    assert page.locator("#live").inner_text() == page.locator("#span").inner_text()


def test_the_theme_is_chosen_by_a_button(visit: Visit, case_file: Path) -> None:
    page = visit(case_file, color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 23, 26)"
    page.locator("#theme").click()
    assert page.evaluate(colour) == "rgb(255, 255, 255)"


def test_a_narrow_page_does_not_scroll_sideways(visit: Visit, case_file: Path, small_report: SmallReport) -> None:
    for path in (case_file, small_report.out / "index.html"):
        page = visit(path, viewport={"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_pages_say_everything_without_a_script(visit: Visit, case_file: Path, small_report: SmallReport) -> None:
    page = visit(case_file, java_script_enabled=False)
    assert page.locator("tr.row").count() == 40
    assert page.locator(".lane path").first.get_attribute("d") is not None
    assert "Who pays, who is paid" in page.locator("main").inner_text()
    page = visit(small_report.out / "index.html", java_script_enabled=False)
    page.locator("tr.row a").first.click()
    assert page.url.endswith("01.html")


def test_a_case_prints_on_a4(visit: Visit, case_file: Path) -> None:
    printed = visit(case_file).pdf(prefer_css_page_size=True)
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 3
    assert b"595" in printed  # the width of A4 in points


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(
    visit: Visit, axe: str, case_file: Path, small_report: SmallReport, scheme: str
) -> None:
    for path in (case_file, small_report.out / "index.html"):
        page = visit(path, color_scheme=scheme)
        assert violations(page, axe) == []
    page.locator("tr.row").first.focus()


def test_axe_finds_no_violation_in_an_opened_row_of_a_narrow_page(visit: Visit, axe: str, case_file: Path) -> None:
    page = visit(case_file, viewport={"width": 400, "height": 800})
    page.locator("tr.row").first.click()
    assert page.locator("#live").inner_text().startswith("opened: ")
    assert violations(page, axe) == []


def test_the_index_moves_with_the_budget(visit: Visit, small_report: SmallReport) -> None:
    page = visit(small_report.out / "index.html")
    assert page.locator("tr.row").count() == 12
    page.locator("#range").focus()
    for _ in range(9):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#budget").inner_text() == "3"
    assert page.locator("tr.row.past").count() == 9
    assert "1.5 hours of work" in page.locator("#told").inner_text()
    page.get_by_role("button", name="Not labelled").click()
    assert len(shown_rows(page)) == page.locator("tr.row[data-kind=new]").count() < 12
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name="Account").click()
    names = page.locator("tr.row td.id a").all_inner_texts()
    assert names == sorted(names, reverse=True)
    page.locator("tr.row").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/*.html")
    assert "Case" in page.locator("nav").inner_text()


def test_hostile_ids_are_inert(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    store = busy_store(names=HOSTILE)
    write_text(path, render_case(made_up_case(store)))
    page = visit(path)
    page.locator("tr.row").first.click()
    assert page.locator("tr.row").count() == len(HOSTILE)
    assert page.evaluate("window.pwned") is None
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed, link, base, form").count() == 0
    handlers = "[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"
    assert page.evaluate(handlers) is False
    for account in HOSTILE[:3]:
        write_text(path, render_case(made_up_case(store, account)))
        page = visit(path)
        assert page.evaluate("window.pwned") is None


def test_five_thousand_counterparties_are_all_there(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "hub.html"
    write_text(path, render_case(made_up_case(busy_store(5_000))))
    assert path.stat().st_size < 1_000_000
    page = visit(path)
    drawn, listed = page.locator("tr.row").count(), page.locator("#rest tbody tr").count()
    assert drawn <= 200
    assert drawn + listed == 5_000
    page.locator("#rest summary").click()
    account = page.locator("#rest tbody tr").nth(4_000).locator("td").first.inner_text()
    page.locator("#filter").fill(account)
    assert page.locator("#rest tbody tr:visible").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_monitored_model(visit: Visit, axe: str, tmp_path: Path, scheme: str) -> None:
    write_text(tmp_path / "index.html", render_monitor(record()))
    page = visit(tmp_path / "index.html", color_scheme=scheme)
    assert violations(page, axe) == []


def test_the_page_of_a_monitored_model_needs_no_script_and_prints(visit: Visit, tmp_path: Path) -> None:
    write_text(tmp_path / "index.html", render_monitor(record()))
    for width in (400, 1400):
        page = visit(tmp_path / "index.html", java_script_enabled=False, viewport={"width": width, "height": 900})
        assert "limits crossed" in page.title()
        assert page.locator(".by-day").count() == 3
        assert len(page.pdf(format="A4")) > 10_000
