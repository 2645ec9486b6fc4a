"""What a statistic of an account says, in words a person uses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

_SIDES = {"out": "sent", "in": "received", "both": "sent and received"}
_PARTNERS = {"out": "those it pays", "in": "those who pay it", "both": "its counterparties"}
_BURSTY = 0.3
_KEEPS = 0.4
"""Events keep to some hours if the mean of their directions on the clock is so long: 0 if spread evenly, 1 at most."""
_OF_TWO_EVENTS = ("span", "gap_mean", "gap_std", "gap_min", "gap_max", "rate", "burstiness", "busiest", "trend")
"""Statistics that need two events."""
_MIN_PLAIN = 1e-8
_UNITS = (("years", 365.25 * 86_400), ("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))


class OtherAccounts(NamedTuple):
    """The shares of accounts with a smaller and with a larger value, in percent."""

    below: float
    above: float


def sentence(
    name: str, values: Mapping[str, float], standing: OtherAccounts, features: tuple[str, ...], steps: bool
) -> str:
    """What a statistic says about an account, and how many accounts have less, or more.

    Args:
        name: The name of the statistic.
        values: All statistics of the account by name.
        features: The names of the event features.
        steps: Whether times are counted in steps.
    """
    words = _words(name, values, features, steps)
    below, above = standing
    if name.startswith("left_") and words.startswith(("forwards", "sends")):
        # The statistic is what is left: how far both sums are apart.
        told = "more than" if words.startswith("forwards") else "the two sums are closer than for"
        return f"{words}; {told} {_accounts(above)} of accounts"
    if name.startswith("rhythm_day_"):
        return words
    if words.startswith("has events"):
        return f"{words}; {_accounts(above)} of accounts have longer gaps only"
    if 100 - below - above > max(below, above):
        return f"{words}; like {_accounts(100 - below - above)} of accounts"
    if below >= above:
        return f"{words}; more than {_accounts(below)} of accounts"
    return f"{words}; less than {_accounts(above)} of accounts"


def _words(name: str, values: Mapping[str, float], features: tuple[str, ...], steps: bool) -> str:
    value, first, _, rest = values[name], *name.partition("_")
    match first:
        case "out" | "in" | "both":
            return _too_few(first, rest, values) or _of_side(first, rest, value, features, steps)
        case "partners":
            return _of_partners(rest, value, features)
        case "rhythm":
            if rest.startswith("day_"):
                return _of_day(values)
            side, _, kind = rest.partition("_")
            return _too_few(side, kind, values) or _of_rhythm(rest, value, features, steps)
        case "left":
            return _forwarded(rest, values, steps)
        case "net":
            return f"{'keeps' if value >= 0 else 'gives away'} {_number(abs(value))} of {rest} in all"
        case _:
            return f"{name} is {_number(value)}"


def _too_few(side: str, rest: str, values: Mapping[str, float]) -> str | None:
    """What there is instead of a statistic that needs an event, or two: its value is zero, and says nothing."""
    count = values.get(f"{side}_count")
    events = "" if side == "both" else f" {_SIDES.get(side)}"
    if count == 0 and rest not in ("count", "partners"):
        return f"has no event{events}"
    if count == 1 and (rest in _OF_TWO_EVENTS or rest.endswith(("_std", "_rate"))):
        return f"has one event{events} only"
    return None


def _of_day(values: Mapping[str, float]) -> str:
    """The mean time of day on the circle, from both of its coordinates."""
    east, north = values["rhythm_day_cos"], values["rhythm_day_sin"]
    if math.hypot(east, north) < _KEEPS:
        return "its events are spread over the day"
    hour = round(24 * math.atan2(north, east) / math.tau) % 24
    return f"its events keep to the hours around {hour:02d}:00 UTC"


def _of_side(side: str, rest: str, value: float, features: tuple[str, ...], steps: bool) -> str:
    done = _SIDES[side]
    events = "events" if side == "both" else f"events {done}"
    event = "event" if side == "both" else f"event {done}"
    times = {
        "since_first": f"its first {event} was {{}} ago",
        "since_last": f"its last {event} was {{}} ago",
        "span": f"{{}} from its first to its last {event}",
        "gap_mean": f"on average {{}} between two {events}",
        "gap_std": f"the time between two {events} varies by {{}} (standard deviation)",
        "gap_min": f"the shortest time between two {events} is {{}}",
        "gap_max": f"the longest time between two {events} is {{}}",
    }
    if rest == "gap_min" and value == 0:
        return f"has {events} at the same {'step' if steps else 'time'}"
    if rest in times:
        return times[rest].format(_time(value, steps))
    if rest == "count":
        return f"{_counted(value, 'event')}{'' if side == 'both' else f' {done}'}"
    if rest == "partners":
        if side == "both":
            return f"has {_counted(value, 'counterparty', 'counterparties')}"
        return f"{'pays' if side == 'out' else 'is paid by'} {_counted(value, 'account')}"
    feature, kind = _split(rest, features)
    wording = {
        "sum": f"{{}} of {feature} {done} in all",
        "mean": f"{{}} of {feature} per {event}, on average",
        "std": f"the {feature} of its {events} varies by {{}} (standard deviation)",
        "min": f"the smallest {feature} of its {events} is {{}}",
        "max": f"the largest {feature} of its {events} is {{}}",
    }
    return wording[kind].format(_number(value))


def _of_partners(rest: str, value: float, features: tuple[str, ...]) -> str:
    if rest == "reciprocity":
        return f"{_percent(100 * value)} of its counterparties both pay and are paid"
    if rest == "events_per_partner":
        return f"{_number(value)} events with each counterparty, on average"
    side, _, kind = rest.partition("_")
    who = _PARTNERS[side]
    match kind:
        case "degree_mean":
            return f"{who} deal with {_number(math.expm1(value))} accounts, typically"
        case "degree_max":
            return f"the largest of {who} deals with {_number(value)} accounts"
        case "events_mean":
            return f"{who} have {_number(math.expm1(value))} events, typically"
        case "sent_mean":
            return f"{who} are the sender in {_percent(100 * value)} of their own events, on average"
        case "top_share":
            return f"the largest of {who} has {_percent(100 * value)} of the events"
        case "concentration":
            return f"its events spread over {who} as over {_number(1 / max(value, 1e-9))} with equal shares"
    feature, kind = _split(kind, features)
    if kind == "mean":
        return f"{who} have {_number(value)} of {feature} per event, on average"
    return f"the largest of {who} has {_percent(100 * value)} of all {feature}"


def _of_rhythm(rest: str, value: float, features: tuple[str, ...], steps: bool) -> str:
    unit = "step" if steps else "day"
    if rest == "hold_mean":
        held = _time(math.expm1(value), steps)
        return (
            "sends nothing after it has received something" if value < 0 else f"sends {held} after receiving, typically"
        )
    if rest == "hold_min":
        return (
            "sends nothing after it has received something"
            if value < 0
            else f"sends {_time(value, steps)} after receiving, at the fastest"
        )
    if rest == "alternation":
        return f"changes between sending and receiving in {_percent(100 * value)} of its events"
    if rest.endswith("_passed"):
        feature = rest.removesuffix("_passed")
        if value < 0:
            return f"never sends {feature} after it has received some"
        return (
            f"what it sends differs from what it received before by a factor of {_number(math.exp(value))} in {feature}"
        )
    side, _, kind = rest.partition("_")
    done = _SIDES[side]
    events = "events" if side == "both" else f"events {done}"
    manner = "in bursts" if value > _BURSTY else "evenly" if value < -_BURSTY else "as if by chance"
    when = "late" if value > 0.5 else "early"
    wording = {
        "rate": f"{_number(value)} {events} per {unit}",
        "burstiness": f"its {events} come {manner} (burstiness {value:.2f})",
        "busiest": f"{_percent(100 * value)} of its {events} are in the busiest tenth of their time",
        "trend": f"its {events} lie {when} in its time ({_percent(100 * value)} of the way, on average)",
    }
    if kind in wording:
        return wording[kind]
    feature, _ = _split(kind, features)
    return f"{_number(value)} of {feature} {done} per {unit}"


def _forwarded(feature: str, values: Mapping[str, float], steps: bool) -> str:
    """How much of what comes in goes out, and how soon."""
    received, sent = values[f"in_{feature}_sum"], values[f"out_{feature}_sum"]
    held = values.get("rhythm_hold_mean", -1.0)
    soon = f", within {_time(math.expm1(held), steps)}" if held >= 0 and sent > 0 else ""
    if received <= 0 or sent <= 0:
        return f"{'only receives' if received > 0 else 'only sends' if sent > 0 else 'moves no'} {feature}"
    if sent <= received:
        return f"forwards {_percent(100 * sent / received)} of the {feature} it receives{soon}"
    return f"sends {_number(sent / received)} times the {feature} it receives{soon}"


def _split(rest: str, features: tuple[str, ...]) -> tuple[str, str]:
    """The feature and the kind of statistic in a name; feature names may have underscores."""
    for feature in sorted(features, key=len, reverse=True):
        if rest.startswith(f"{feature}_"):
            return feature, rest.removeprefix(f"{feature}_")
    return rest.rpartition("_")[0], rest.rpartition("_")[2]


def _time(seconds: float, steps: bool) -> str:
    if steps:
        return "1 step" if seconds == 1 else f"{_number(seconds)} steps"
    for name, size in _UNITS:
        if seconds >= size:
            return f"{_number(seconds / size)} {name if seconds != size else name[:-1]}"
    return f"{_number(seconds)} seconds"


def _number(value: float) -> str:
    """Three digits, or a whole number with separators."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value == round(value) else plain_digits(value, 3)


def _counted(value: float, thing: str, things: str | None = None) -> str:
    return f"{_number(value)} {thing if value == 1 else things or thing + 's'}"


def plain_digits(value: float, digits: int) -> str:
    """So many digits without an exponent, unless it takes more than ten decimals: 0.00002, 1.5e-18."""
    short = f"{value:.{digits}g}"
    if "e" not in short or abs(value) < _MIN_PLAIN:
        return short
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}".rstrip("0") if places else f"{value:.0f}"


def _accounts(percent: float) -> str:
    """A share of accounts: that of all others is never all."""
    return f"{min(percent, 99.9):.1f} %" if percent > 99 else f"{percent:.0f} %"


def _percent(value: float) -> str:
    if 99.95 <= value < 100:
        return "nearly 100 %"
    return f"{value:.1f} %" if 99 < value < 100 or 0 < value < 1 else f"{value:.0f} %"
