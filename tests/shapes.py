"""Shapes, checked throughout the test run.

Fields of ``gtea.nn.batch`` say their type and shape in a comment: ``offset: Tensor  # int64 [num_edges + 1]``. Here the
comments are read and every instance that any test makes is checked against them; a name in a shape must have one size
within an instance. Outputs of the network's modules are checked against their inputs by a global forward hook.

Why not jaxtyping: see docs/decisions/0028-shapes.md.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gtea.nn import batch as batch_module
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.heads import LinkHead, NodeHead
from gtea.nn.model import GTEA, AggregationLayer
from gtea.nn.normalisers import Normaliser
from gtea.nn.time2vec import Time2Vec

_COMMENT = re.compile(r"^\s+(\w+): Tensor.*#\s*(?:(int64|float32|bool) )?\[((?:[^\[\]]|\[[^\]]*\])*)\]")
_SUM = re.compile(r"(\w+) \+ (\d+)")
_DTYPES = {"int64": torch.int64, "float32": torch.float32, "bool": torch.bool}
Spec = dict[str, tuple[str | None, list[str]]]


def specs() -> dict[type, Spec]:
    """The commented fields of every class of ``gtea.nn.batch``."""
    found: dict[type, Spec] = {}
    source = inspect.getsource(batch_module)
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            matches = [match for line in lines[node.lineno : node.end_lineno] if (match := _COMMENT.match(line))]
            spec = {m[1]: (m[2], [part.strip() for part in _split(m[3])]) for m in matches}
            if spec:
                found[getattr(batch_module, node.name)] = spec
    return found


def _split(shape: str) -> list[str]:
    """Parts between commas outside brackets."""
    return re.split(r",\s*(?![^\[]*\])", shape) if shape else []


def check(instance: Any, spec: Spec) -> None:
    """Assert that every tensor has the type and shape that its comment says."""
    within = getattr(instance, "num_within", None)
    sizes: dict[str, Any] = {} if within is None else {"num_within": within, "L": len(within) - 1}
    for name, (dtype, dims) in spec.items():
        tensor = getattr(instance, name)
        if not isinstance(tensor, Tensor):
            continue
        where = f"{type(instance).__name__}.{name} {tuple(tensor.shape)}, must be {dims}"
        if dtype == "int64" or dtype == "bool":
            assert tensor.dtype == _DTYPES[dtype], f"{where}: is {tensor.dtype}"
        if ".." in dims:
            dims, shape = dims[: dims.index("..")], tensor.shape[: dims.index("..")]
        else:
            shape = tensor.shape
        assert len(shape) == len(dims), where
        for size, dim in zip(shape, dims, strict=True):
            assert size == _expected(dim, sizes, size), f"{where}: {dim} is {_expected(dim, sizes, size)}"


def _expected(dim: str, sizes: dict[str, Any], size: int) -> int:
    """The size that a dimension must have; a new name takes the size that it is first seen with."""
    match = _SUM.fullmatch(dim)
    if dim.isidentifier() and dim not in sizes:
        sizes[dim] = size
    elif match and match[1] not in sizes:
        sizes[match[1]] = size - int(match[2])
    return int(eval(dim, {}, sizes))


def install() -> None:
    """Check every instance and every module's output from now on."""
    for kind, spec in specs().items():
        kind.__init__ = _checked(kind.__init__, spec)  # type: ignore[misc]
    nn.modules.module.register_module_forward_hook(_check_output)


def _checked(initialise: Callable[..., None], spec: Spec) -> Callable[..., None]:
    @functools.wraps(initialise)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        initialise(self, *given, **named)
        check(self, spec)

    return checked


def _check_output(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
    match module:
        case EdgeEncoder():
            num_edges = inputs[0].num_edges
            assert [tuple(part.shape) for part in output] == [(num_edges, module.d_edge), (num_edges,)]
        case SequenceEncoder():
            assert output.shape == (len(inputs[1]) - 1, module.d_edge)
        case Time2Vec():
            assert output.shape == (*inputs[0].shape, len(module.omega))
        case AggregationLayer():
            assert output.shape == (len(inputs[0]), module.mlp_2.out.out_features)
        case GTEA():
            assert output.shape[0] == inputs[0].num_within[0]
        case Normaliser():
            assert output.shape == inputs[0].shape
        case NodeHead():
            assert output.shape == (len(inputs[0]), module.mlp_3.out.out_features)
        case LinkHead():
            assert output.shape == (len(inputs[0]),)
