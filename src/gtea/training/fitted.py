"""A fitted model: the network and the preprocessing that it was fitted with."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from torch import nn

from gtea.features.preprocessing import Preprocessing

Network = TypeVar("Network", bound=nn.Module)


class Fitted(NamedTuple, Generic[Network]):
    """A network that has been fitted, and what makes its inputs."""

    network: Network
    preprocessing: Preprocessing
