from __future__ import annotations

import re

from gtea.report.flow_figure import Flow, FlowContact, FlowNode, draw_flow


def node(place: int, effect: float, *, pays: bool = True, width: float = 0.2, known: str | None = None) -> FlowNode:
    return FlowNode(place, f"n{place}", effect, width, 4.0, pays, place == 0, known)


def test_sides_signs_and_order() -> None:
    drawn = draw_flow(Flow("me", [node(0, 1.0), node(1, -2.0, known="bad"), node(2, 3.0, pays=False)], others=(0, 4)))
    assert re.findall(r'class="ribbon (\w+)"', drawn).count("up") == 2
    assert 'class="node known" data-i="1"' in drawn
    assert "n0 ⇄" in drawn
    assert "4 others" in drawn
    heights = dict(re.findall(r'data-i="(\d)"[^>]*d="M\S+ \S+C\S+ \S+ \S+ \S+ \S+ ([\d.]+)"', drawn))
    assert float(heights["0"]) < float(heights["1"]), "what raises is above what lowers"


def test_ribbons_are_to_scale_and_stay_in_the_picture() -> None:
    drawn = draw_flow(Flow("me", [node(0, 1.0, width=0.5)], others=(3, 0), other_width=(0.5, 0.0)))
    widths = [float(width) for width in re.findall(r'class="ribbon[^>]*stroke-width="([\d.]+)"', drawn)]
    assert widths == [125.0, 125.0]
    height = float(re.search(r'viewBox="0 0 820 ([\d.]+)"', drawn)[1])  # type: ignore[index]
    assert height > 34 + 2 * 125


def test_ties_and_contacts() -> None:
    nodes = [node(0, 1.0), node(1, 0.5), node(2, 1.0, pays=False)]
    contacts = [FlowContact("x", "bad", True, (0, 1)), FlowContact("y", None, True, (0, 1))]
    drawn = draw_flow(Flow("me", nodes, ties=[(0, 1), (0, 2)], contacts=contacts))
    assert drawn.count('class="hop tie"') == 2
    assert drawn.count('class="hop"') == 4
    places = [float(y) for y in re.findall(r'class="contact[^>]*><rect x="92" y="([\d.]+)"', drawn)]
    assert abs(places[0] - places[1]) >= 40, "names need room"


def test_hostile_names_are_text() -> None:
    assert "<script>" not in draw_flow(Flow("<script>", [node(0, 1.0, known="<script>")]))
