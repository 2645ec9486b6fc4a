"""The paper's equations and algorithms as they stand, one event, one neighbour, one node at a time.

Nothing here is fast or batched. A graph is a dict from a node to the list of its neighbours, each with the events of
their common edge. Parameters are read from the model under test; how they are used is written anew.
"""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor

from gtea.nn.batch import Batch
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.encoders.self_attention import SelfAttention
from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.encoders.transformer import TransformerBlock, TransformerEncoder
from gtea.nn.linear import MLP
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.time2vec import Time2Vec

Event = tuple[Tensor, Tensor]
Graph = dict[int, list[tuple[int, list[Event]]]]


def graph_of(batch: Batch) -> tuple[Graph, list[Tensor]]:
    """A batch as a graph and a list of node features."""
    histories = batch.histories
    graph: Graph = {u: [] for u in range(batch.num_within[-1])}
    for u, (neighbours, edges) in enumerate(zip(batch.neighbour.tolist(), batch.edge.tolist(), strict=True)):
        for v, edge in zip(neighbours, edges, strict=True):
            if v >= 0:
                rows = range(int(histories.offset[edge]), int(histories.offset[edge + 1]))
                graph[u].append((v, [(histories.time[row], histories.features[row]) for row in rows]))
    return graph, list(batch.node_features)


def gtea(model: GTEA, graph: Graph, x: list[Tensor], attention: str) -> list[Tensor]:
    """Algorithm 2, line by line: the embeddings of all nodes after the last layer."""
    z = dict(enumerate(x))
    for layer in model.layers:
        assert isinstance(layer, AggregationLayer)
        z_next = {}
        for u in graph:
            e_tilde = {v: edge_embedding(model.edge_encoder, events) for v, events in graph[u]}
            alpha_tilde = {v: attention_logit(model.edge_encoder, events) for v, events in graph[u]}
            alpha = dict(zip(alpha_tilde, NORMALISERS[attention](list(alpha_tilde.values())), strict=True))
            z_nbr = aggregate(layer.mlp_1, [(alpha[v], z[v], e_tilde[v]) for v, _ in graph[u]])
            z_next[u] = update(layer.mlp_2, z[u], z_nbr)
        z = z_next
    return [z[u] for u in graph]


def edge_embedding(encoder: EdgeEncoder, events: list[Event]) -> Tensor:
    """Eq. 1 and 3."""
    return encode(encoder.enc_i, [e_hat(encoder.time2vec, event) for event in events])


def attention_logit(encoder: EdgeEncoder, events: list[Event]) -> Tensor:
    """Eq. 4."""
    h = encode(encoder.enc_a, [e_hat(encoder.time2vec, event) for event in events])
    return dot(encoder.a, h)


def e_hat(module: Time2Vec | None, event: Event) -> Tensor:
    """The event with its time embedding in front."""
    t, f = event
    return f if module is None else torch.cat([time2vec(module, t), f])


def time2vec(module: Time2Vec, t: Tensor) -> Tensor:
    """Eq. 2. The module keeps its frequencies per longest period."""
    omega = [frequency / module.longest_period for frequency in module.omega]
    parts = [omega[0] * t + module.phi[0]]
    parts += [torch.cos(omega[i] * t + module.phi[i]) for i in range(1, len(omega))]
    return torch.stack(parts)


def encode(encoder: SequenceEncoder, events: list[Tensor]) -> Tensor:
    """Enc([e^1, .., e^S]); zeros for no events."""
    if not events:
        return torch.zeros(encoder.d_edge, dtype=torch.float64)
    if isinstance(encoder, LSTMEncoder):
        return lstm(encoder, events)
    if isinstance(encoder, TransformerEncoder):
        return transformer(encoder, events)
    return statistics(events)


def lstm(encoder: LSTMEncoder, events: list[Tensor]) -> Tensor:
    """Appendix 2.1: the hidden output of the last time unit."""
    d = encoder.d_edge
    inputs = events
    for w, u, b in zip(encoder.w, encoder.u, encoder.b, strict=True):
        w_i, w_f, w_c, w_o = (w[gate * d : (gate + 1) * d] for gate in range(4))
        u_i, u_f, u_c, u_o = (u[gate * d : (gate + 1) * d] for gate in range(4))
        b_i, b_f, b_c, b_o = (b[gate * d : (gate + 1) * d] for gate in range(4))
        h = c = torch.zeros(d, dtype=w.dtype)
        outputs = []
        for e in inputs:
            i = torch.sigmoid(w_i @ e + u_i @ h + b_i)
            f = torch.sigmoid(w_f @ e + u_f @ h + b_f)
            c_bar = torch.tanh(w_c @ e + u_c @ h + b_c)
            c = f * c + i * c_bar
            o = torch.sigmoid(w_o @ e + u_o @ h + b_o)
            h = o * torch.tanh(c)
            outputs.append(h)
        inputs = outputs
    return inputs[-1]


