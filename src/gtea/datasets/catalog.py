"""The public data sets that gtea knows by name: what they are, where they live, and how their files are read.

Nothing here is downloaded or republished by itself. Sets with a ``url`` can be fetched from it (``datasets/fetch.py``); of
the others a user brings a copy. ``datasets/prepare.py`` makes stores of them, by the options given here.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gtea.errors import UsageError


@dataclass(frozen=True)
class Layout:
    """One way in which a set's events may be laid out."""

    files: tuple[str, ...]
    """Names that the file of events may have."""
    options: Mapping[str, Any]
    """How ``gtea.ingest`` is to read it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be there; those of a JODIE file go by their place."""
        named = (self.options.get(key) for key in ("src", "dst", "time"))
        return (*(name for name in named if name), *self.options.get("features", ()))


@dataclass(frozen=True)
class LabelsFile:
    """The table of a set's labels: its name and columns."""

    account: str
    label: str
    positive: str | None = None
    """The class that is looked for; None where there are many."""
    file: str = "labels.csv"


@dataclass(frozen=True)
class Dataset:
    """A data set by name."""

    name: str
    task: Literal["nodes", "links"]
    about: str
    source: str
    licence: str
    layouts: tuple[Layout, ...]
    rows: int
    """How many events the file has, as its authors (or, of copies, its keepers) say."""
    labels: LabelsFile | None = None
    url: str | None = None
    sha256: str | None = None
    """The digest of what the url gives, where others have published one; else the first fetch counts."""
    size: int | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of a copy, each by the name that is looked for first."""
        return (self.layouts[0].files[0], *([self.labels.file] if self.labels else []))


def dataset(name: str) -> Dataset:
    """The data set of a name."""
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(DATASETS)}."
        raise UsageError(f"{name}: is no data set that gtea knows. {remedy}")
    return DATASETS[name]


def _jodie(name: str, about: str, rows: int, sha256: str | None = None, size: int | None = None) -> Dataset:
    return Dataset(
        name,
        "links",
        about,
        "https://snap.stanford.edu/jodie",
        "none stated; its authors ask to cite Kumar, Zhang and Leskovec, KDD 2019",
        (Layout((f"{name}.csv", f"{name}.csv.gz"), {"format": "jodie"}),),
        rows,
        url=f"https://snap.stanford.edu/jodie/{name}.csv",
        sha256=sha256,
        size=size,
    )


_SETS = (
    _jodie(
        "wikipedia",
        "who edits which page of Wikipedia, a month",
        157_474,
        # As two projects that have nothing to do with each other have published it; the server's ETag has the same
        # size. Of the other three files no digest is known to more than one.
        sha256="a6b73e09c0d1e5b9db11e7e7aa416f2e87838a745273e0446a79952cf4cfae09",
        size=559_937_473,
    ),
    _jodie("reddit", "who posts in which subreddit, a month", 672_447),
    _jodie("mooc", "what students do in an online course", 411_749),
    _jodie("lastfm", "who listens to which song, a month", 1_293_103),
    Dataset(
        "ethereum_phishing",
        "nodes",
        "Ethereum transactions around accounts known for phishing, and others",
        "a copy of your own",
        "the transactions are public; of the labels, ask whoever gave them to you",
        (
            Layout(
                ("transactions.parquet",),
                {"src": "from", "dst": "to", "time": "timestamp", "features": ["value_eth", "has_call_data"]},
            ),
            Layout(
                ("transactions.csv", "transactions.csv.gz"),
                {"src": "from", "dst": "to", "time": "timestamp", "features": ["value"]},
            ),
        ),
        516_292,
        LabelsFile("account", "label", "phishing"),
    ),
    Dataset(
        "email_eu",
        "nodes",
        "e-mails within a European research institution; to which department belongs who?",
        "a copy of your own; made from https://snap.stanford.edu/data/email-Eu-core-temporal.html",
        "none stated; its authors ask to cite Paranjape, Benson and Leskovec, WSDM 2017",
        (Layout(("emails.parquet",), {"src": "sender", "dst": "recipient", "time": "seconds"}),),
        332_334,
        LabelsFile("person", "department"),
    ),
    Dataset(
        "bitcoin_otc",
        "nodes",
        "how traders of Bitcoin rate each other; who turned out a fraud?",
        "a copy of your own; made from https://snap.stanford.edu/data/soc-sign-bitcoin-otc.html",
        "none stated; its authors ask to cite Kumar, Spezzano, Subrahmanian and Faloutsos, ICDM 2016",
        (
            Layout(
                ("ratings.csv", "ratings.csv.gz"),
                {"src": "rater", "dst": "rated", "time": "timestamp", "features": ["rating"]},
            ),
        ),
        35_592,
        LabelsFile("account", "label", "fraud"),
    ),
    Dataset(
        "primary_school",
        "nodes",
        "who stands face to face with whom in a primary school; who is in which class?",
        "a copy of your own; made from http://www.sociopatterns.org",
        "not for commercial use; see the terms of SocioPatterns",
        (Layout(("contacts.csv", "contacts.csv.gz"), {"src": "a", "dst": "b", "time": "timestamp"}),),
        125_773,
        LabelsFile("person", "class"),
    ),
    Dataset(
        "amlsim",
        "nodes",
        "simulated bank transfers with money laundering among them",
        "a copy of your own; made with https://github.com/IBM/AMLSim",
        "simulated; the simulator is under the Apache licence 2.0",
        (
            Layout(
                ("transactions.parquet",),
                {"src": "payer", "dst": "payee", "time": "step", "time_unit": "step", "features": ["amount"]},
            ),
        ),
        120_558,
        LabelsFile("account", "is_fraud", "1"),
    ),
)
DATASETS: dict[str, Dataset] = {each.name: each for each in _SETS}
