from __future__ import annotations

import re

from gtea.report.flow_figure import MOST_TIES, Flow, FlowContact, FlowNode, draw_flow


def node(place: int, effect: float, *, pays: bool = True, width: float = 0.2, known: str | None = None) -> FlowNode:
    return FlowNode(place, f"n{place}", effect, width, 4.0, pays, place == 0, known)


def test_sides_signs_and_order() -> None:
    drawn = draw_flow(Flow("me", [node(0, 1.0), node(1, -2.0, known="bad"), node(2, 3.0, pays=False)], others=(0, 4)))
    assert re.findall(r'class="ribbon (\w+)"', drawn).count("up") == 2
    assert 'class="node known" data-i="1"' in drawn
    assert "n0 ⇄" in drawn
    assert "4 others" in drawn
    heights = dict(re.findall(r'data-i="(\d)"[^>]*d="M\S+ \S+C\S+ \S+ \S+ \S+ \S+ ([\d.]+)L', drawn))
    assert float(heights["0"]) < float(heights["1"]), "what raises is above what lowers"


def test_ribbons_are_to_scale_and_stay_in_the_picture() -> None:
    drawn = draw_flow(Flow("me", [node(0, 1.0, width=0.5)], others=(3, 0), other_width=(0.5, 0.0)))
    ends = re.findall(r'class="ribbon[^>]*d="M(\S+) (\S+)C[^L]* (\S+) (\S+)L(\S+) (\S+)C[^Z]* (\S+) (\S+)Z"', drawn)
    for x, top, to_x, to_top, back_x, to_bottom, end_x, bottom in ends:
        assert float(bottom) - float(top) == float(to_bottom) - float(to_top) == 125.0
        assert (x, to_x) == (end_x, back_x)
    assert len(ends) == 2
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


def test_where_all_deal_with_all_the_ties_of_the_strongest_are_drawn() -> None:
    nodes = [node(place, 1.0 / (1 + place)) for place in range(20)]
    ties = [(a, b) for a in range(20) for b in range(a + 1, 20)]
    drawn = draw_flow(Flow("me", nodes, ties=ties))
    found = [tuple(map(int, pair)) for pair in re.findall(r'class="hop tie" data-a="(\d+)" data-b="(\d+)"', drawn)]
    assert len(found) == MOST_TIES
    assert (0, 1) in found
    assert (18, 19) not in found


def test_hostile_names_are_text() -> None:
    assert "<script>" not in draw_flow(Flow("<script>", [node(0, 1.0, known="<script>")]))
