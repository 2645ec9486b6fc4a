"""Elements of drawings as text. Every value is escaped here, so that no drawing can forget to."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

Value = str | float | int


def element(tag: str, *children: str, **attributes: Value | None) -> Markup:
    """An element. Numbers are rounded to a tenth; ``class_`` is class, ``data_i`` is data-i; None is left out."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value if isinstance(value, str) else number(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")  # noqa: S704 (escaped above)


def drawing(width: float, height: float, label: str, parts: Iterable[Markup], class_: str) -> Markup:
    """A drawing with a text for those who can't see it."""
    box = f"0 0 {number(width)} {number(height)}"
    return element("svg", *parts, class_=class_, viewBox=box, role="img", aria_label=label)


def curve(x: float, y: float, to_x: float, to_y: float, bend: float | None = None) -> str:
    """The path of a line that leaves and arrives level. ``bend`` is where it turns; else in the middle."""
    middle = number((x + to_x) / 2 if bend is None else bend)
    return f"M{number(x)} {number(y)}C{middle} {number(y)} {middle} {number(to_y)} {number(to_x)} {number(to_y)}"


def number(value: float) -> str:
    """A coordinate: a tenth of a unit is finer than any screen."""
    return f"{value:.1f}".removesuffix(".0")
