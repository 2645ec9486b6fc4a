"""Ranked rows of parts, merged: the order of all, whatever the pieces that are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gtea.cluster.part_files import PartFile, write_part_file
from gtea.cluster.scoring.rank import _Rows, digest_of, merged


@pytest.mark.parametrize("held", [1, 2, 3, 7, 1000])
def test_merged_rows_are_the_rows_of_all_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """With many ties, a part without rows, and ids of several lengths."""
    monkeypatch.setattr("gtea.cluster.scoring.rank._ROWS_HELD", held)
    rng, first, files = np.random.default_rng(0), 0, []
    nodes_of, scores_of = list[int](), list[float]()
    for part, count in enumerate((5, 0, 40, 1, 17)):
        nodes, scores = np.arange(first, first + count), rng.integers(0, 6, count) / 5
        order = np.lexsort((nodes, -scores))
        ids = [f"id-{node}" for node in nodes[order]]
        path = tmp_path / f"{part}.part"
        write_part_file(path, {
            "nodes": nodes[order], "scores": scores[order], "probabilities": np.stack([scores, 1 - scores], 1)[order],
            "active": np.ones(count, dtype=np.uint8), "events": 10 * nodes[order],
            "id_ends": np.cumsum([len(each) for each in ids], dtype=np.int64),
            "id_bytes": np.frombuffer("".join(ids).encode(), dtype=np.uint8),
        }, {})  # fmt: skip
        files.append(PartFile.open(path))
        nodes_of += nodes.tolist()
        scores_of += scores.tolist()
        first += count
    parts = [_Rows(file, ("nodes", "scores", "events"), ("id",)) for file in files]
    found = [(int(node), int(events), id_.as_py()) for rows, ids in merged(parts)
             for node, events, id_ in zip(rows["nodes"], rows["events"], ids[0], strict=True)]  # fmt: skip
    expected = np.lexsort((np.array(nodes_of), -np.array(scores_of))).tolist()
    assert found == [(node, 10 * node, f"id-{node}") for node in expected]


def test_a_digest_is_that_of_the_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert digest_of(tmp_path / "a").startswith("e3b0c442")
