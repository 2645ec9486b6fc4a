"""Heads: shapes, symmetry, and the pair's own history."""

from __future__ import annotations

import pytest
import torch
from tests.nn.examples import SPEC, histories_of, seeded

from gtea.config import ModelConfig
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.nn.heads import DotHead, NodeHead, PairHead, link_head

CONFIG = ModelConfig(d_node=6, d_edge=5, d_mlp=7)
Z_U, Z_V = torch.randn(2, 4, 6, generator=seeded(1))
E_TILDE = torch.randn(4, 5, generator=seeded(2))


@pytest.mark.parametrize("num_classes", [2, 3, 10])
def test_any_number_of_classes(num_classes: int) -> None:
    assert NodeHead(CONFIG, num_classes, seeded())(Z_U).shape == (4, num_classes)


def test_the_papers_link_head_is_the_default_and_reads_no_history() -> None:
    head = link_head(CONFIG, 5, 0, seeded())
    assert isinstance(head, DotHead)
    assert not head.reads_history
    assert not list(head.parameters())


def test_a_pair_in_either_order() -> None:
    symmetric, ordered = (
        link_head(ModelConfig(d_node=6, d_edge=5, link_head=kind), 5, 0, seeded()) for kind in ("pair", "ordered_pair")
    )
    assert torch.allclose(symmetric(Z_U, Z_V, E_TILDE), symmetric(Z_V, Z_U, E_TILDE))
    assert not torch.allclose(ordered(Z_U, Z_V, E_TILDE), ordered(Z_V, Z_U, E_TILDE))
    assert symmetric.reads_history
    assert ordered.reads_history


def test_the_pair_head_is_the_dot_product_and_more() -> None:
    head = PairHead(CONFIG, 5, 0, ordered=True, generator=seeded())
    with torch.no_grad():
        for parameter in head.mlp.out.parameters():
            parameter.zero_()
    torch.testing.assert_close(head(Z_U, Z_V, E_TILDE), DotHead()(Z_U, Z_V))


def test_a_pair_without_history_has_a_zero_embedding() -> None:
    encoder = EdgeEncoder(CONFIG, SPEC, seeded())
    e_tilde = encoder.embed(histories_of([2, 0, 1, 0], dtype=torch.float32))
    head = PairHead(CONFIG, encoder.d_edge, 0, ordered=False, generator=seeded())
    absent = head(Z_U, Z_V, torch.zeros(4, encoder.d_edge))
    with_history = head(Z_U, Z_V, e_tilde)
    assert torch.equal(with_history == absent, torch.tensor([False, True, False, True]))


@pytest.mark.parametrize("kind", ["pair", "ordered_pair"])
def test_statistics_are_read_where_there_are_some(kind: str) -> None:
    head = link_head(ModelConfig(d_node=6, d_edge=5, link_head=kind), 5, 3, seeded())  # type: ignore[arg-type]
    ranks = torch.rand(4, 3, generator=seeded(4))
    other = ranks.clone()
    other[2, 1] = 1 - other[2, 1]
    same = head(Z_U, Z_V, E_TILDE, ranks) == head(Z_U, Z_V, E_TILDE, other)
    assert same.tolist() == [True, True, False, True]


def test_ranks_of_an_account_are_read_where_there_are_some() -> None:
    head = NodeHead(CONFIG, 3, seeded(), d_head_inputs=2)
    ranks = torch.rand(4, 2, generator=seeded(4))
    other = ranks.clone()
    other[1, 0] = 1 - other[1, 0]
    same = (head(Z_U, ranks) == head(Z_U, other)).all(1)
    assert same.tolist() == [True, False, True, True]


def test_votes_of_known_classes_count_alike_for_every_class() -> None:
    """Swap what is known of two classes, and their votes are swapped."""
    head = NodeHead(CONFIG, 3, seeded(), d_head_inputs=8, d_neighbour_labels=6)
    told = torch.rand(4, 8, generator=seeded(4))
    swapped = told[:, [0, 1, 3, 2, 4, 6, 5, 7]]
    assert head.vote is not None
    assert head.bins is not None
    torch.nn.init.zeros_(head.bins.into.weight)  # what is left of the ranks are the votes
    assert torch.equal(head(Z_U, told), head(Z_U, 1 - told))  # which begin at nothing
    torch.nn.init.normal_(head.vote.into.weight, generator=seeded(5))
    one, other = head(Z_U, told), head(Z_U, swapped)
    without = NodeHead(CONFIG, 3, seeded(), d_head_inputs=8)
    without.load_state_dict({name: w for name, w in head.state_dict().items() if not name.startswith("vote")})
    votes, exchanged = one - without(Z_U, told), other - without(Z_U, told)
    torch.testing.assert_close(votes[:, [1, 0, 2]], exchanged)
    by_hand = [[4 * head.vote(torch.stack([row[2 + c], row[5 + c]])[None]).item() for c in range(3)] for row in told]
    torch.testing.assert_close(votes, torch.tensor(by_hand))
