"""The examples run as a reader would run them, on less data."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from gtea.datasets.payments import PaymentsSpec, generate_payments

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "01_csv_to_ranked_accounts.py": r"<gtea\.Store payments\.store: 200 nodes.*\n(0\.\d+  A\d+  \w+\n){10}$",
    "02_scikit_learn.py": r"average precision .*\nlstm .*\nstatistics .*\nlogistic regression on embeddings of 32",
    "03_links.py": r"pairs, \d+ of which have a payment in April.*\nMay: ROC-AUC 0\.\d+",
    "04_calibrated.py": r"plain +0\.\d+ .*\ncalibrated +0\.\d+ ",
    "05_attention.py": r"and its partners\n[01]\.\d+  A\d+  \d+ payments",
    "06_phishing_on_ethereum.py": r"accounts before .* train, \d+ later ones test\naverage precision [01]\.\d+",
}
REAL = "06_phishing_on_ethereum.py"


def test_every_example_is_tried() -> None:
    assert {path.name for path in SCRIPTS} == set(SAYS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_examples_stay_within_the_public_api(script: Path) -> None:
    imported = set(re.findall(r"^(?:from|import) (gtea[\w.]*)", script.read_text(), re.MULTILINE))
    assert imported <= {"gtea", "gtea.datasets.payments"}


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    lines = script.read_text().splitlines()
    assert 20 <= len(lines) <= 50
    arguments = [str(ethereum(tmp_path)), "1"] if script.name == REAL else ["200", "1"]
    command = [sys.executable, "-W", "error", str(script), *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[script.name], done.stdout), done.stdout


def ethereum(folder: Path) -> Path:
    """A small table in the layout of the data set: the real one is tried where GTEA_DATA has it."""
    real = Path(os.environ.get("GTEA_DATA", "")) / "ethereum_phishing"
    if "GTEA_DATA" in os.environ and real.is_dir():
        return real
    transactions, labels = generate_payments(PaymentsSpec(accounts=200, events=4_000, illicit_share=0.3))
    columns = {"from": transactions["payer"], "to": transactions["payee"], "timestamp": transactions["timestamp"]}
    amounts = {"value_eth": transactions["amount"], "has_call_data": pa.array([0] * len(transactions))}
    pq.write_table(pa.table({**columns, **amounts}), folder / "transactions.parquet")
    words = ["phishing" if label == "illicit" else "normal" for label in labels["label"].to_pylist()]
    pacsv.write_csv(pa.table({"account": labels["account"], "label": words}), folder / "labels.csv")
    return folder


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples" / "first_look.ipynb").read_text())
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    code = code.replace("accounts=1000, events=20_000", "accounts=300, events=6_000").replace("epochs=10", "epochs=1")
    code = code.replace("800", "240")
    exec(compile(code, "first_look.ipynb", "exec"), {})
    assert (tmp_path / "payments.model" / "manifest.json").exists()
