// A layer's aggregation over neighbours, sum of alpha relu(from_node + W e), without temporary arrays over all slots.
#pragma once

#include "lstm.hpp"

namespace gtea {

// all.weights is W unpacked, [d_hidden, d_edge]; results are added to all.total. Single-threaded, in the order of the
// slots: callers parallelise over ranges of targets.
void sum_neighbours(NeighbourSums all, const InstructionSet& isa);

}  // namespace gtea
