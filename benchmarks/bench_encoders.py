"""How fast are histories encoded, against padding every history to the longest? Forward and backward.

python benchmarks/bench_encoders.py --encoder lstm --edges 2000 --json

Both encoders, Enc_i and Enc_a, hidden 64, on histories of mean length 4 and at most 256 events; gradients by the events
too, which the time encoding needs. Every round has new lengths (libraries cache what they prepare for a shape) and runs
each way once, so that a busy machine slows all of them alike. The median is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from gtea.config import Encoder, ModelConfig
from gtea.nn.edge_encoder import sequence_encoder
from gtea.nn.encoders.positions import encode_positions
from gtea.nn.encoders.sequence_encoder import SequenceEncoder

D_IN, D_EDGE, NUM_HEADS, LONGEST = 24, 64, 4, 256
Way = Callable[[Tensor, Tensor], Tensor]


def draw_lengths(num_edges: int, generator: torch.Generator) -> Tensor:
    """Heavy-tailed, mean about 4, one of them the longest."""
    share = torch.rand(num_edges, generator=generator)
    lengths = (0.9 * (share ** (-1 / 1.2) - 1) + 1).clamp(max=LONGEST).long()
    lengths[0] = LONGEST
    return lengths


def padded_table(e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    """All histories as a table [num_edges, longest, d_in], and which of it is real."""
    length = offset.diff()
    place = torch.arange(int(length.max()))
    mask = place < length[:, None]
    return e_hat[(offset[:-1, None] + place) * mask], mask


class PaddedLSTM(nn.Module):
    """What research code does: torch's LSTM over the whole table, then the last real step of each row."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(D_IN, D_EDGE, batch_first=True)

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """The last hidden states."""
        table, _ = padded_table(e_hat, offset)
        states: Tensor = self.lstm(table)[0]
        return states[torch.arange(len(table)), offset.diff() - 1]


class BucketLSTM(nn.Module):
    """The same over length buckets, each padded to a power of two at most."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(D_IN, D_EDGE, batch_first=True)

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """The last hidden states."""
        length = offset.diff()
        kind = (length - 1).double().add(0.5).log2().floor().clamp(min=-1)
        last = e_hat.new_empty(len(length), D_EDGE)
        for some in (kind == k for k in set(kind.tolist())):
            rows, longest = some.nonzero().squeeze(1), int(length[some].max())
            place = torch.arange(longest)
            states = self.lstm(e_hat[(offset[:-1][rows][:, None] + place).clamp(max=len(e_hat) - 1)])[0]
            last = last.index_copy(0, rows, states[torch.arange(len(rows)), length[rows] - 1])
        return last


class PaddedTransformer(nn.Module):
    """One layer over the whole table: every event, real or not, asks every other."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(D_IN, D_EDGE)
        self.project = nn.Linear(D_EDGE, 2 * D_EDGE + NUM_HEADS * D_EDGE, bias=False)

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """The rows of the last events."""
        table, mask = padded_table(e_hat, offset)
        e = self.into(table) + encode_positions(torch.arange(table.shape[1]), D_EDGE, e_hat.dtype)
        q, k, v = self.project(e).split([D_EDGE, D_EDGE, NUM_HEADS * D_EDGE], dim=-1)
        q, k, v = (part.unflatten(-1, (NUM_HEADS, -1)).transpose(1, 2) for part in (q, k, v))
        asked = scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :]).mean(1)
        return asked[torch.arange(len(table)), offset.diff() - 1]


def ways(encoder: Encoder) -> dict[str, Callable[[], nn.Module]]:
    """What is compared: the ways to run one encoder."""

    def ours() -> SequenceEncoder:
        config = ModelConfig(encoder=encoder, d_edge=D_EDGE, num_heads=NUM_HEADS)
        return sequence_encoder(config, D_IN, torch.Generator().manual_seed(0))

    if encoder == "transformer":
        return {"padded": PaddedTransformer, "ours": ours}
    return {"padded": PaddedLSTM, "buckets": BucketLSTM, "ours": ours}


def run_once(enc_i: nn.Module, enc_a: nn.Module, e_hat: Tensor, offset: Tensor) -> float:
    """Seconds for both encoders, forward and backward."""
    e_hat = e_hat.clone().requires_grad_()
    start = time.perf_counter()
    (enc_i(e_hat, offset).sum() + enc_a(e_hat, offset).square().sum()).backward()
    return time.perf_counter() - start


def measure(encoder: Encoder, num_edges: int, num_rounds: int, skip_padded: bool) -> dict[str, object]:
    """Run all ways in turn, after one round that doesn't count."""
    generator = torch.Generator().manual_seed(0)
    modules = {name: (make(), make()) for name, make in ways(encoder).items() if not (skip_padded and name == "padded")}
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    mean_lengths = []
    for count in range(num_rounds + 1):
        lengths = draw_lengths(num_edges, generator)
        offset = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        e_hat = torch.randn(int(offset[-1]), D_IN, generator=generator)
        mean_lengths.append(float(lengths.double().mean()))
        for name, (enc_i, enc_a) in modules.items():
            elapsed = run_once(enc_i, enc_a, e_hat, offset)
            if count:
                seconds[name].append(elapsed)
    return {
        "benchmark": "encoders",
        "encoder": encoder,
        "edges": num_edges,
        "mean_length": round(statistics.mean(mean_lengths), 2),
        **{f"{name}_ms": round(1000 * statistics.median(times), 1) for name, times in seconds.items()},
        "rounds": num_rounds,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "torch": torch.__version__,
    }


def main() -> None:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", choices=["lstm", "transformer"], default="lstm")
    parser.add_argument("--edges", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--skip-padded", action="store_true", help="leave out the slow way")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    result = measure(args.encoder, args.edges, args.rounds, args.skip_padded)
    if args.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:12} {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
