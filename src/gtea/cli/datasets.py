"""``gtea datasets``."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import json_option, memory_option
from gtea.cli.terminal import print_json, say

_CHECKED = {
    "published": "as published",
    "recorded": "as in an earlier fetch",
    "first": "recorded now: none has been published, and later fetches are compared with this one",
}


@click.group("datasets")
def command() -> None:
    """Public data sets: list, download and prepare them.

    \b
      gtea datasets list
      gtea datasets fetch wikipedia
      gtea datasets prepare wikipedia --out wikipedia
    """


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Show the data sets that gtea knows, and which are on this machine.

    Copies are searched in GTEA_DATA/NAME (a folder of your own) and among the downloads.
    """
    from gtea.datasets.catalog import DATASETS

    rows = [_row(name) for name in DATASETS]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        say(f"{row['name']:<18} {row['task']:<6} {row['rows']:>9,} events  {row['about']}")
        say(f"{'':<18} from {row['source']}; licence: {row['licence']}")
        at_hand = row["copy"] or ("none; gtea datasets fetch gets one" if row["url"] else "none")
        say(f"{'':<18} copy: {at_hand}")


def _row(name: str) -> dict[str, Any]:
    from gtea.datasets.catalog import dataset
    from gtea.datasets.copies import find_copy

    known = dataset(name)
    found = find_copy(known)
    return {
        "name": known.name,
        "task": known.task,
        "about": known.about,
        "source": known.source,
        "licence": known.licence,
        "rows": known.rows,
        "files": list(known.files),
        "url": known.url,
        "sha256": known.sha256,
        "copy": str(found.events.parent) if found else None,
    }


@command.command("fetch")
@click.argument("name")
@click.option("--to", metavar="DIR", help="Download to DIR/NAME/ instead of the cache folder.")
@click.option("--url", metavar="URL", help="Another address of the same file, such as a mirror.")
@click.option("--sha256", metavar="HEX", help="The digest that the file must have, instead of the one gtea knows.")
@click.option(
    "--retries", default=3, show_default=True, type=click.IntRange(0), help="Failed attempts before giving up."
)
@json_option
def fetch_command(name: str, to: str | None, url: str | None, sha256: str | None, retries: int, as_json: bool) -> None:
    """Download the data set NAME from its public source.

    An interrupted download resumes. A file appears only when it is complete and its sha256 is right: the published one
    if gtea knows it, otherwise that of the first fetch, which is recorded next to the file.
    """
    from gtea.datasets.catalog import dataset
    from gtea.datasets.copies import by_hand, download_folder
    from gtea.datasets.fetch import Wanted, fetch
    from gtea.errors import UsageError

    known = dataset(name)
    if known.url is None:
        raise UsageError(f"{name}: can't be fetched, it is {known.source}. Put the files {by_hand(known)}.")
    wanted = Wanted(url or known.url, known.sha256, known.size, by_hand(known))
    if sha256 is not None:
        wanted = replace(wanted, sha256=sha256.lower(), size=None)
    folder = Path(to) if to else download_folder()
    with progress_bar() as progress:
        got = fetch(wanted, folder / name / known.files[0], progress=progress, retries=retries)
    found_at = f" --from {shlex.quote(to)}" if to else ""
    following = f"gtea datasets prepare {name}{found_at} --out {name}"
    if as_json:
        facts = {"name": name, "url": wanted.url, "path": str(got.path), "bytes": got.size, "sha256": got.sha256}
        print_json({**facts, "checked_by": got.checked_by, "downloaded": got.downloaded, "next": following})
        return
    say(f"{got.path}: {'fetched' if got.downloaded else 'already there'}, {got.size:,} bytes")
    say(f"sha256 {got.sha256}, {_CHECKED[got.checked_by]}")
    say(f"next: {following}")


@command.command("prepare")
@click.argument("name")
@click.option("--out", required=True, metavar="DIR", help="The folder to create.")
@click.option("--from", "given", metavar="DIR", help="The folder that holds the files, or a folder NAME with them.")
@click.option(
    "--protocol",
    type=click.Choice(["paper", "temporal"]),
    default="paper",
    show_default=True,
    help="Which split is described: the paper's, or by time.",
)
@memory_option
@json_option
def prepare_command(
    name: str, out: str, given: str | None, protocol: Literal["paper", "temporal"], memory: str, as_json: bool
) -> None:
    """Make a store (and labels.csv) of the data set NAME, and describe its split.

    The files come from --from, from GTEA_DATA/NAME, or from the downloads, in this order. Safe to repeat.
    """
    from gtea.datasets.catalog import dataset
    from gtea.datasets.prepare import prepare

    known = dataset(name)
    with progress_bar() as progress:
        facts = prepare(
            known,
            Path(out),
            given=Path(given) if given else None,
            protocol=protocol,
            memory=memory,
            progress=progress,
        )
    if as_json:
        print_json(facts)
        return
    say(*_lines(facts))


def _lines(facts: dict[str, Any]) -> list[str]:
    files = " and ".join(source["name"] for source in facts["sources"])
    lines = [f"{facts['name']}: prepared in {facts['out']} from {files}"]
    counts = ("rows", "nodes", "edges", "events", "self_loops", "edges_directed", "samples", "labelled")
    lines += [f"{key:<16} {facts[key]:,}" for key in counts if key in facts]
    if facts["rows"] != facts["rows_known"]:
        lines.append(f"note             the copy that gtea knows has {facts['rows_known']:,} rows")
    for label, count in facts.get("classes", {}).items():
        positive = ", the positive class" if label == facts["positive"] else ""
        lines.append(f"{'':<16} {label}: {count:,}{positive}")
    left_out = {**facts["labels_left_out"], **facts["split"].get("left_out", {})}
    lines += [f"left out         {count:,} {reason.replace('_', ' ')}" for reason, count in left_out.items() if count]
    lines.append(f"split            {facts['split']['split']}")
    lines += [f"{'':<16} {line}" for line in _split_lines(facts["split"])]
    return [*lines, f"next: {facts['next']}"]


def _split_lines(split: dict[str, Any]) -> list[str]:
    if "folds" in split:
        return [", ".join(f"{part} {count:,}" for part, count in fold.items()) for fold in split["folds"]]
    lines = []
    for part in ("train", "validation", "test"):
        what = "pairs" if "pairs" in split[part] else "accounts"
        lines.append(f"{part} {split[part][what]:,} {what}, sees the graph before {split[part]['sees_graph_before']}")
    return lines
