"""How fast are histories encoded, compared with padding every history to the longest? Forward and backward.

    python benchmarks/bench_encoders.py --encoder lstm --edges 2000 --json
    python benchmarks/bench_encoders.py --encoder lstm --edges 14000 --threads 2 --skip-padded --json

Runs both encoders, Enc_i and Enc_a, with 64 hidden units on histories of mean length 4 and at most 256 events.
Gradients with respect to the events are included, because the time encoding needs them. Every round draws new lengths
(libraries cache work per shape) and runs each method once, so that load from other processes affects all methods
alike. Results are medians over rounds; a ratio is the median of the ratios of the rounds. Denormals are flushed to
zero for all methods, as in training.

Rivals: "padded" pads to the longest history, "buckets" pads within length buckets. "ours" is what a model uses: the
compiled kernels if installed (GTEA_KERNELS=off disables them). "twin" is the same algorithm in PyTorch.

lstm_peak_share is the share of the machine's fp32 peak that the matrix products of the cells reach: W x, U h, and the
gradients of x, h, W and U. The peak is measured with multiply-adds in registers before and after each round, and the
higher value counts. The first event of a history has no previous h, so its products with U are neither computed nor
counted; lstm_peak_share_all_events counts them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gtea.config import Encoder, ModelConfig
from gtea.nn.edge_encoder import sequence_encoder
from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.encoders.ragged_lstm import LSTMWeights, ragged_lstm
from gtea.nn.kernels import kernels
from gtea.runtime.device import flush_denormals
from rivals.encoders import PaddedLSTM, PaddedTransformer

D_IN, D_EDGE, NUM_HEADS, LONGEST = 24, 64, 4, 256
WARM_UP_EDGES = 100
"""Enough to trigger lazy loading. A full warm-up round of the slow methods would take too long."""
WARM_UP_ROUNDS = 3
"""Full-size warm-up rounds of the kernels, which allocate their workspaces on first use and keep them."""
EncodeBoth = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Runs both encoders over the same events."""
Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "processor": time.process_time}


def draw_lengths(num_edges: int, generator: torch.Generator) -> Tensor:
    """Heavy-tailed lengths with a mean of about 4, at least one of them ``LONGEST``."""
    share = torch.rand(num_edges, generator=generator)
    lengths = (0.9 * (share ** (-1 / 1.2) - 1) + 1).clamp(max=LONGEST).long()
    lengths[0] = LONGEST
    return lengths


