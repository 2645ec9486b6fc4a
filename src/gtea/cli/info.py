"""``gtea info``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gtea.cli.output import json_option
from gtea.cli.places import STORE
from gtea.cli.terminal import print_json, say

if TYPE_CHECKING:
    from gtea.store.info import StoreInfo
    from gtea.store.store import Store

_BAR = 40


@click.command("info")
@click.argument("store", type=STORE)
@json_option
def command(store: str, as_json: bool) -> None:
    """Show what is in STORE: counts, time span, features, and how degrees and histories are spread.

    edges are pairs of accounts that have a history (ordered pairs in a directed store); events are those in the
    store; self_loops are those found in the input.
    """
    from gtea.store.integrity import require_digests
    from gtea.store.store import Store

    opened = Store.open(store)
    require_digests(opened, ("node_offset", "edge_offset"))  # all that is read besides the manifest
    show(opened, as_json, histograms=sys.stdout.isatty())


def show(store: Store, as_json: bool, *, histograms: bool = False) -> None:
    """Print a store's description for people, or all of it as JSON."""
    from gtea.store.info import describe

    facts = describe(store)
    if as_json:
        print_json(facts)
        return
    say(*_lines(facts))
    if histograms:
        _show_histograms(store)


def _lines(facts: StoreInfo) -> list[str]:
    report, time = facts["data_report"], facts["time"]
    edges = "edges (ordered pairs)" if facts["directed"] else "edges"
    lines = [f"store            {facts['path']}", f"nodes            {facts['nodes']:,}"]
    lines += [f"{edges:<16} {facts['edges']:,}", f"events           {facts['events']:,}"]
    lines += [f"self_loops       {facts['self_loops']:,}"]
    if time["first"] is not None:
        first, last = time["first_date"] or time["first"], time["last_date"] or time["last"]
        lines.append(f"time             {first} to {last}, kept in {time['unit']!r}")
    for name in ("degree", "history_length"):
        if facts[name]:
            spread = "  ".join(f"{level} {value:,}" for level, value in facts[name].items())
            lines.append(f"{name:<16} {spread}")
    lines.append(f"features         {', '.join(facts['features']) or 'none'}")
    if facts["categorical"]:
        words = ", ".join(f"{name} ({size:,} words)" for name, size in facts["categorical"].items())
        lines.append(f"categorical      {words}")
    if facts["node_features"]:
        lines.append(f"node features    {', '.join(facts['node_features'])}")
    dropped = ", ".join(f"{reason} {count:,}" for reason, count in report["dropped"].items()) or "none"
    lines.append(f"rows             {report['rows_in']:,} in, {report['rows_kept']:,} kept; dropped: {dropped}")
    lines.append(f"duplicates       {report['duplicates']:,} (identical rows, kept as events of their own)")
    if report["time"]["rounded"]:
        lines.append(f"rounded times    {report['time']['rounded']:,}")
    if report["quarantine"]:
        lines.append(f"quarantine       {report['quarantine']}")
    lines += [f"note             {note}" for note in report["notes"]]
    lines.append(f"size             {facts['bytes'] / 1e6:,.1f} MB, digest {facts['digest'][:16]}")
    return lines


def _show_histograms(store: Store) -> None:
    import numpy as np

    from gtea.store.info import histogram

    for title, offsets in (
        ("degree", store.arrays.node_offset),
        ("history length", store.arrays.edge_offset),
    ):
        bins = histogram(np.diff(offsets))
        most = max((count for _, count in bins), default=1)
        say("", title)
        for name, count in bins:
            bar = "█" * round(_BAR * count / most) or ("▏" if count else "")
            say(f"{name:>21}  {bar:<{_BAR}}  {count:,}")
