from collections.abc import Sequence

from torch import Tensor

def lstm_forward(
    x: Tensor,
    offset: Tensor,
    parameters: Sequence[Tensor],
    h: Sequence[Tensor],
    c: Sequence[Tensor],
    num_encoders: int,
    instruction_set: str,
    keeps: bool,
    wants_c: bool,
    mirror: int,
) -> tuple[list[Tensor], list[Tensor], Tensor, int]: ...
def lstm_backward(
    x: Tensor,
    offset: Tensor,
    parameters: Sequence[Tensor],
    h: Sequence[Tensor],
    c: Sequence[Tensor],
    num_encoders: int,
    instruction_set: str,
    saved: Tensor,
    num_threads: int,
    dh: Sequence[Tensor | None],
    dc: Sequence[Tensor | None],
    wants_x: bool,
    wants_state: bool,
) -> tuple[Tensor, list[Tensor], list[Tensor], list[Tensor]]: ...
def encode_times(
    time: Tensor, features: Tensor, omega: Tensor, phi: Tensor, longest_period: float, instruction_set: str
) -> Tensor: ...
def encode_times_backward(
    time: Tensor, omega: Tensor, phi: Tensor, longest_period: float, gradient: Tensor, instruction_set: str
) -> tuple[Tensor, Tensor]: ...
def attend_last(q: Tensor, k: Tensor, e: Tensor, offset: Tensor, instruction_set: str) -> tuple[Tensor, Tensor]: ...
def attend_last_backward(
    q: Tensor, k: Tensor, e: Tensor, offset: Tensor, weights: Tensor, gradient: Tensor, instruction_set: str
) -> tuple[Tensor, Tensor, Tensor]: ...
def sum_neighbours(
    from_node: Tensor,
    e: Tensor,
    weight: Tensor,
    neighbour: Tensor,
    target: Tensor,
    alpha: Tensor,
    num_targets: int,
    instruction_set: str,
) -> Tensor: ...
def peak_gflops(num_threads: int, instruction_set: str) -> float: ...
def instruction_sets() -> list[str]: ...
