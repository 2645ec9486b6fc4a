"""The LSTM encoder: stopping and going on, and agreement with torch's own module."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.examples import histories_of, seeded

from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.encoders.ragged_lstm import LSTMState


def offset_of(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0)


@settings(deadline=None, max_examples=40)
@given(
    parts=st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1, max_size=8),
    num_encoder_layers=st.integers(1, 3),
)
def test_stopping_and_going_on_equals_reading_at_once(parts: list[tuple[int, int]], num_encoder_layers: int) -> None:
    encoder = LSTMEncoder(2, 5, num_encoder_layers, seeded()).double()
    histories = histories_of([before + after for before, after in parts])
    pieces = histories.features.split([length for part in parts for length in part])
    before, after = torch.cat(pieces[::2]), torch.cat(pieces[1::2])
    with torch.no_grad():
        once = encoder.advance(histories.features, histories.offset, encoder.initial_state(len(parts)))
        halfway = encoder.advance(before, offset_of([part[0] for part in parts]), encoder.initial_state(len(parts)))
        twice = encoder.advance(after, offset_of([part[1] for part in parts]), halfway)
    torch.testing.assert_close(twice.h, once.h, atol=1e-12, rtol=0)
    torch.testing.assert_close(twice.c, once.c, atol=1e-12, rtol=0)


def test_event_by_event_equals_reading_at_once_in_float32() -> None:
    encoder = LSTMEncoder(2, 16, 2, seeded())
    histories = histories_of([40], dtype=torch.float32)
    state = encoder.initial_state(1)
    with torch.no_grad():
        for event in histories.features:
            state = encoder.advance(event[None], offset_of([1]), state)
        torch.testing.assert_close(state.h[-1], encoder(histories.features, histories.offset), atol=1e-6, rtol=0)


def test_no_events_leave_the_state_as_it_was() -> None:
    encoder = LSTMEncoder(2, 4, 2, seeded())
    state = LSTMState(torch.rand(2, 3, 4), torch.rand(2, 3, 4))
    after = encoder.advance(torch.empty(0, 2), offset_of([0, 0, 0]), state)
    assert torch.equal(after.h, state.h)
    assert torch.equal(after.c, state.c)


def test_gradients_flow_into_the_state() -> None:
    encoder = LSTMEncoder(2, 3, 1, seeded()).double()
    histories = histories_of([3, 1])
    h, c = (torch.rand(1, 2, 3, dtype=torch.float64, generator=seeded(i), requires_grad=True) for i in (1, 2))

    def advance(h: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return encoder.advance(histories.features, histories.offset, LSTMState(h, c)).h

    assert torch.autograd.gradcheck(advance, (h, c))


@pytest.mark.parametrize("num_encoder_layers", [1, 2, 3])
def test_it_is_torchs_lstm(num_encoder_layers: int) -> None:
    encoder = LSTMEncoder(2, 6, num_encoder_layers, seeded()).double()
    theirs = torch.nn.LSTM(2, 6, num_encoder_layers).double()
    with torch.no_grad():
        for level in range(num_encoder_layers):
            getattr(theirs, f"weight_ih_l{level}").copy_(encoder.w[level])
            getattr(theirs, f"weight_hh_l{level}").copy_(encoder.u[level])
            getattr(theirs, f"bias_ih_l{level}").copy_(encoder.b[level])
            getattr(theirs, f"bias_hh_l{level}").zero_()
        histories = histories_of([11])
        expected = theirs(histories.features)[1][0][-1]
        torch.testing.assert_close(encoder(histories.features, histories.offset)[0], expected, atol=1e-12, rtol=0)
