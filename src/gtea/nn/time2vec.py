"""Time2Vec: encodes a time as a vector with a linear component and components of many periods."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from gtea.nn.kernels import kernels_for


class Time2Vec(nn.Module):
    """tau(t) of Eq. 2, of size d_time = l + 1, with learnt frequencies and phases.

    tau(t)[0] = omega_0 t + phi_0
    tau(t)[i] = cos(omega_i t + phi_i),  1 <= i <= l

    Here t is in units of the longest period, so omega is in radians per longest period. With t in days, one step of
    Adam with lr 1e-3 would change the phase of an event at day 1,000 by a whole radian. In these units it changes no
    phase within the span of the data by more than about 1e-3.

    Initially, the periods are log-spaced between the shortest and the longest, the phases are uniform over a cycle, and
    the linear component is 0 at the origin and 1 after the longest period.
    """

    def __init__(self, d_time: int, shortest_period: float, longest_period: float, generator: torch.Generator) -> None:
        super().__init__()
        self.longest_period = longest_period
        cycles = torch.logspace(0, math.log10(longest_period / shortest_period), d_time - 1, dtype=torch.float64)
        phases = torch.rand(d_time - 1, generator=generator, dtype=torch.float64)
        self.omega = nn.Parameter(torch.cat([torch.ones(1), 2 * math.pi * cycles]).float())
        self.phi = nn.Parameter(torch.cat([torch.zeros(1), 2 * math.pi * phases]).float())

    def forward(self, t: Tensor) -> Tensor:
        """Map times [num_events] to [num_events, d_time].

        The phase is computed in float64: with a period of a minute, years are millions of radians, and float32 would
        keep no decimals. The cosine lies in [-1, 1] and is returned in the module's precision.
        """
        cycles = t.double() / self.longest_period
        phase = cycles[:, None] * self.omega.double() + self.phi.double()
        return torch.cat([phase[:, :1], phase[:, 1:].cos()], dim=-1).to(self.omega.dtype)

    def concatenate(self, features: Tensor, t: Tensor) -> Tensor:
        """[tau(t) || f], the encoders' input: by the kernels if possible, which agree to 1e-6."""
        compiled = None if t.requires_grad else kernels_for(t, features, self.omega)
        if compiled is None:
            return torch.cat([self(t), features], dim=-1)
        rows: Tensor = compiled.times_and_features(t, features, self.omega, self.phi, self.longest_period)
        return rows
