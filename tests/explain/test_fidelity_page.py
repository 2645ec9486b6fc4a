"""The page of an audit: Markdown, a plot and figures, the same bytes for the same figures."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from gtea.explain.fidelity import ORDERS, AccountFidelity, Fidelity, OrderSummary
from gtea.explain.fidelity_page import write_fidelity


def test_the_page_has_what_was_found(tmp_path: Path) -> None:
    curves = {order: tuple(0.9 - 0.05 * i for i in range(12)) for order in ORDERS}
    account = AccountFidelity("a", 0.95, 20, 0.1, curves)
    summaries = {order: OrderSummary(curves[order], 0.625, 2.0, 0.75) for order in ORDERS}
    found = Fidelity("2024-01-01T00:00:00Z", (account,), summaries, 0.1)
    page, plot, figures = write_fidelity(tmp_path / "new" / "fidelity", found)
    text = page.read_text()
    assert "| at random (50 draws) | 0.6250 | 2.000 | 75 % of accounts |" in text
    assert "took 100 ms on average" in text
    assert f"]({plot.name})" in text
    drawn = ElementTree.parse(plot).findall(".//{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in drawn] == [13] * 4
    assert json.loads(figures.read_text()) == json.loads(json.dumps(found.to_json()))
    again = [path.read_bytes() for path in write_fidelity(tmp_path / "again", found)[1:]]
    assert again == [plot.read_bytes(), figures.read_bytes()]
