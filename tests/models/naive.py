"""The baselines' published equations as they stand, one neighbour and one node at a time.

A graph is a dict from a node to the list of its neighbours, each with the events of their common edge, as in
``tests.paper.naive``. Parameters are read from the model under test; how they are used is written anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from tests.paper.naive import Event, Graph, dot, mlp, softmax, statistics
from torch import Tensor

from gtea.models.ecconv import ECConv, ECConvLayer
from gtea.models.egnn import EGNN
from gtea.models.gat import GAT, GATLayer
from gtea.models.gcn import GCN, GCNLayer
from gtea.models.graphsage import GraphSAGE, GraphSAGELayer
from gtea.models.tgat import TGAT, FunctionalTime, TGATLayer
from gtea.nn.batch import EventBatch

Neighbours = list[tuple[int, list[Event]]]


def layers(
    model: Any, graph: Graph, x: list[Tensor], renew: Callable[..., Tensor], activation: Callable[[Tensor], Tensor]
) -> list[Tensor]:
    """Every node anew in every layer, with an activation between."""
    h = dict(enumerate(x))
    for depth, layer in enumerate(model.layers):
        if depth:
            h = {u: activation(row) for u, row in h.items()}
        h = {u: renew(layer, u, graph[u], h) for u in graph}
    return [h[u] for u in graph]


def relu(row: Tensor) -> Tensor:
    return torch.clamp(row, min=0)


def elu(row: Tensor) -> Tensor:
    return torch.stack([value if value > 0 else torch.exp(value) - 1 for value in row])


def leaky_relu(value: Tensor) -> Tensor:
    return value if value > 0 else 0.2 * value


def linear(layer: torch.nn.Linear, row: Tensor) -> Tensor:
    return layer.weight @ row + layer.bias


def gcn(model: GCN, graph: Graph, x: list[Tensor], degree: list[int]) -> list[Tensor]:
    """Kipf and Welling: h'_u = W sum_{v in N(u) + u} h_v / sqrt(d_u d_v) + b; the sampled sum scaled up."""

    def renew(layer: GCNLayer, u: int, neighbours: Neighbours, h: dict[int, Tensor]) -> Tensor:
        total = h[u] / (degree[u] + 1)
        for v, _ in neighbours:
            scale = degree[u] / len(neighbours)
            total = total + scale * h[v] / math.sqrt((degree[u] + 1) * (degree[v] + 1))
        return linear(layer.map, total)

    return layers(model, graph, x, renew, relu)


def graphsage(model: GraphSAGE, graph: Graph, x: list[Tensor]) -> list[Tensor]:
    """Hamilton et al., Algorithm 1: h'_u = W [h_u || mean(h_v)] + b."""

    def renew(layer: GraphSAGELayer, u: int, neighbours: Neighbours, h: dict[int, Tensor]) -> Tensor:
        mean = sum((h[v] for v, _ in neighbours), torch.zeros_like(h[u])) / max(1, len(neighbours))
        return linear(layer.map, torch.cat([h[u], mean]))

    return layers(model, graph, x, renew, relu)


def gat(model: GAT, graph: Graph, x: list[Tensor]) -> list[Tensor]:
    """Velickovic et al., Eq. 3 to 6."""

    def renew(layer: GATLayer, u: int, neighbours: Neighbours, h: dict[int, Tensor]) -> Tensor:
        heads = []
        for w, a_1, a_2 in zip(layer.w, layer.a_target, layer.a_neighbour, strict=True):
            company = [h[u], *(h[v] for v, _ in neighbours)]
            logits = [leaky_relu(dot(a_1, h[u] @ w) + dot(a_2, row @ w)) for row in company]
            alpha = softmax(logits)
            heads.append(sum(weight * (row @ w) for weight, row in zip(alpha, company, strict=True)))
        return (sum(heads) / len(heads) if layer.last else torch.cat(heads)) + layer.bias

    return layers(model, graph, x, renew, elu)


def edge_statistics(events: list[Event], width: int) -> Tensor:
    return statistics([f for _, f in events]) if events else torch.zeros(width, dtype=torch.float64)


