"""The pages over real HTTP, and in a real browser while events arrive."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import violations
from tests.report.hostile_ids import HOSTILE
from tests.service.conftest import Made, Served
from tests.service.forked_servers import end

from gtea.service.path_keys import path_key

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    """Opens a page of the server; any line on the console, error or request elsewhere fails the test."""
    faults: list[str] = []
    contexts: list[Any] = []
    home = f"http://127.0.0.1:{served.port}/"

    def opened(path: str = "", **options: Any) -> Page:
        contexts.append(browser.new_context(locale="en-GB", **options))
        page: Page = contexts[-1].new_page()
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("request", lambda request: None if request.url.startswith(home) else faults.append(request.url))
        page.goto(home + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def listed(page: Page) -> list[str]:
    return list(page.locator("tr.row a").evaluate_all("e => e.map(x => x.title)"))


def test_pages_let_in_their_own_style_and_script_only(served: Served) -> None:
    home = ("/", "connect-src 'self'; ", "'self'")
    for path, asks, target in (home, (f"/cases/{path_key('b')}", "", "'none'")):
        answer = served.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        digests = []
        for tag in ("script", "style"):
            (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", answer.body.decode(), re.DOTALL)
            digests.append(base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())
        assert answer.headers["content-security-policy"] == (
            f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; {asks}"
            f"base-uri 'none'; form-action {target}; frame-ancestors 'none'"
        )


def test_the_case_and_the_reasons_are_of_the_score_that_is_told(served: Served) -> None:
    served.post([("b", "case", 151, 3.0, "card")])
    account = served.get(f"/accounts/{path_key('b')}?reasons=3").json
    reasons = account["reasons"]
    assert reasons["as_of_event"] == account["as_of_event"]
    assert len(reasons["counterparties"]) == 3 < reasons["num_counterparties"]
    sizes = [abs(each["effect"]) for each in reasons["counterparties"]]
    assert sizes == sorted(sizes, reverse=True)
    page = served.get(f"/cases/{path_key('b')}").body.decode()
    assert f"as of event {account['as_of_event']:,}<" in page
    for each in reasons["counterparties"]:
        assert each["account"] in page
    assert "reasons" not in served.get(f"/accounts/{path_key('b')}").json


def test_what_can_not_be_shown(served: Served) -> None:
    for path in ("/cases/", "/cases/" + path_key("nobody"), "/cases/..%2f", "/cases/a="):
        assert served.get(path).status == 404
    for query in ("?part=none", "?alerts=2", "?limit=0", "?q=" + "a" * 201):
        assert served.get("/" + query).status == 400
    assert served.get(f"/accounts/{path_key('b')}?reasons=21").status == 400


def test_the_list_without_a_script(served: Served, visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    accounts = served.get("/accounts").json["accounts"]
    assert listed(page) == [each["account"] for each in accounts]
    page.get_by_label("Search accounts").fill("BB")
    page.get_by_role("button", name="Show").click()
    assert listed(page) == [each["account"] for each in accounts if "bb" in each["account"]]
    page.goto(page.url.split("?")[0] + "?alerts=1")
    assert listed(page) == [each["account"] for each in accounts if each["alert"]]


@pytest.mark.slow
def test_the_list_moves_while_events_arrive(served: Served, visit: Visit) -> None:
    page = visit()
    page.locator("#state", has_text="live").wait_for()
    page.locator("tr.row a").first.focus()
    focused = page.evaluate("document.activeElement.title")
    for number in range(5):
        served.post([("moving", "b", 160 + number, 3.0, "card")])
    page.locator('tr.row a[title="moving"]').wait_for()
    event = f"{served.get('/alerts').json['as_of_event']:,}"
    page.locator("dd", has_text=re.compile(f"^{event}$")).wait_for()
    assert listed(page) == [each["account"] for each in served.get("/accounts").json["accounts"]]
    assert page.evaluate("document.activeElement.title") == focused
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.title") == listed(page)[listed(page).index(focused) + 1]
    page.keyboard.press("/")
    page.keyboard.type("MOV")
    page.locator("tr.row").nth(1).wait_for(state="detached")
    assert listed(page) == ["moving"]
    page.get_by_role("button", name="Pause").click()
    served.post([("moving", "d", 170, 3.0, "card"), ("unmoved", "d", 170, 3.0, "card")])
    page.locator("#filter").fill("")
    page.locator('tr.row a[title="unmoved"]').wait_for()
    assert page.locator("#state").inner_text() == "paused"
    page.locator('tr.row a[title="moving"]').focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/cases/*")
    assert page.locator("h1").inner_text().endswith("moving")
    page.get_by_role("link", name="All accounts").click()
    page.locator("#state", has_text="live").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(visit: Visit, axe: str, scheme: str) -> None:
    page = visit(color_scheme=scheme, viewport={"width": 400, "height": 800})
    assert violations(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    case = visit("cases/" + path_key("b"), color_scheme=scheme)
    assert violations(case, axe) == []


@pytest.mark.slow
def test_hostile_ids_are_inert(visit: Visit, served: Served) -> None:
    page = visit()
    page.locator("#state", has_text="live").wait_for()
    ids = [account for account in HOSTILE if account.strip() and len(account) <= 1000]
    answer = served.post([(account, "b", 180, 3.0, "card") for account in ids])
    assert answer.status == 200, answer.body
    page.locator("tr.row").nth(len(ids)).wait_for()
    assert len(listed(page)) == served.get("/accounts?limit=1000").json["of"]
    handlers = "[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"
    for path in ("", f"cases/{path_key(ids[0])}", f"cases/{path_key('b')}"):
        page.goto(f"http://127.0.0.1:{served.port}/{path}")
        assert page.evaluate("window.pwned") is None
        assert page.evaluate(handlers) is False
        assert page.locator("script").count() == 2
        assert page.locator("img, iframe, object, embed, link, base").count() == 0


def test_a_browser_gets_in_with_the_token_as_its_password(
    made: Made, serve: Callable[..., Served], browser: Browser, tmp_path: Any
) -> None:
    (tmp_path / "token").write_text("x" * 40)
    (tmp_path / "token").chmod(0o600)
    server = serve(made.copied(tmp_path / "here"), "--token-file", str(tmp_path / "token"))
    context = browser.new_context(http_credentials={"username": "anybody", "password": "x" * 40})
    page = context.new_page()
    answer = page.goto(f"http://127.0.0.1:{server.port}/")
    assert answer is not None
    assert answer.status == 200
    assert listed(page)
    context.close()
    end(server.process)


def test_without_the_token_there_is_no_page(made: Made, serve: Callable[..., Served], tmp_path: Any) -> None:
    (tmp_path / "token").write_text("x" * 40)
    (tmp_path / "token").chmod(0o600)
    server = serve(made.copied(tmp_path / "here"), "--token-file", str(tmp_path / "token"))
    for path in ("/", "/?part=list", "/cases/" + path_key("b")):
        assert server.get(path).status == 401
    basic = base64.b64encode(b"anybody:" + b"x" * 40).decode()
    assert server.get("/", authorization=f"Basic {basic}").status == 200
    end(server.process)
