"""Who pays, who is paid: a bow-tie with the account in the middle. No randomness, nothing moves.

Left are those who mostly pay the account, right those whom it mostly pays. A ribbon is as wide as the attention that
its counterparty gets (all of it is 1), red if it raises the score and blue if it lowers it, and the stronger its effect
the less it is transparent. Each side is ordered by signed effect. The area of a circle is the amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from gtea.report.figures import counted
from gtea.report.svg import curve, drawing, element, number

MOST = 27
"""The counterparties drawn on a side; the others are one ribbon."""
MOST_TIES = 40
"""The dotted lines drawn: more of them are a grey cloth."""
_WIDTH = 820.0
_RIBBONS = 250.0
"""The width of all ribbons together."""
_CENTRE, _HALF = 410.0, 13.0
_END = (252.0, 568.0)
"""Where the ribbons of each side end: between them and the circles is room for nothing, names stand outside."""
_TIE = (144.0, 676.0)
_CONTACT = (96.0, 724.0)
_GAP = 17.0
_TOP = 34.0


@dataclass(frozen=True)
class FlowNode:
    """A counterparty as drawn."""

    place: int
    """Its row in the evidence."""
    name: str
    effect: float
    width: float
    """Its share of the attention."""
    amount: float
    """What passed in both directions; or the number of events."""
    pays: bool
    """Whether it mostly pays the account."""
    both_ways: bool
    known: str | None


@dataclass(frozen=True)
class FlowContact:
    """An account outside that several of a side deal with."""

    name: str
    known: str | None
    pays: bool
    """On which side it is drawn."""
    places: tuple[int, ...]


@dataclass(frozen=True)
class Flow:
    """All that is drawn."""

    account: str
    nodes: Sequence[FlowNode]
    ties: Sequence[tuple[int, int]] = ()
    """Rows of the evidence that deal with each other."""
    contacts: Sequence[FlowContact] = ()
    others: tuple[int, int] = (0, 0)
    """How many more mostly pay and are mostly paid."""
    other_width: tuple[float, float] = (0.0, 0.0)


@dataclass
class _Layout:
    """Where everything is."""

    y: dict[int, float] = field(default_factory=dict)
    side: dict[int, int] = field(default_factory=dict)
    height: float = 0.0


def draw_flow(flow: Flow) -> Markup:
    """The picture."""
    sides = [sorted((n for n in flow.nodes if n.pays == (s == 0)), key=lambda n: -n.effect) for s in (0, 1)]
    largest_effect = max((abs(node.effect) for node in flow.nodes), default=0.0) or 1.0
    largest_amount = max((abs(node.amount) for node in flow.nodes), default=0.0) or 1.0
    others = [_thick(flow.other_width[s]) + _GAP if flow.others[s] else 0.0 for s in (0, 1)]
    tall = max(_needed(side, room) for side, room in zip(sides, others, strict=True))
    layout = _Layout(height=tall + _TOP + 10)
    ribbons: list[tuple[float, Markup]] = []
    nodes: list[Markup] = []
    for s, side in enumerate(sides):
        at = _TOP + (tall - _needed(side, others[s])) / 2
        bundle = sum(_thick(node.width) for node in side) + (_thick(flow.other_width[s]) if flow.others[s] else 0)
        inner = _TOP + tall / 2 - bundle / 2
        for node in side:
            room = _room(node)
            y = at + room / 2
            at += room
            layout.y[node.place], layout.side[node.place] = y, s
            thick = _thick(node.width)
            ribbons.append((thick, _ribbon(node, s, y, inner + thick / 2, thick, largest_effect)))
            inner += thick
            nodes.append(_node(node, s, y, largest_amount))
        if flow.others[s]:
            thick = _thick(flow.other_width[s])
            ribbons.append(
                (thick, _curve(s, at + others[s] / 2, inner + thick / 2, thick, class_="ribbon rest", opacity=0.3))
            )
            nodes.append(_others(flow.others[s], s, at + others[s] / 2))
    thick_first = [ribbon for _, ribbon in sorted(ribbons, key=lambda pair: -pair[0])]
    parts = [*_titles(sides, flow.others), *_ties(flow, layout), *_contacts(flow, layout), *thick_first]
    parts += [_me(flow.account, _TOP + tall / 2, tall), *nodes]
    spoken = "Who pays the account and whom it pays; the table below has the same facts"
    return drawing(_WIDTH, layout.height, spoken, parts, "flow")


def _thick(share: float) -> float:
    return max(_RIBBONS * share, 0.8)


def _room(node: FlowNode) -> float:
    return max(_GAP, min(_thick(node.width), _RIBBONS) + 4)


def _needed(side: Sequence[FlowNode], others: float) -> float:
    """How tall a side is, with the ribbon of the others."""
    return max(sum(map(_room, side)) + others, 120.0)


def _titles(sides: Sequence[Sequence[FlowNode]], others: tuple[int, int]) -> list[Markup]:
    titles = []
    if sides[0] or others[0]:
        titles.append(element("text", "mostly pay this account", class_="side", x=258, y=12, text_anchor="end"))
    if sides[1] or others[1]:
        titles.append(element("text", "mostly paid by it", class_="side", x=562, y=12))
    return titles


def _curve(
    side: int, y: float, inner: float, thick: float, *, class_: str, opacity: float, place: int | None = None
) -> Markup:
    start, end, half = _CENTRE + (_HALF if side else -_HALF), _END[side], thick / 2
    # Filled between two lines: a thick line would bulge where it turns, and cover what is beside it.
    back = curve(end, y + half, start, inner + half).replace("M", "L", 1)
    path = f"{curve(start, inner - half, end, y - half)}{back}Z"
    return element("path", class_=class_, data_i=place, d=path, fill_opacity=f"{opacity:.2f}")


def _ribbon(node: FlowNode, side: int, y: float, inner: float, thick: float, largest: float) -> Markup:
    kind = "up" if node.effect >= 0 else "down"
    opacity = 0.3 + 0.6 * (abs(node.effect) / largest) ** 0.5
    return _curve(side, y, inner, thick, class_=f"ribbon {kind}", opacity=opacity, place=node.place)


def _node(node: FlowNode, side: int, y: float, largest: float) -> Markup:
    radius = max(9.0 * (abs(node.amount) / largest) ** 0.5, 2.6)
    x = _END[side] + (radius * 0.2 if side else -radius * 0.2)
    name_x = _END[side] + (14 if side else -14)
    anchor = "start" if side else "end"
    words = f"{node.name} ⇄" if node.both_ways else node.name
    parts = [
        element("rect", class_="hit", x=_TIE[0] if not side else _END[1] - 10, y=y - _GAP / 2, width=118, height=_GAP),
        element("circle", class_="dot", cx=x, cy=y, r=radius),
        element("text", words, class_="name", x=name_x, y=y + 3.8, text_anchor=anchor),
    ]
    if node.known is not None:
        parts.append(element("title", f"known: {node.known}"))
    return element("g", *parts, class_="node known" if node.known is not None else "node", data_i=node.place)


def _others(count: int, side: int, y: float) -> Markup:
    words = counted(count, "other")
    return element(
        "text",
        words,
        class_="name what",
        x=_END[side] + (14 if side else -14),
        y=y + 3.8,
        text_anchor="start" if side else "end",
    )


def _me(account: str, y: float, tall: float) -> Markup:
    half = min(max(tall / 2, 62.0), _RIBBONS / 2 + 10)
    box = element("rect", class_="me", x=_CENTRE - _HALF, y=y - half, width=2 * _HALF, height=2 * half, rx=4)
    turned = f"rotate(-90 {number(_CENTRE)} {number(y)})"
    return element(
        "g", box, element("text", account, class_="me", x=_CENTRE, y=y + 4, text_anchor="middle", transform=turned)
    )


def _ties(flow: Flow, layout: _Layout) -> list[Markup]:
    drawn = []
    # Rows are in the order of strength: where all deal with all, those of the strongest are drawn.
    for a, b in sorted(flow.ties, key=lambda tie: (tie[0] + tie[1], tie))[:MOST_TIES]:
        ya, yb, side = layout.y[a], layout.y[b], layout.side[a]
        if side == layout.side[b]:
            x = _TIE[side]
            bend = x + (1 if side else -1) * min(8 + abs(ya - yb) * 0.25, 44)
            path = curve(x, ya, x, yb, bend)
        else:
            xa, xb = _END[side], _END[1 - side]
            path = curve(xa, ya, xb, yb)
        drawn.append(element("path", class_="hop tie", data_a=a, data_b=b, d=path))
    return drawn


def _contacts(flow: Flow, layout: _Layout) -> list[Markup]:
    drawn: list[Markup] = []
    for side in (0, 1):
        chosen = [contact for contact in flow.contacts if contact.pays == (side == 0)]
        wanted = [sum(layout.y[place] for place in contact.places) / len(contact.places) for contact in chosen]
        at = -1e9
        for y, contact in sorted(zip(wanted, chosen, strict=True), key=lambda pair: pair[0]):
            at = max(y, at + 40)
            drawn += [_hop(side, at, layout.y[place], place) for place in contact.places]
            drawn.append(_contact(contact, side, at))
    return drawn


def _hop(side: int, y: float, to: float, place: int) -> Markup:
    x, end = _CONTACT[side], _TIE[side]
    path = curve(x, y, end, to)
    return element("path", class_="hop", data_a=place, d=path)


def _contact(contact: FlowContact, side: int, y: float) -> Markup:
    x, anchor = _CONTACT[side], "start" if side else "end"
    name_x = x + (9 if side else -9)
    parts = [
        element("rect", x=x - 4, y=y - 4, width=8, height=8),
        element("text", contact.name, class_="name", x=name_x, y=y + 4, text_anchor=anchor),
    ]
    if contact.known is not None:
        parts.append(element("text", contact.known, class_="name what", x=name_x, y=y + 16, text_anchor=anchor))
    return element("g", *parts, class_="contact known" if contact.known is not None else "contact")
