"""An edge with all of its events is encoded as it is; one with none has nothing left."""

from __future__ import annotations

import numpy as np
import torch
from tests.explain.worlds import CPU, CUT, model_of, random_rows, small, store_of

from gtea.explain.changed_edge import changed_edge
from gtea.explain.encoded_view import EncodedView, ignore
from gtea.features.alternatives import alternatives
from gtea.features.node_features import NodeFeatures
from gtea.sampling.collate import HistoryReader


def around_of(num_layers: int = 2) -> EncodedView:
    store = store_of(random_rows(1))
    model = model_of(store, small("gtea-l", num_layers=num_layers))
    view = store.as_of(CUT)
    return EncodedView(
        model.gtea, HistoryReader(view, model.preprocessing, 4), NodeFeatures(view, model.preprocessing.nodes), CPU
    )


def test_all_and_nothing_of_an_edge() -> None:
    around = around_of()
    view = store_of(random_rows(1)).as_of(CUT)
    node = int(np.diff(around.graph.node_offset).argmax())
    slots = around.slots_of(node)
    slot = int(np.flatnonzero(around.graph.slot_neighbour[slots] != node)[0])
    edge, partner = int(around.graph.slot_edge[slots[slot]]), int(around.graph.slot_neighbour[slots[slot]])
    start, stop = (int(each[0]) for each in view.event_ranges(np.array([edge])))
    sets = [np.empty(0, dtype=np.int64), np.arange(start, stop)]
    own, other = (alternatives(view, np.full(2, end), sets) for end in (node, partner))
    changed = changed_edge(around, edge, own, other)
    assert changed.is_left.tolist() == [True, False]
    assert (changed.slot, changed.partner) == (slot, partner)
    assert around.graph.slot_edge[around.slots_of(partner)[changed.partner_slot]] == edge
    with torch.inference_mode():
        e_tilde = around.edges.embed(slots[[slot]], np.array([node]), ignore)
    torch.testing.assert_close(changed.e_tilde[:1].float(), e_tilde)
    assert not changed.e_tilde[1].any()
    assert changed.part(slice(1, 2)).is_left.tolist() == [False]
