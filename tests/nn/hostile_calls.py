"""Calls of the compiled kernels with hostile arguments, run by kernels/tests/check.sh under sanitizers.

    python -m tests.nn.hostile_calls FOLDER [NUM_CALLS]     # FOLDER: that of the package that must be under test

Every argument of a right call is now and then replaced by one of another shape, type, layout or content. A call must
return or raise ValueError, or what torch raises if it can't make a tensor; the sanitizers end the process at the first
read or write that goes astray.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from tests.nn.test_compiled_interface import COMPILED, KERNELS, Arguments, arguments, lstm
from torch import Tensor

HUGE = 1 << 45
INTEGERS = (-(1 << 63), -HUGE, -1, 0, 1, 2, 3, 4, 5, 1 << 31, HUGE, (1 << 63) - 1)
FLOATS = (float("nan"), float("inf"), float("-inf"), 3.4e38, 1e-45, 0.0, -1.0)
SIZES = (0, 1, 2, 3, 5, 16, 17)


def strided(tensor: Tensor, choose: random.Random) -> Tensor:
    """The same values at other distances in memory."""
    wide = torch.stack([tensor, torch.zeros_like(tensor)], dim=-1)
    return choose.choice([wide[..., 0], tensor.t() if tensor.dim() == 2 else wide[..., 1]])


def resized(tensor: Tensor, choose: random.Random) -> Tensor:
    """Zeros of another shape, with as many dimensions or not."""
    dimensions = choose.choice([tensor.dim(), tensor.dim(), 0, 1, 2, 3, 4])
    shape = [choose.choice([*SIZES, *tensor.shape]) for _ in range(dimensions)]
    return torch.zeros(shape, dtype=tensor.dtype)


def one_size_changed(tensor: Tensor, choose: random.Random) -> Tensor:
    """Zeros with one side longer or shorter."""
    shape = list(tensor.shape)
    side = choose.randrange(len(shape)) if shape else 0
    shape[side : side + 1] = [max(0, (shape[side] if shape else 1) + choose.choice([-2, -1, 1, 2]))]
    return torch.zeros(shape, dtype=tensor.dtype)


def huge(tensor: Tensor, choose: random.Random) -> Tensor:
    """A view of one value that claims to have very many."""
    shape = [choose.choice([size, HUGE]) for size in tensor.shape] or [HUGE]
    return torch.zeros(1, dtype=tensor.dtype).expand(shape) if shape.count(HUGE) == 1 else tensor[None]


def retyped(tensor: Tensor, choose: random.Random) -> Tensor:
    """Another type or device."""
    kinds = (torch.float64, torch.float16, torch.int32, torch.int64, torch.float32, torch.bool, torch.complex64)
    return choose.choice([tensor.to(choose.choice(kinds)), tensor.to("meta")])


def refilled(tensor: Tensor, choose: random.Random) -> Tensor:
    """The same shape with extreme values: where they are offsets or indices, they point far away."""
    filled = tensor.clone().reshape(-1)
    for place in range(len(filled)):
        if choose.random() < 0.4:
            filled[place] = choose.choice(FLOATS if tensor.is_floating_point() else INTEGERS)
    return filled.reshape(tensor.shape)


CHANGES: tuple[Callable[[Tensor, random.Random], Tensor], ...]
CHANGES = (strided, resized, one_size_changed, huge, retyped, refilled, refilled)


def hostile(right: Arguments, choose: random.Random) -> Arguments:
    """A call with some arguments replaced; now and then all shapes are changed alike, as far as names tell."""
    given = dict(right)
    for name in choose.sample(sorted(given), choose.choice([1, 1, 2, len(given)])):
        given[name] = choose.choice(CHANGES)(given[name], choose)
    return given


def with_gradients(given: Arguments, choose: random.Random) -> Arguments:
    wanted = {name for name, tensor in given.items() if tensor.dtype == torch.float32 and name != "time"}
    return {
        name: tensor.detach().requires_grad_() if name in wanted and choose.random() < 0.5 else tensor
        for name, tensor in given.items()
    }


def outcome_of(call: Callable[[], Tensor]) -> str:
    """What a call came to; any other exception ends the run."""
    try:
        result = call()
        if result.requires_grad:
            result.sum().backward()
    except ValueError as error:
        if " must " in str(error):
            return "refused"
        raise
    except RuntimeError as error:
        if any(text in str(error) for text in ("memory", "Storage size calculation overflowed")):
            return "too large for torch"
        raise
    return "computed"


def scalar_calls() -> list[Callable[[], Tensor]]:
    """Arguments that are no tensors."""
    lstm_of, (_, _, times, neighbours) = arguments(lstm), KERNELS
    layer = [[(lstm_of["w"], lstm_of["u"], lstm_of["b"])]]
    in_time, in_sum = arguments(times), arguments(neighbours)
    return [
        *(lambda n=n: COMPILED.sum_neighbours(**in_sum, num_targets=n) for n in (-1, 0, 1, 2, HUGE, 1 << 61)),
        *(lambda p=p: COMPILED.times_and_features(**in_time, longest_period=p) for p in (*FLOATS, -0.0, 1e-320)),
        *(lambda c=c: COMPILED.last_h_mirrored(lstm_of["x"], lstm_of["offset"], layer, c)[0] for c in (-1, 2, 3, HUGE)),
        *(lambda n=n: torch.tensor(COMPILED.peak_gflops(n)) for n in (-1, 0)),
        lambda: COMPILED.last_h(lstm_of["x"], lstm_of["offset"], [])[0],
        lambda: COMPILED.last_h(lstm_of["x"], lstm_of["offset"], [layer[0], []])[0],
        lambda: COMPILED.lstm(lstm_of["x"], lstm_of["offset"], layer, [(lstm_of["h"], lstm_of["c"])] * 2)[0][0],
    ]


def main(folder: Path, num_calls: int) -> None:
    """Make the calls, and print what they came to."""
    assert Path(COMPILED.__file__).parent.samefile(folder), f"{COMPILED.__file__} is not under test"
    torch.set_num_threads(2)
    counted = Counter(outcome_of(call) for call in scalar_calls())
    for seed in range(num_calls):
        choose = random.Random(seed)
        kernel = choose.choice(KERNELS)
        with COMPILED.use_instruction_set(choose.choice(COMPILED.instruction_sets())):
            given = with_gradients(hostile(arguments(kernel), choose), choose)
            counted[outcome_of(partial(kernel, given))] += 1
    print(f"{counted.total()} hostile calls:", ", ".join(f"{count} {name}" for name, count in sorted(counted.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