def transformer(encoder: TransformerEncoder, events: list[Tensor]) -> Tensor:
    """Appendix 2.1: the last row of the top layer's attention, the mean of its heads."""
    rows = []
    for k, event in enumerate(events):
        position = len(events) - 1 - k
        rows.append(encoder.into.weight @ event + encoder.into.bias + position_encoding(position, encoder.d_edge))
    for block in encoder.below:
        rows = transformer_block(cast(TransformerBlock, block), rows)
    return self_attention(encoder.top, rows)[-1]


def position_encoding(position: int, d: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)); Vaswani et al."""
    angles = [position / 10_000 ** (2 * (j // 2) / d) for j in range(d)]
    waves = [math.cos(angle) if j % 2 else math.sin(angle) for j, angle in enumerate(angles)]
    return torch.tensor(waves, dtype=torch.float64)


def transformer_block(block: TransformerBlock, rows: list[Tensor]) -> list[Tensor]:
    """A layer below the top."""
    asked = self_attention(block.attention, [layer_norm(block.norm_attention, row) for row in rows])
    added = [row + answer for row, answer in zip(rows, asked, strict=True)]
    return [y + mlp(block.feed_forward, layer_norm(block.norm_feed_forward, y)) for y in added]


def layer_norm(norm: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    return norm.weight * (x - mean) / torch.sqrt(variance + norm.eps) + norm.bias


def self_attention(attention: SelfAttention, rows: list[Tensor]) -> list[Tensor]:
    """softmax(Q K^T / sqrt(d_query)) V of every head, and the mean over heads."""
    num_heads = attention.num_heads
    d_query = attention.w_q.shape[1] // num_heads
    answers: list[Any] = []
    for row in rows:
        heads = []
        for head in range(num_heads):
            part = slice(head * d_query, (head + 1) * d_query)
            q = row @ attention.w_q[:, part]
            keys = [other @ attention.w_k[:, part] for other in rows]
            values = [other @ attention.w_v[head] for other in rows]
            weights = softmax([dot(q, k) / math.sqrt(d_query) for k in keys])
            heads.append(sum(weight * value for weight, value in zip(weights, values, strict=True)))
        answers.append(sum(heads) / num_heads)
    return answers


def statistics(events: list[Tensor]) -> Tensor:
    """GTEA_HE: mean, min, max and std of each feature."""
    mean, low, high, std = [], [], [], []
    for values in zip(*events, strict=True):
        average = sum(values) / len(values)
        mean.append(average)
        low.append(min(values))
        high.append(max(values))
        variance = sum((value - average) ** 2 for value in values) / len(values)
        std.append(torch.sqrt(variance) if len(values) > 1 else 0 * average)
    return torch.stack([*mean, *low, *high, *std])


def sparsemax(z: list[Tensor]) -> list[Tensor]:
    """Algorithm 1."""
    if not z:
        return []
    ordered = sorted(z, reverse=True, key=Tensor.item)
    k = max(k for k in range(1, len(z) + 1) if 1 + k * ordered[k - 1] >= sum(ordered[:k]))
    gamma = (sum(ordered[:k]) - 1) / k
    return [torch.clamp(value - gamma, min=0) for value in z]


def softmax(z: list[Tensor]) -> list[Tensor]:
    if not z:
        return []
    largest = max(value.item() for value in z)
    powers = [torch.exp(value - largest) for value in z]
    return [power / sum(powers) for power in powers]


def entmax15(z: list[Tensor]) -> list[Tensor]:
    """The threshold by trying every support size; of those whose members pass their own threshold, the largest."""
    if not z:
        return []
    x = sorted((value / 2 for value in z), reverse=True, key=Tensor.item)
    for k in range(len(x), 0, -1):
        mean = sum(x[:k]) / k
        rest: Any = 1 - sum((value - mean) ** 2 for value in x[:k])
        if rest >= 0 and mean - torch.sqrt(rest / k) <= x[k - 1]:
            tau = mean - torch.sqrt(rest / k)
            break
    return [torch.clamp(value / 2 - tau, min=0) ** 2 for value in z]


NORMALISERS = {"sparsemax": sparsemax, "softmax": softmax, "entmax15": entmax15}


def aggregate(mlp_1: MLP, neighbours: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
    """Eq. 6; zero without neighbours."""
    z_nbr = torch.zeros(mlp_1.out.out_features, dtype=torch.float64)
    for alpha, z_v, e_tilde in neighbours:
        z_nbr = z_nbr + alpha * mlp(mlp_1, torch.cat([z_v, e_tilde]))
    return z_nbr


def update(mlp_2: MLP, z_u: Tensor, z_nbr: Tensor) -> Tensor:
    """Eq. 7."""
    return mlp(mlp_2, torch.cat([z_u, z_nbr]))


def mlp(net: MLP, x: Tensor) -> Tensor:
    hidden = torch.clamp(net.into.weight @ x + net.into.bias, min=0)
    return net.out.weight @ hidden + net.out.bias


def dot(a: Tensor, b: Tensor) -> Tensor:
    return sum((p * q for p, q in zip(a, b, strict=True)), torch.zeros((), dtype=torch.float64))
