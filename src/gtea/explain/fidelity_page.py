"""The page of a fidelity audit: Markdown, the plot as plain SVG, and the figures as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gtea.explain.explainer import CURVE_LENGTH, NUM_DRAWS
from gtea.explain.fidelity import ORDERS, Fidelity
from gtea.runtime.files import atomic_write, write_json

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 560, 300, 64, 56, 140, 56
# Okabe and Ito's colours: they differ for colour-blind people. The dashes differ, too.
_STYLES = {
    "removal": ("#0072b2", ""),
    "random": ("#767676", "2 4"),
    "attention": ("#d55e00", "8 4"),
    "greedy": ("#009e73", "8 3 2 3"),
}
_INK, _FAINT = "#333333", "#e2e5e8"
_TITLES = {
    "removal": "the explanation's order",
    "random": f"at random ({NUM_DRAWS} draws)",
    "attention": "attention's order",
    "greedy": "greedy search",
}


def write_fidelity(path: Path, found: Fidelity) -> list[Path]:
    """Write the page, its plot and its figures and return their paths.

    Args:
        path: Path without a suffix.
    """
    page, plot, figures = (path.with_name(f"{path.name}{suffix}") for suffix in (".md", ".svg", ".json"))
    for target, text in ((page, _page(found, plot.name)), (plot, _figure(found))):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as stream:
            stream.write(text.encode())
    write_json(figures, found.to_json())
    return [page, plot, figures]


def _page(found: Fidelity, plot: str) -> str:
    """The page as Markdown."""
    count = len(found.accounts)
    lines = [
        "# Does the explanation hold?",
        "",
        f"{count:,} alerts as of {found.as_of}. For each, 1 to {CURVE_LENGTH} counterparties were removed together and",
        "the account was scored again, exactly.",
        "",
        f"![Mean score after removing counterparties in four orders]({plot})",
        "",
        "| order of removal | mean score over the curve | mean fall of the log-odds | explanation's order is ahead |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {_TITLES[order]} | {summary.mean_score:.4f} | {summary.mean_drop:.3f} "
            f"| {'' if order == 'removal' else f'{100 * summary.behind_removal:.0f} % of accounts'} |"
            for order, summary in found.orders.items()
        ),
        "",
        f"The effects of all counterparties of an account took {1000 * found.seconds_per_account:.0f} ms on average.",
        "The greedy search chooses anew after each removal: no fixed order is expected to reach it.",
        "",
    ]
    return "\n".join(lines)


def _figure(found: Fidelity) -> str:
    """The mean curves as SVG. The same figures give the same bytes."""
    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + _BOTTOM
    start = sum(each.score for each in found.accounts) / len(found.accounts)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" fill="{_INK}">',
        "<title>Mean score after removing counterparties in four orders</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="28" font-size="16" font-weight="bold">The score without what is named</text>',
        f'<g transform="translate({_LEFT} {_TOP})">',
        *_axes(),
        *(line for order in ORDERS for line in _curve(order, (start, *found.orders[order].curve))),
        "</g>",
        *_legend(),
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def _axes() -> Iterator[str]:
    for step in range(6):
        y = _HEIGHT - _HEIGHT * step / 5
        yield f'<line x1="0" y1="{y:g}" x2="{_WIDTH}" y2="{y:g}" stroke="{_FAINT}"/>'
        yield f'<text x="-8" y="{y + 4:g}" font-size="11" text-anchor="end">{step / 5:.1f}</text>'
    for step in range(CURVE_LENGTH + 1):
        x = _x(step)
        yield f'<text x="{x:g}" y="{_HEIGHT + 18}" font-size="11" text-anchor="middle">{step}</text>'
    yield (
        f'<text x="{_WIDTH / 2:g}" y="{_HEIGHT + 40}" font-size="12" text-anchor="middle">counterparties removed</text>'
    )
    yield (
        f'<text transform="translate(-42 {_HEIGHT // 2}) rotate(-90)" font-size="12" text-anchor="middle">'
        "mean score</text>"
    )


def _x(step: int) -> float:
    return round(_WIDTH * step / CURVE_LENGTH, 1)


def _curve(order: str, scores: tuple[float, ...]) -> Iterator[str]:
    points = " ".join(f"{_x(i):g},{_HEIGHT * (1 - score):.1f}" for i, score in enumerate(scores))
    yield f'<polyline points="{points}" fill="none" {_stroke(order)}/>'


def _stroke(order: str) -> str:
    color, dashes = _STYLES[order]
    return f'stroke="{color}" stroke-width="2" stroke-dasharray="{dashes or "none"}"'


def _legend() -> Iterator[str]:
    x = _LEFT
    for order in ORDERS:
        yield f'<line x1="{x}" y1="42" x2="{x + 28}" y2="42" {_stroke(order)}/>'
        yield f'<text x="{x + 34}" y="46" font-size="12">{_TITLES[order]}</text>'
        x += 48 + 7 * len(_TITLES[order])
