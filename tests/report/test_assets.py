from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from tests.report.hostile_ids import HOSTILE

from gtea.report.assets import content_policy, page_data, render
from gtea.report.case import Case
from gtea.report.case_page import render_case


def test_the_policy_lets_in_this_style_and_this_script_only(busy_case: Case) -> None:
    page = render_case(busy_case)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "unsafe" not in policy[1]
    digests = []
    for tag in ("script", "style"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert text is not None
        digests.append(base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode())
    assert policy[1].replace("&#39;", "'") == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert content_policy("", "").count("sha256-") == 2


def test_data_can_not_end_their_element() -> None:
    text = page_data({"ids": [*HOSTILE, "\ud800", "\u2028"]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["ids"][: len(HOSTILE)] == HOSTILE


def test_a_template_that_lacks_something_is_no_page() -> None:
    with pytest.raises(Exception, match="title"):
        render("page.html", {}, {})
