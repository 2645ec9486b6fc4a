// The last event of each edge attends to all events of the edge: softmax(q k^T) e per head, without padding.
#pragma once

#include "lstm.hpp"

namespace gtea {

// out [num_edges, num_heads, d]; weights [num_events, num_heads] are needed for the backward pass.
void attend_last(const LastAttention& all, const InstructionSet& isa, const Runner& run, float* weights, float* out);

void attend_last_backward(const LastAttention& all, const InstructionSet& isa, const Runner& run, const float* weights,
                          const float* dout, float* dq, float* dk, float* de);

}  // namespace gtea
