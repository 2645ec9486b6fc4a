"""The inner loops of gtea, compiled: what reads histories of all lengths without padding; float32 on CPUs.

``lstm`` runs encoders of one shape over the same events in one call and has gradients by the parameters, the events and
the first states; ``attend_last`` is the top layer of a Transformer; ``times_and_features`` makes the events that both
read; ``sum_neighbours`` is what a layer sums up over a whole graph. gtea works without this package: each has a twin in
PyTorch there (``gtea.nn.encoders.ragged_lstm``, ``gtea.nn.encoders.self_attention``, ``gtea.nn.time2vec``,
``gtea.nn.full_graph``), which says the same to 1e-5.

The machine's best instruction set is found at run time. The same machine, thread count and input give the same bytes,
and a history's result doesn't depend on the others in its batch, not by a bit.
"""

from gtea_kernels.attention import attend_last
from gtea_kernels.instructions import instruction_set, instruction_sets, peak_gflops, use_instruction_set
from gtea_kernels.lstm import last_h, last_h_mirrored, lstm
from gtea_kernels.neighbours import sum_neighbours
from gtea_kernels.times import times_and_features

INTERFACE = 2
"""Goes up whenever a function is added or means something else: gtea uses the interface that it was written for."""

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
