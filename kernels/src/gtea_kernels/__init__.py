"""The LSTM encoder of gtea, compiled: histories of all lengths at once, without padding, float32 on CPUs.

``lstm`` runs encoders of one shape over the same events in one call and has gradients by the parameters, the events and
the first states. gtea works without this package; ``gtea.nn.encoders.ragged_lstm`` is its twin in PyTorch and says the
same to 1e-5.

The machine's best instruction set is found at run time. The same machine, thread count and input give the same bytes,
and a history's result doesn't depend on the others in its batch, not by a bit.
"""

from gtea_kernels.lstm import instruction_set, instruction_sets, lstm, peak_gflops, use_instruction_set

__all__ = ["instruction_set", "instruction_sets", "lstm", "peak_gflops", "use_instruction_set"]