def draw_histories(num_edges: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Events, and the offset of each edge's history."""
    lengths = draw_lengths(num_edges, generator)
    offset = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    return torch.randn(int(offset[-1]), D_IN, generator=generator), offset


class BucketLSTM(nn.Module):
    """An LSTM over length buckets, each padded to at most a power of two."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(D_IN, D_EDGE, batch_first=True)

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """The last hidden states."""
        length = offset.diff()
        bucket = (length - 1).double().add(0.5).log2().floor().clamp(min=-1)
        last = e_hat.new_empty(len(length), D_EDGE)
        for selected in (bucket == number for number in set(bucket.tolist())):
            rows, longest = selected.nonzero().squeeze(1), int(length[selected].max())
            position = torch.arange(longest)
            states = self.lstm(e_hat[(offset[:-1][rows][:, None] + position).clamp(max=len(e_hat) - 1)])[0]
            last = last.index_copy(0, rows, states[torch.arange(len(rows)), length[rows] - 1])
        return last


def independent(make: Callable[[], nn.Module]) -> EncodeBoth:
    """Two encoders that run one after the other."""
    enc_i, enc_a = make(), make()
    return lambda e_hat, offset: (enc_i(e_hat, offset), enc_a(e_hat, offset))


def padded(make: Callable[[int, int], nn.Module]) -> EncodeBoth:
    """Two encoders of a rival, which pad to the longest history."""
    enc_i, enc_a = make(D_IN, D_EDGE), make(D_IN, D_EDGE)

    def run(e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        spans = offset[:-1], offset.diff()
        return enc_i(e_hat, *spans), enc_a(e_hat, *spans)

    return run


def ours(encoder: Encoder) -> EncodeBoth:
    """Both encoders, run as the edge encoder runs them."""
    config = ModelConfig(encoder=encoder, d_edge=D_EDGE, num_heads=NUM_HEADS)
    enc_i, enc_a = (sequence_encoder(config, D_IN, torch.Generator().manual_seed(seed)) for seed in (0, 1))
    return lambda e_hat, offset: enc_i.encode_both(enc_a, e_hat, offset)


def twin() -> EncodeBoth:
    """The LSTM in PyTorch, even if the kernels are installed."""
    config = ModelConfig(encoder="lstm", d_edge=D_EDGE)
    encoders = [sequence_encoder(config, D_IN, torch.Generator().manual_seed(seed)) for seed in (0, 1)]

    def run(e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        h = []
        for encoder in encoders:
            assert isinstance(encoder, LSTMEncoder)
            weights = [LSTMWeights(*layer) for layer in zip(encoder.w, encoder.u, encoder.b, strict=True)]
            h.append(ragged_lstm(e_hat, offset, weights, encoder.initial_state(len(offset) - 1)).h[-1])
        return h[0], h[1]

    return run


def methods(encoder: Encoder) -> dict[str, EncodeBoth]:
    """The methods to compare."""
    if encoder == "transformer":
        return {"padded": padded(PaddedTransformer), "ours": ours(encoder)}
    buckets = independent(BucketLSTM)
    return {"padded": padded(PaddedLSTM), "buckets": buckets, "twin": twin(), "ours": ours(encoder)}


def run_once(method: EncodeBoth, e_hat: Tensor, offset: Tensor, clock: Clock) -> float:
    """Seconds for both encoders, forward and backward."""
    e_hat = e_hat.clone().requires_grad_()
    start = clock()
    e_tilde, h = method(e_hat, offset)
    torch.autograd.backward(e_tilde.sum() + h.square().sum())
    return clock() - start


def cell_operations(num_events: int, d_below: int) -> float:
    """Floating-point operations of one encoder's products with d_below inputs: forward, plus twice that backward."""
    return 3.0 * 2 * num_events * 4 * D_EDGE * d_below


def peak_shares(num_edges: int, num_events: int, seconds: float, peak_gflops: float) -> tuple[float, float]:
    """Peak share of the products performed, and as if first events had a previous state too."""
    by_events = cell_operations(num_events, D_IN)
    by_states = [cell_operations(num, D_EDGE) for num in (num_events - num_edges, num_events)]
    performed, all_events = (2 * (by_events + part) / seconds / peak_gflops / 1e9 for part in by_states)
    return performed, all_events


@dataclass(frozen=True)
class Round:
    """One run of every method over the same histories."""

    num_edges: int
    num_events: int
    seconds: dict[str, float]
    peak_gflops: float | None


@flush_denormals()
def run_rounds(encoder: Encoder, num_edges: int, num_rounds: int, skip_padded: bool, clock: Clock) -> list[Round]:
    """Run all methods in turn, after an untimed warm-up."""
    generator = torch.Generator().manual_seed(0)
    compared = {name: method for name, method in methods(encoder).items() if not (skip_padded and name == "padded")}
    compiled = kernels() if encoder == "lstm" else None
    # Processor time sums over all threads, so it is compared with the peak of one thread.
    num_threads = torch.get_num_threads() if clock is time.perf_counter else 1
    for method in compared.values():
        run_once(method, *draw_histories(min(WARM_UP_EDGES, num_edges), generator), clock)
    for _ in range(WARM_UP_ROUNDS if compiled else 0):
        run_once(compared["ours"], *draw_histories(num_edges, generator), clock)
    rounds = []
    for _ in range(num_rounds):
        e_hat, offset = draw_histories(num_edges, generator)
        before = compiled.peak_gflops(num_threads) if compiled else None
        seconds = {name: run_once(method, e_hat, offset, clock) for name, method in compared.items()}
        peak = max(before, compiled.peak_gflops(num_threads)) if compiled and before else None
        rounds.append(Round(num_edges, len(e_hat), seconds, peak))
    return rounds


def median(values: Iterable[float]) -> float:
    """The median, rounded to four significant digits."""
    return float(f"{statistics.median(values):.4g}")


def lstm_results(rounds: list[Round]) -> dict[str, float]:
    """Ratios within each round, and the peak share."""
    results = {}
    if "padded" in rounds[0].seconds:
        results["lstm_speedup"] = median(r.seconds["padded"] / r.seconds["ours"] for r in rounds)
        results["lstm_speedup_pytorch"] = median(r.seconds["padded"] / r.seconds["twin"] for r in rounds)
    results["lstm_over_twin"] = median(r.seconds["twin"] / r.seconds["ours"] for r in rounds)
    peaks = [(r, r.peak_gflops) for r in rounds if r.peak_gflops is not None]
    if peaks:
        shares = [peak_shares(r.num_edges, r.num_events, r.seconds["ours"], peak) for r, peak in peaks]
        results["lstm_peak_share"] = median(performed for performed, _ in shares)
        results["lstm_peak_share_all_events"] = median(all_events for _, all_events in shares)
        results["peak_gflops"] = median(peak for _, peak in peaks)
    return results


def transformer_results(rounds: list[Round]) -> dict[str, float]:
    """The speed-up, from the ratio within each round."""
    if "padded" not in rounds[0].seconds:
        return {}
    return {"transformer_speedup": median(r.seconds["padded"] / r.seconds["ours"] for r in rounds)}


def measure(encoder: Encoder, num_edges: int, num_rounds: int, skip_padded: bool, clock: str) -> dict[str, object]:
    """Run the benchmark. Returns results and a description of the machine."""
    load_before = os.getloadavg()[0]
    rounds = run_rounds(encoder, num_edges, num_rounds, skip_padded, CLOCKS[clock])
    compiled = kernels()
    return {
        "benchmark": "encoders",
        "encoder": encoder,
        "edges": num_edges,
        "mean_length": round(statistics.mean(r.num_events / r.num_edges for r in rounds), 2),
        **{f"{name}_ms": median(1000 * r.seconds[name] for r in rounds) for name in rounds[0].seconds},
        **(lstm_results(rounds) if encoder == "lstm" else transformer_results(rounds)),
        "clock": clock,
        "rounds": num_rounds,
        "threads": torch.get_num_threads(),
        "kernels": compiled.instruction_set() if compiled else None,
        "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "torch": torch.__version__,
    }


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", choices=["lstm", "transformer"], default="lstm")
    parser.add_argument("--edges", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--skip-padded", action="store_true", help="leave out the padded rival, which is slow")
    parser.add_argument(
        "--clock", choices=sorted(CLOCKS), default="wall", help="processor: for a machine with other load"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    result = measure(args.encoder, args.edges, args.rounds, args.skip_padded, args.clock)
    if args.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:26} {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
