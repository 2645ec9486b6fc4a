"""Tensors that may be handed to C: of the right type, device and shape, and contiguous.

The library trusts the sizes it is given. Each function here raises ValueError for a tensor that would make it read or
write out of bounds. Pointers don't keep a tensor alive: hold on to what is returned until the call is over.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

import torch
from torch import Tensor

from gtea_kernels import library
from gtea_kernels.library import Pointers

_WRITABLE = 0x200  # PyBUF_WRITE
_memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
_memory_view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
_memory_view.restype = ctypes.py_object


def floats(tensor: Tensor, name: str, shape: tuple[int, ...]) -> Tensor:
    """The tensor, or a contiguous copy."""
    if tensor.dtype is not torch.float32 or not tensor.is_cpu:
        raise ValueError(f"{name} must be float32 on the CPU (got {tensor.dtype} on {tensor.device})")
    if tensor.shape != shape:
        raise ValueError(f"{name} must have the shape {list(shape)} (got {list(tensor.shape)})")
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def integers(tensor: Tensor, name: str, size: int | None = None) -> Tensor:
    """Of one dimension; the tensor, or a contiguous copy."""
    if tensor.dtype is not torch.int64 or not tensor.is_cpu or tensor.dim() != 1 or size not in (None, tensor.numel()):
        found = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}"
        raise ValueError(f"{name} must be int64 [{'' if size is None else size}] on the CPU (got {found})")
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def offsets(offset: Tensor) -> Tensor:
    """[num_edges + 1]. That they don't decrease and end within the events is checked in C."""
    offset = integers(offset, "offset")
    if not offset.numel():
        raise ValueError("offset must have num_edges + 1 entries (got none)")
    return offset


def require_dimensions(name: str, tensor: Tensor, number: int) -> None:
    """Before sizes are read from a shape."""
    if tensor.dim() != number:
        raise ValueError(f"{name} must have {number} dimensions (got the shape {list(tensor.shape)})")


def pointers(tensors: Sequence[Tensor | None]) -> Pointers:
    """Null for None."""
    addresses = [None if tensor is None else tensor.data_ptr() for tensor in tensors]
    return (ctypes.c_void_p * len(addresses))(*addresses)


def from_pool(address: int, num_floats: int) -> Tensor:
    """A tensor of the library's memory, which takes it back when the last tensor that shares it is gone."""
    if not num_floats:
        library.release(address)
        return torch.empty(0)
    view = _memory_view(address, 4 * num_floats, _WRITABLE)
    weakref.finalize(view, library.release, address).atexit = False
    return torch.frombuffer(view, dtype=torch.float32)
