"""The largest tensor that a piece of code makes, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LargestTensor(TorchDispatchMode):
    """While active, ``num_entries`` follows the largest result of any operation; views that cost nothing aside."""

    num_entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and leaf.is_contiguous():
                self.num_entries = max(self.num_entries, leaf.numel())
        return result


def largest_tensor(work: Any) -> int:
    """Run ``work``, sum up what it returns, go back, and say how many entries the largest tensor had."""
    with LargestTensor() as seen:  # type: ignore[no-untyped-call]
        total: Tensor = work().sum()
        torch.autograd.backward(total)
    return int(seen.num_entries)
