"""What every sequence encoder promises, checked for each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.allocation import largest_tensor
from tests.nn.examples import histories_of, part_of, seeded

from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.encoders.statistics_encoder import StatisticsEncoder
from gtea.nn.encoders.transformer import TransformerEncoder

D_IN = 3
ENCODERS: dict[str, Callable[[], SequenceEncoder]] = {
    "lstm": lambda: LSTMEncoder(D_IN, 8, 1, seeded(1)),
    "lstm of 3": lambda: LSTMEncoder(D_IN, 8, 3, seeded(1)),
    "transformer": lambda: TransformerEncoder(D_IN, 8, 1, 4, seeded(1)),
    "transformer of 2": lambda: TransformerEncoder(D_IN, 8, 2, 4, seeded(1)),
    "statistics": lambda: StatisticsEncoder(D_IN),
}
every_encoder = pytest.mark.parametrize("encoder", [make() for make in ENCODERS.values()], ids=ENCODERS)
mixed_lengths = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 300)), min_size=1, max_size=12)


def encode(encoder: SequenceEncoder, lengths: list[int], seed: int, dtype: torch.dtype) -> torch.Tensor:
    histories = histories_of(lengths, D_IN, seed, dtype)
    with torch.no_grad():
        result: torch.Tensor = encoder.to(dtype)(histories.features, histories.offset)
    return result


@every_encoder
@settings(deadline=None, max_examples=25)
@given(lengths=mixed_lengths, seed=st.integers(0, 1000))
def test_company_in_the_batch_changes_nothing(encoder: SequenceEncoder, lengths: list[int], seed: int) -> None:
    together = encode(encoder, lengths, seed, torch.float32)
    histories = histories_of(lengths, D_IN, seed, torch.float32)
    for edge in range(len(lengths)):
        alone = part_of(histories, [edge])
        with torch.no_grad():
            expected = encoder(alone.features, alone.offset)
        torch.testing.assert_close(together[edge : edge + 1], expected, atol=1e-6, rtol=1e-6)


@every_encoder
@settings(deadline=None, max_examples=25)
@given(lengths=mixed_lengths, seed=st.integers(0, 1000))
def test_the_order_of_edges_changes_nothing_and_duplicates_are_alike(
    encoder: SequenceEncoder, lengths: list[int], seed: int
) -> None:
    straight = encode(encoder, lengths, seed, torch.float32)
    edges = torch.randint(len(lengths), (len(lengths) + 3,), generator=seeded(seed)).tolist()
    mixed = part_of(histories_of(lengths, D_IN, seed, torch.float32), edges)
    with torch.no_grad():
        torch.testing.assert_close(encoder(mixed.features, mixed.offset), straight[edges], atol=1e-6, rtol=1e-6)


@every_encoder
def test_lengths_from_1_to_300_at_once(encoder: SequenceEncoder) -> None:
    lengths = list(range(1, 301))
    together = encode(encoder, lengths, 0, torch.float64)
    histories = histories_of(lengths, D_IN, 0, torch.float64)
    for edge in (0, 1, 62, 63, 64, 126, 127, 128, 254, 255, 299):
        alone = part_of(histories, [edge])
        with torch.no_grad():
            torch.testing.assert_close(together[edge], encoder(alone.features, alone.offset)[0], atol=1e-12, rtol=0)


@every_encoder
@pytest.mark.parametrize("lengths", [[0], [0, 0, 0], [0, 3, 0, 1], []], ids=str)
def test_an_edge_without_events_gets_zeros(encoder: SequenceEncoder, lengths: list[int]) -> None:
    result = encode(encoder, lengths, 0, torch.float32)
    assert result.shape == (len(lengths), encoder.d_edge)
    assert [bool(row.any()) for row in result] == [length > 0 for length in lengths]


@every_encoder
def test_empty_histories_have_finite_gradients(encoder: SequenceEncoder) -> None:
    histories = histories_of([0, 1, 0, 4, 1], D_IN, dtype=torch.float32)
    e_hat = histories.features.clone().requires_grad_()
    encoder.float()(e_hat, histories.offset).square().sum().backward()
    assert e_hat.grad is not None
    assert e_hat.grad.isfinite().all()
    assert e_hat.grad.any()
    encoder.zero_grad()


@every_encoder
def test_the_gradient_is_that_of_finite_differences(encoder: SequenceEncoder) -> None:
    histories = histories_of([3, 0, 1, 6, 2], D_IN)
    encoder.double()
    e_hat = histories.features.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda e: encoder(e, histories.offset), e_hat)


@every_encoder
def test_eval_mode_still_has_gradients(encoder: SequenceEncoder) -> None:
    """Explaining a trained model differentiates it in eval mode."""
    histories = histories_of([3, 5], D_IN, dtype=torch.float32)
    e_hat = histories.features.clone().requires_grad_()
    encoder.float().eval()(e_hat, histories.offset).sum().backward()
    assert e_hat.grad is not None
    encoder.train().zero_grad()


@every_encoder
def test_one_long_history_pads_nobody(encoder: SequenceEncoder) -> None:
    """A thousand short histories beside one of 500 events: padded to the longest, 1,001 times 500 rows."""
    histories = histories_of([500] + [1, 2] * 500, D_IN, dtype=torch.float32)
    e_hat = histories.features.clone().requires_grad_()
    encoder.float()
    largest = largest_tensor(lambda: encoder(e_hat, histories.offset))
    num_events, padded = histories.num_events, histories.num_edges * 500
    # At most four heads or gates of eight, and attention matrices of the long history with itself.
    assert largest <= max(num_events * 4 * 8, 4 * 500**2)
    assert largest < padded * 8 / 3
    encoder.zero_grad()
