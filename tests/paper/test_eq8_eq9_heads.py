"""Eq. 8: softmax of MLP_3. Eq. 9: sigmoid of the dot product. Heads give the logits of both."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded
from tests.paper import naive
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.config import ModelConfig
from gtea.nn.heads import DotHead, NodeHead

Z = torch.randn(6, 4, generator=seeded(1), dtype=torch.float64)


@both_precisions
def test_node_head(dtype: torch.dtype) -> None:
    head = NodeHead(ModelConfig(d_node=4, d_mlp=5), 3, seeded())
    assert_agrees(
        head,
        lambda quick: quick(Z.to(dtype)).softmax(-1),
        lambda twin: torch.stack([torch.stack(naive.softmax(list(naive.mlp(twin.mlp_3, z)))) for z in Z]),
        dtype,
    )


@both_precisions
def test_link_head(dtype: torch.dtype) -> None:
    u, v = Z[:3], Z[3:]
    expected = torch.stack([1 / (1 + torch.exp(-naive.dot(z_u, z_v))) for z_u, z_v in zip(u, v, strict=True)])
    result = DotHead()(u.to(dtype), v.to(dtype)).sigmoid()
    torch.testing.assert_close(result.double(), expected, atol=1e-5 if dtype == torch.float32 else 1e-10, rtol=0)
