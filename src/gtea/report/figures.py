"""Numbers as people write them in a report."""

from __future__ import annotations

import math

from gtea.explain.statistic_words import plain_digits

NOTHING = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"


def score_text(probability: float) -> str:
    """Three digits, more where three would claim certainty: 0.973, 0.9996, > 0.9999."""
    if 0.001 <= probability <= 0.999:
        return f"{probability:.3f}"
    if probability > 0.9999:
        return "> 0.9999"
    return "< 0.0001" if probability < 0.0001 else f"{probability:.4f}"


def effect_text(effect: float) -> str:
    """A signed effect in log-odds, with a true minus; one that is shown as zero has no sign."""
    if abs(effect) < 0.005:
        return "0.00"
    return f"{_MINUS if effect < 0 else '+'}{abs(effect):.2f}"


def amount_text(amount: float | None) -> str:
    """A sum of money: no digits that nobody reads."""
    if amount is None:
        return NOTHING
    if not amount:
        return "0"
    if not math.isfinite(amount):
        return str(amount)
    size, sign = abs(amount), _MINUS if amount < 0 else ""
    if size >= 1e15 or size < 1e-8:
        return f"{sign}{size:.2e}"
    if size >= 1_000:
        return f"{sign}{size:,.0f}"
    return f"{sign}{size:.2f}" if size >= 0.1 else f"{sign}{plain_digits(size, 2)}"


def percent_text(share: float) -> str:
    """A share in percent; with a digit more near 0 and 1, where it matters."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    digits = 0 if 0.01 <= share <= 0.99 or share in (0.0, 1.0) else 1
    return f"{100 * share:.{digits}f} %"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """A number and what is counted: 1 event, 2,012 events."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def listed(words: list[str]) -> str:
    """Words as a list in a sentence: a, b and c."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
