"""Pickles are told by their content, refused with a way out, and never run."""

from __future__ import annotations

import bz2
import gzip
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.errors import DataError
from gtea.ingestion.pickles import is_pickle, refuse_pickle


class Trap:
    """Whoever loads it leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return open, (self.mark, "w")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress])
def test_every_protocol_is_told_and_none_is_run(
    tmp_path: Path, protocol: int, packed: Callable[[bytes], bytes]
) -> None:
    mark, path = tmp_path / "mark", tmp_path / "MulDiGraph.csv"
    path.write_bytes(packed(pickle.dumps(Trap(mark), protocol)))
    with pytest.raises(DataError, match=r"is a Python pickle.*runs any code.*throw-away environment.*timestamp, value"):
        refuse_pickle(path)
    assert not mark.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("thing", [{}, {"a": 1}, [1, 2]])
def test_plain_containers_are_told_too(tmp_path: Path, protocol: int, thing: object) -> None:
    path = tmp_path / "x"
    path.write_bytes(pickle.dumps(thing, protocol))
    assert is_pickle(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80", b"a,b,t\n1,2,3\n", b"customer\nalice\nbob\n", b"PAR1....PAR1", b"\x1f\x8bnot gzip", b"BZh"],
)
def test_tables_are_not_taken_for_pickles(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert not is_pickle(path)


def test_ingest_refuses_a_pickle_whatever_it_is_called(gtea: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "MulDiGraph.pkl"
    path.write_bytes(pickle.dumps(Trap(tmp_path / "mark")))
    for more in ([], ["--format", "csv"], ["--format", "parquet"]):
        outcome = gtea("ingest", path, "--src", "a", "--dst", "b", "--time", "t", *more, "--out", tmp_path / "s")
        assert outcome.code == 3
        assert "MulDiGraph.pkl: is a Python pickle" in outcome.err
    assert not (tmp_path / "mark").exists()