def ecconv(model: ECConv, graph: Graph, x: list[Tensor]) -> list[Tensor]:
    """Simonovsky and Komodakis, Eq. 1, with a matrix of its own for the node itself."""

    def renew(layer: ECConvLayer, u: int, neighbours: Neighbours, h: dict[int, Tensor]) -> Tensor:
        total = torch.zeros(len(layer.root.bias), dtype=torch.float64)
        for v, events in neighbours:
            hidden = relu(linear(layer.into, edge_statistics(events, model.statistics.d_edge)))
            matrix = linear(layer.filter, hidden).reshape(len(layer.root.bias), len(h[v]))
            total = total + matrix @ h[v] / len(neighbours)
        return linear(layer.root, h[u]) + total

    return layers(model, graph, x, renew, relu)


def egnn(model: EGNN, graph: Graph, x: list[Tensor]) -> list[Tensor]:
    """Gong and Cheng, Eq. 5 to 8, normalised by rows; E of the next layer is alpha of this one."""
    channels = range(model.statistics.d_edge)
    e = {
        u: [torch.ones(len(channels), dtype=torch.float64)]
        + [1 / (1 + torch.exp(-edge_statistics(events, len(channels)))) for _, events in neighbours]
        for u, neighbours in graph.items()
    }
    h: dict[int, Tensor] = dict(enumerate(x))
    stack: Any = model.layers
    for depth, layer in enumerate(stack):
        if depth:
            h = {u: elu(row) for u, row in h.items()}
        renewed: dict[int, Tensor] = {}
        for u, neighbours in graph.items():
            rows = [h[u] @ layer.w, *(h[v] @ layer.w for v, _ in neighbours)]
            f = [torch.exp(leaky_relu(dot(layer.a_target, rows[0]) + dot(layer.a_neighbour, row))) for row in rows]
            sums: list[Any] = []
            alpha = [torch.zeros(len(channels), dtype=torch.float64) for _ in rows]
            for p in channels:
                weights = [f[k] * e[u][k][p] for k in range(len(rows))]
                share = [weight / sum(weights) for weight in weights]
                sums.append(sum(part * row for part, row in zip(share, rows, strict=True)))
                alpha = [torch.cat([a[:p], s[None], a[p + 1 :]]) for a, s in zip(alpha, share, strict=True)]
            e[u] = alpha
            renewed[u] = (sum(sums) / len(sums) if layer.last else torch.cat(sums)) + layer.bias
        h = renewed
    return [h[u] for u in graph]


def phi(time: FunctionalTime, t: Tensor) -> Tensor:
    """Xu et al., Eq. 5."""
    waves = []
    for omega in time.omega:
        waves += [torch.cos(omega / time.longest_period * t), torch.sin(omega / time.longest_period * t)]
    return torch.stack(waves) / math.sqrt(len(time.omega))


def tgat(model: TGAT, batch: EventBatch) -> list[Tensor]:
    """Xu et al., Eq. 6 to 9, by recursion: each query asks its own events anew."""
    return [tgat_state(model, batch, seed, len(model.layers)) for seed in range(batch.num_within[0])]


def tgat_state(model: TGAT, batch: EventBatch, query: int, depth: int) -> Tensor:
    x = batch.node_features[query].double()
    if depth == 0:
        return x
    d_event = batch.event_features.shape[-1]
    nothing = torch.zeros(d_event, dtype=torch.float64)
    now = phi(model.time, torch.zeros((), dtype=torch.float64))
    z_0 = torch.cat([tgat_state(model, batch, query, depth - 1), nothing, now])
    z = []
    for place, reached in enumerate(batch.reached[query].tolist()):
        if reached >= 0:
            other = tgat_state(model, batch, reached, depth - 1)
            age = phi(model.time, batch.age[query, place].double())
            z.append(torch.cat([other, batch.event_features[query, place].double(), age]))
    return tgat_layer(cast(TGATLayer, model.layers[depth - 1]), z_0, z, x)


def tgat_layer(layer: TGATLayer, z_0: Tensor, z: list[Tensor], x: Tensor) -> Tensor:
    d_head = layer.w_q.shape[1] // layer.num_heads
    heads = []
    for head in range(layer.num_heads):
        part = slice(head * d_head, (head + 1) * d_head)
        q = z_0 @ layer.w_q[:, part]
        alpha = softmax([dot(q, row @ layer.w_k[:, part]) / math.sqrt(d_head) for row in z])
        start = torch.zeros(d_head, dtype=torch.float64)
        heads.append(sum((a * (row @ layer.w_v[:, part]) for a, row in zip(alpha, z, strict=True)), start))
    return mlp(layer.ffn, torch.cat([*heads, x]))
