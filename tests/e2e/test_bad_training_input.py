"""Bad input to train, evaluate and score, through the command line: exit code and message, never a traceback."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest
import torch

from gtea.cli.main import main
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store

Run = Callable[..., Any]
QUICK = tuple(
    word
    for setting in (
        "model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=2", "sampling.fanout=2",
        "sampling.max_events=4", "train.epochs=1",
    )
    for word in ("--set", setting)
)  # fmt: skip
ACCOUNTS = 30


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class World:
    """A store of 30 accounts a00..a29, events at 0, 10, ... 1190, labels, and a model of each task."""

    folder: Path
    store: Path
    labels: Path
    nodes: Path
    links: Path


def stored(folder: Path, rows: Sequence[tuple[str, str, int]], *, feature: str = "amount") -> Store:
    src, dst, time = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"src": src, "dst": dst, "time": time, feature: [float(t % 7) for t in time]})
    return ingest(table, src="src", dst="dst", time="time", features=[feature], time_unit="step", out=folder)


def labels_text(classes: Sequence[str] = ("bad", "ok"), *, known_at: int | None = None) -> str:
    head = "account,label" + (",known_at" if known_at is not None else "")
    rows = [
        f"a{i:02},{classes[i % len(classes)]}" + (f",{known_at}" if known_at is not None else "") for i in range(30)
    ]
    return "\n".join([head, *rows]) + "\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    rows = [(f"a{i % ACCOUNTS:02}", f"a{(i * 7 + 1 + i // ACCOUNTS) % ACCOUNTS:02}", 10 * i) for i in range(120)]
    stored(folder / "s", [row for row in rows if row[0] != row[1]])
    (folder / "labels.csv").write_text(labels_text())
    made = World(folder, folder / "s", folder / "labels.csv", folder / "nodes", folder / "links")
    for words in (["--labels", made.labels, "--out", made.nodes], ["--task", "links", "--out", made.links]):
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in ("train", made.store, *QUICK, *words)])
        assert stop.value.code == 0
    return made


def refused(outcome: Any, code: int, message: str) -> None:
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    assert "Traceback" not in outcome.err
    assert "bug" not in outcome.err


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", 3, "l.csv: must start with a header line (got an empty file)"),
        (
            "account,label\n",
            3,
            "l.csv: must hold at least one label of an account in the store (got none). Add labels.",
        ),
        ("account\na01\na02\n", 2, "l.csv: must have a column 'label' or only one besides 'account' (got none)."),
        ("account,x,y\na01,1,2\n", 2, "only one besides 'account' (got x, y). Pass the name of the label column."),
        ("a01,bad\na02,ok\n", 3, "l.csv: must start with a header line (got 'a01', which is an account of s). Add a"),
        (labels_text() + "zz,bad\nyy,ok\n", 3, "l.csv: every account must be in s (got 2 that are not: 'zz', 'yy')."),
        (labels_text() + "A01,bad\n", 3, "check leading zeros, spaces and case; or leave such rows out with --unknown"),
        (labels_text() + "a01,bad\n", 3, "an account may have one label (got 1 with rows that disagree: 'a01'). Keep"),
        (labels_text() + "a01,\n", 3, "l.csv, row 32, column 'label': must not be empty (got nothing). Fill it in, or"),
        (labels_text(["ok"]), 3, "l.csv: labels must be of at least two classes (got only 'ok', 30 times). Add"),
        (labels_text(known_at=10**6), 3, "known only later). Give a later as_of."),
        (labels_text(known_at=5).replace(",5\n", ",soon\n", 1), 3, "l.csv, row 2, column 'known_at': must be a number"),
        ("account,label\na01,bad\na02,ok\n", 3, "the train part must hold accounts of at least two classes (got"),
    ],
)
def test_labels_that_can_not_train(gtea: Run, world: World, tmp_path: Path, text: str, code: int, message: str) -> None:
    (tmp_path / "l.csv").write_text(text)
    refused(gtea("train", world.store, "--labels", tmp_path / "l.csv", "--out", tmp_path / "m"), code, message)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--as-of", "0"], 3, "labels: none can be used as of 0 (got 30: 30 of accounts without an event before it"),
        (["--as-of", "-5"], 3, "labels: none can be used as of -5"),
        (["--as-of", "2024-01-01"], 2, "as_of: this store counts steps, not dates"),
        (["--as-of", "yesterday"], 2, "as_of: must be a number or an ISO 8601 date (got 'yesterday'). Try 2024-01-31"),
        (["--folds", "16"], 3, "labels: 16 folds need at least 16 accounts of each of two classes (got 'bad': 15,"),
        (["--folds", "2"], 2, "--folds: must be at least 3: one validates and one tests (got 2). Try 5."),
        (["--config", "c.toml"], 2, "unknown key 'train.learning' in c.toml."),
        (["--set", "model.d_nod=8"], 2, "unknown key 'model.d_nod' in --set model.d_nod. Did you mean 'model.d_node'?"),
        (["--set", "features.nodes=given"], 5, "node features: the store has no node table. Ingest with --nodes, or"),
        (["--positive", "evil"], 2, "must be one of two classes (got 'evil'; the labels are 'bad', 'ok')"),
        (["--task", "links"], 2, "--labels: does not apply to --task links. Leave it out."),
    ],
)
def test_requests_that_can_not_train(
    gtea: Run, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text("[train]\nlearning = 1\n")
    refused(gtea("train", world.store, "--labels", world.labels, *words, "--out", "m"), code, message)
    assert not Path("m").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--graph-until", "9999"], 3, "events from graph_until = 9999 to before 1191 (got none). Give an earlier"),
        (["--graph-until", "-1"], 3, "must hold a pair whose source does not have events with every account"),
        (["--as-of", "0"], 3, "links: the store must have events before as_of (got none). Give a later as_of."),
        (["--as-of", "1"], 3, "links: the train part must hold at least one pair (got none from 0 to before 0)."),
        (["--unknown", "skip"], 2, "--unknown: does not apply to --task links. Leave it out."),
        (["--unknown", "error"], 2, "--unknown: does not apply to --task links. Leave it out."),
        (["--positive", "x"], 2, "--positive: does not apply to --task links. Leave it out."),
    ],
)
def test_links_that_can_not_be_foretold(
    gtea: Run, world: World, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    refused(gtea("train", world.store, "--task", "links", *words, "--out", tmp_path / "m"), code, message)
    assert not (tmp_path / "m").exists()


def test_a_store_too_small_for_links(gtea: Run, tmp_path: Path) -> None:
    stored(tmp_path / "s", [("a", "b", 1), ("b", "c", 2)])
    outcome = gtea("train", tmp_path / "s", "--task", "links", "--out", tmp_path / "m")
    refused(outcome, 3, "links: the train part must hold at least one pair (got none from 2 to before 2).")


def clique(sources: Sequence[str]) -> list[tuple[str, str, int]]:
    """Everybody named pays each of four shops before 100, and goes on to do so; a newcomer knows one shop."""
    known = [(who, f"shop{i}", 4 * i + n) for n, who in enumerate(sources) for i in range(4)]
    new = [("new", "shop0", 20)]
    later = [(who, f"shop{t % 4}", 100 + t) for t in range(60) for who in [*sources, "new"]]
    return known + new + later


def test_links_without_a_negative_are_left_out_and_counted(gtea: Run, tmp_path: Path) -> None:
    stored(tmp_path / "s", clique(["u", "v"]))
    words = ("train", tmp_path / "s", "--task", "links", "--graph-until", 100, "--set", "split.protocol=paper", *QUICK)
    outcome = gtea(*words, "--out", tmp_path / "m")
    assert outcome.code == 0, outcome.err
    assert "left out: 24 pairs without negative" in outcome.out
    split = json.loads((tmp_path / "m" / "metrics.json").read_text())["split"]
    assert [split[part]["pairs"] for part in ("train", "validation", "test")] == [4, 4, 4]
    assert [split[part]["pairs_without_negative"] for part in ("train", "validation", "test")] == [8, 8, 8]
    refused(
        gtea(*words[:5], 101, *words[6:], "--set", "split.protocol=temporal", "--out", tmp_path / "n"),
        3,
        "links: the validation part must hold a pair whose source does not have events with every account that "
        "receives any before",
    )


def test_unknown_accounts_are_left_out_and_counted_if_asked(gtea: Run, world: World, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(labels_text() + "zz,bad\nyy,ok\nzz,bad\n")
    (tmp_path / "who.csv").write_text("account\na03\nzz\n")
    (tmp_path / "pairs.csv").write_text("src,dst\na03,a04\nzz,a05\n")
    said = "left out: 2 unknown accounts in 3 rows: 'zz', 'yy'"
    labels = ("--labels", tmp_path / "l.csv", "--unknown", "skip")
    trained = gtea("train", world.store, *labels, *QUICK, "--out", tmp_path / "m")
    assert (trained.code, said in trained.out) == (0, True), trained.err
    folds = gtea("train", world.store, *labels, *QUICK, "--folds", 3, "--out", tmp_path / "f")
    assert (folds.code, said in folds.out) == (0, True), folds.err
    evaluated = gtea("evaluate", world.nodes, world.store, *labels)
    assert (evaluated.code, said in evaluated.out) == (0, True), evaluated.err
    assert json.loads(gtea("evaluate", world.nodes, world.store, *labels, "--json").out)["labels"]["unknown"] == {
        "accounts": 2, "rows": 3, "first": ["zz", "yy"],
    }  # fmt: skip
    out = ("--unknown", "skip", "--out", tmp_path / "scores.csv")
    for model, what in ((world.nodes, ("--accounts", "who.csv")), (world.links, ("--pairs", "pairs.csv"))):
        words = ("score", model, world.store, what[0], tmp_path / what[1])
        refused(gtea(*words, *out[2:]), 3, "every account must be in s (got 1 that are not: 'zz')")
        scored = gtea(*words, *out)
        assert (scored.code, "left out: 1 unknown accounts in 1 rows: 'zz'" in scored.out) == (0, True), scored.err
    outcome = gtea("score", world.nodes, world.store, *out)
    refused(outcome, 2, "--unknown: only goes with --accounts or --pairs. Leave it out.")


def test_labels_known_too_late_are_counted(gtea: Run, world: World, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(labels_text(known_at=5).replace("a00,bad,5", "a00,bad,600"))
    outcome = gtea(
        "train", world.store, "--labels", tmp_path / "l.csv", *QUICK, "--as-of", 500, "--out", tmp_path / "m"
    )
    assert (outcome.code, "left out: 1 label not known yet" in outcome.out) == (0, True), outcome.err


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", 3, "x.csv: must start with a header line (got an empty file)"),
        (
            "account,label\na01,bad\na02,evil\n",
            3,
            "labels: the model knows the classes 'bad', 'ok' (got 'evil'). Leave",
        ),
        ("account,label\nzz,bad\n", 3, "x.csv: every account must be in s (got 1 that are not: 'zz')"),
        ("account,label\na01,bad\n", 3, "x.csv: labels must be of at least two classes (got only 'bad', 1 times)"),
    ],
)
def test_labels_that_can_not_judge(gtea: Run, world: World, tmp_path: Path, text: str, code: int, message: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    refused(gtea("evaluate", world.nodes, world.store, "--labels", tmp_path / "x.csv"), code, message)


def test_a_model_is_asked_its_own_question(gtea: Run, world: World, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("src,dst\na01,a02\n")
    out = ("--out", tmp_path / "scores.csv")
    outcome = gtea("evaluate", world.links, world.store, "--labels", world.labels)
    refused(outcome, 5, "model: does not classify accounts (its task is 'links'). Score pairs with gtea score --pairs")
    outcome = gtea("score", world.links, world.store, *out)
    refused(outcome, 5, "model: does not classify accounts (its task is 'links')")
    outcome = gtea("score", world.nodes, world.store, "--pairs", tmp_path / "pairs.csv", *out)
    refused(outcome, 5, "model: does not predict links (its task is 'nodes'). Leave --pairs out, or use another model.")


@pytest.mark.parametrize("task", ["nodes", "links"])
def test_a_store_with_other_columns(gtea: Run, world: World, tmp_path: Path, task: str) -> None:
    stored(tmp_path / "other", [("a", "b", 1), ("b", "c", 2)], feature="weight")
    (tmp_path / "pairs.csv").write_text("src,dst\na,b\n")
    what = ("--pairs", tmp_path / "pairs.csv") if task == "links" else ()
    outcome = gtea("score", world.folder / task, tmp_path / "other", *what, "--out", tmp_path / "scores.csv")
    refused(outcome, 5, "event features: the model needs amount (the store has weight). Ingest with the columns of the")


def cut(path: Path, count: int = 1) -> None:
    path.write_bytes(path.read_bytes()[:-count])


def put(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda m: cut(m / "model.safetensors"), "model.safetensors: was changed or truncated (sha256 "),
        (lambda m: cut(m / "config.json"), "config.json: was changed or truncated (sha256 "),
        (lambda m: cut(m / "manifest.json", 2), "manifest.json: can't be read ("),
        (lambda m: (m / "preprocessing.json").unlink(), "preprocessing.json: is missing from the model. Restore it"),
        (lambda m: (m / "manifest.json").unlink(), "is a run that has not finished. Resume it with gtea train"),
        (
            lambda m: put(m / "manifest.json", format_version=9),
            "has format version 9, and this gtea reads 2 and 3 and 4 and 5 and 6.",
        ),
        (
            lambda m: put(m / "manifest.json", format_version=9, versions=3),
            "the gtea that wrote it (unknown), or train",
        ),
        (lambda m: put(m / "manifest.json", format="zip"), "is not a gtea model. Check the path."),
        (lambda m: put(m / "manifest.json", files={}), "it was changed after it was written: its own sha256 differs"),
    ],
)
def test_a_model_that_was_harmed(
    gtea: Run, world: World, tmp_path: Path, harm: Callable[[Path], None], message: str
) -> None:
    model = tmp_path / "m"
    shutil.copytree(world.nodes, model)
    harm(model)
    refused(gtea("score", model, world.store, "--out", tmp_path / "scores.csv"), 5, message)
    refused(gtea("evaluate", model, world.store, "--labels", world.labels), 5, message)
    assert not (tmp_path / "scores.csv").exists()


def test_a_resumed_run_must_be_the_run_that_was_begun(gtea: Run, world: World, tmp_path: Path) -> None:
    run = tmp_path / "m"
    shutil.copytree(world.nodes, run)
    (run / "manifest.json").unlink()
    words = ("--labels", world.labels, *QUICK, "--resume", run)
    refused(
        gtea("train", world.store, *words, "--set", "train.lr=0.5"),
        2,
        "config.train.lr was 0.001 when the run began (got 0.5). Resume with the same data and settings, or start",
    )
    (tmp_path / "l.csv").write_text(labels_text(["ok", "bad"]))
    outcome = gtea("train", world.store, "--labels", tmp_path / "l.csv", *QUICK, "--resume", run)
    refused(outcome, 2, "task.labels was '")
    rows = [(f"a{i % ACCOUNTS:02}", f"a{(i + 1) % ACCOUNTS:02}", 10 * i) for i in range(120)]
    stored(tmp_path / "s", rows)
    refused(gtea("train", tmp_path / "s", *words), 2, "when the run began (got")
    outcome = gtea("train", world.store, *words[:-1], tmp_path / "nowhere")
    refused(outcome, 2, "nowhere: no such run. Check the path, or start one with --out.")
    outcome = gtea("train", world.store, *words[:-2], "--out", run)
    refused(outcome, 2, "m: holds a run that has not finished. Continue it with --resume, or choose another --out.")
    (run / "run.json").write_text("[1]")
    refused(gtea("train", world.store, *words), 5, "m: holds no run to resume (run.json can't be read). Check the path")
    outcome = gtea("train", world.store, "--labels", world.labels, *QUICK, "--out", world.nodes)
    refused(outcome, 2, "nodes: exists. Choose another --out.")


rubbish = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(str.encode),
    st.lists(
        st.lists(st.sampled_from(["a01", "a02", "zz", "bad", "ok", "", '"', "1e999", "\x00", "src"]), max_size=3).map(
            ",".join
        ),
        max_size=8,
    ).map(lambda lines: "\n".join(lines).encode()),
)


@pytest.mark.slow
@hypothesis.settings(max_examples=60)
@hypothesis.given(
    body=rubbish, header=st.sampled_from(["", "account,label\n", "account,label,known_at\n", "src,dst\n"])
)
def test_rubbish_never_gives_a_traceback(gtea: Run, world: World, tmp_path: Path, body: bytes, header: str) -> None:
    (tmp_path / "x.csv").write_bytes(header.encode() + body)
    shutil.rmtree(tmp_path / "m", ignore_errors=True)
    table, out = tmp_path / "x.csv", ("--unknown", "skip", "--out", tmp_path / "scores.csv")
    for words in (
        ("train", world.store, "--labels", table, "--unknown", "skip", *QUICK, "--out", tmp_path / "m"),
        ("evaluate", world.nodes, world.store, "--labels", table, "--unknown", "skip"),
        ("score", world.nodes, world.store, "--accounts", table, *out),
        ("score", world.links, world.store, "--pairs", table, *out),
    ):
        outcome = gtea(*words)
        assert outcome.code in (0, 2, 3), outcome.err
        assert "bug" not in outcome.err


def test_scores_as_of_a_moment_before_everything(gtea: Run, world: World, tmp_path: Path) -> None:
    """Nothing is known of anybody: all scores are the same, and no error."""
    outcome = gtea("score", world.nodes, world.store, "--as-of", "-5", "--out", tmp_path / "scores.csv")
    assert outcome.code == 0, outcome.err
    with (tmp_path / "scores.csv").open(newline="") as stream:
        assert len({row["score"] for row in csv.DictReader(stream)}) == 1
