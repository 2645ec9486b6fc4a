"""The catalog of public data sets: what they are, where they come from, and how their files are read.

gtea doesn't redistribute any data. Data sets with a ``url`` can be downloaded (``datasets/fetch.py``); for the others,
the user supplies a copy. ``datasets/prepare.py`` builds stores from them with the options given here.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gtea.errors import UsageError


@dataclass(frozen=True)
class Layout:
    """One possible layout of a data set's events file."""

    files: tuple[str, ...]
    """Possible names of the events file."""
    options: Mapping[str, Any]
    """The options with which ``gtea.ingest`` reads it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The required columns. Empty for JODIE and SNAP files, whose columns are identified by position."""
        named = (self.options.get(key) for key in ("src", "dst", "time"))
        return (*(name for name in named if name), *self.options.get("features", ()))


@dataclass(frozen=True)
class LabelsFile:
    """The labels file of a data set: its name and columns."""

    account: str
    label: str
    positive: str | None = None
    """The positive class; None if there are more than two classes."""
    file: str = "labels.csv"


@dataclass(frozen=True)
class Dataset:
    """A public data set."""

    name: str
    task: Literal["nodes", "links"]
    about: str
    source: str
    licence: str
    layouts: tuple[Layout, ...]
    rows: int
    """Number of events in the file, as stated by its authors or by the owner of the copy."""
    labels: LabelsFile | None = None
    url: str | None = None
    sha256: str | None = None
    """The published digest of the file at ``url``. If None, later downloads are compared with the first one."""
    size: int | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of a copy, each by its preferred name."""
        return (self.layouts[0].files[0], *([self.labels.file] if self.labels else []))


def dataset(name: str) -> Dataset:
    """Look up a data set by name."""
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else f"Available: {', '.join(DATASETS)}."
        raise UsageError(f"{name}: is not a known data set. {remedy}")
    return DATASETS[name]


def _jodie(name: str, about: str, rows: int, sha256: str | None = None, size: int | None = None) -> Dataset:
    return Dataset(
        name,
        "links",
        about,
        "https://snap.stanford.edu/jodie",
        "none stated; the authors ask users to cite Kumar, Zhang and Leskovec, KDD 2019",
        (Layout((f"{name}.csv", f"{name}.csv.gz"), {"format": "jodie"}),),
        rows,
        url=f"https://snap.stanford.edu/jodie/{name}.csv",
        sha256=sha256,
        size=size,
    )


_SETS = (
    _jodie(
        "wikipedia",
        "one month of edits of Wikipedia pages by users",
        157_474,
        # Published by two independent projects; the server's ETag has the same size. For the other three files, no
        # digest has been published by more than one project.
        sha256="a6b73e09c0d1e5b9db11e7e7aa416f2e87838a745273e0446a79952cf4cfae09",
        size=559_937_473,
    ),
    _jodie("reddit", "one month of posts in subreddits by users", 672_447),
    _jodie("mooc", "actions of students in an online course", 411_749),
    _jodie("lastfm", "one month of songs played by users", 1_293_103),
    Dataset(
        "mathoverflow",
        "links",
        "answers and comments of users to each other on MathOverflow",
        "https://snap.stanford.edu/data/sx-mathoverflow.html",
        "none stated; the authors ask users to cite Paranjape, Benson and Leskovec, WSDM 2017",
        (Layout(("sx-mathoverflow.txt", "sx-mathoverflow.txt.gz"), {"format": "snap"}),),
        506_550,
    ),
    Dataset(
        "ethereum_phishing",
        "nodes",
        "Ethereum transactions of phishing accounts and others",
        "a copy of your own",
        "the transactions are public; for the labels, ask your source",
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
        "e-mails within a European research institution; predict the department of a person",
        "a copy of your own; made from https://snap.stanford.edu/data/email-Eu-core-temporal.html",
        "none stated; the authors ask users to cite Paranjape, Benson and Leskovec, WSDM 2017",
        (Layout(("emails.parquet",), {"src": "sender", "dst": "recipient", "time": "seconds"}),),
        332_334,
        LabelsFile("person", "department"),
    ),
    Dataset(
        "bitcoin_otc",
        "nodes",
        "ratings of Bitcoin traders by each other; predict who is a fraud",
        "a copy of your own; made from https://snap.stanford.edu/data/soc-sign-bitcoin-otc.html",
        "none stated; the authors ask users to cite Kumar, Spezzano, Subrahmanian and Faloutsos, ICDM 2016",
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
        "face-to-face contacts in a primary school; predict the class of a person",
        "a copy of your own; made from http://www.sociopatterns.org",
        "not for commercial use; see the terms of SocioPatterns",
        (Layout(("contacts.csv", "contacts.csv.gz"), {"src": "a", "dst": "b", "time": "timestamp"}),),
        125_773,
        LabelsFile("person", "class"),
    ),
    Dataset(
        "amlsim",
        "nodes",
        "simulated bank transfers, some of them money laundering",
        "a copy of your own; made with https://github.com/IBM/AMLSim",
        "simulated; the simulator is under the Apache License 2.0",
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
