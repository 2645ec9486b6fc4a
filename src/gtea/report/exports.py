"""The files beside a page: transactions, ego network, and the draft in words."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv as pacsv

from gtea.report.case import Case
from gtea.report.ego_files import ego_gexf, ego_graphml, ego_json, ego_table
from gtea.report.ego_network import ego_network
from gtea.report.narrative import narrative
from gtea.report.transactions import transactions_csv
from gtea.runtime.files import atomic_write
from gtea.runtime.spreadsheet import spreadsheet_safe

FILES = ("draft.txt", "transactions.csv", "ego.csv", "ego.graphml", "ego.gexf", "ego.json")


@dataclass(frozen=True)
class ExportOptions:
    """How to write the tables."""

    csv_limit: int | None = None
    """The most bytes of transactions.csv: the newest transactions are kept."""
    for_spreadsheets: bool = True
    """Whether texts that look like formulas get a quote in front. Programs may want them exact."""


def write_exports(case: Case, folder: Path, options: ExportOptions) -> None:
    """Write all files, each atomically."""
    network = ego_network(case)
    transactions = transactions_csv(case.dealings, limit=options.csv_limit, for_spreadsheets=options.for_spreadsheets)
    draft = narrative(case)
    if transactions.written < transactions.of:
        draft += (
            f"\nFILES\ntransactions.csv has the newest {transactions.written:,} of {transactions.of:,} transactions: "
            "more don't fit into its limit.\n"
        )
    table, stream = ego_table(network), io.BytesIO()
    pacsv.write_csv(spreadsheet_safe(table) if options.for_spreadsheets else table, stream)
    contents = (
        draft.encode("utf-8", "replace"),
        transactions.content,
        stream.getvalue(),
        ego_graphml(network).encode(),
        ego_gexf(network).encode(),
        ego_json(network).encode(),
    )
    for name, content in zip(FILES, contents, strict=True):
        with atomic_write(folder / name) as file:
            file.write(content)
