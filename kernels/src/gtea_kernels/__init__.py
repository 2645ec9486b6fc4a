"""The inner loops of gtea, compiled: they read histories of different lengths without padding; float32 on CPUs.

``lstm`` runs several encoders of one shape over the same events in one call and has gradients for the parameters, the
events and the first states; ``attend_last`` is the top layer of a Transformer; ``times_and_features`` computes the rows
that both read; ``sum_neighbours`` is a layer's aggregation over a whole graph. gtea works without this package: each
function has an equivalent in PyTorch there (``gtea.nn.encoders.ragged_lstm``, ``gtea.nn.encoders.self_attention``,
``gtea.nn.time2vec``, ``gtea.nn.full_graph``) that agrees to 1e-5.

The machine's best instruction set is chosen at run time. The same machine, thread count and input give the same bytes,
and the result for one edge does not depend on the other edges in its batch.
"""

from gtea_kernels.attention import attend_last
from gtea_kernels.instructions import instruction_set, instruction_sets, peak_gflops, use_instruction_set
from gtea_kernels.lstm import last_h, last_h_mirrored, lstm
from gtea_kernels.neighbours import sum_neighbours
from gtea_kernels.times import times_and_features

INTERFACE = 2
"""Goes up whenever a function is added or changes its meaning: gtea uses the interface that it was written for."""

__all__ = [
    "INTERFACE",
    "attend_last",
    "instruction_set",
    "instruction_sets",
    "last_h",
    "last_h_mirrored",
    "lstm",
    "peak_gflops",
    "sum_neighbours",
    "times_and_features",
    "use_instruction_set",
]
