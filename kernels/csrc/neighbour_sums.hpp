// A layer's sums over neighbours, sum of alpha relu(from_node + W e), without holding anything as long as all slots.
#pragma once

#include "lstm.hpp"

namespace gtea {

// W is [d_hidden, d_edge], as all.weights would be if they were not packed; all.total must hold what is added to. The
// calling thread does it all, slot by slot: who asks for many targets has a thread for each run of them.
void sum_neighbours(NeighbourSums all, const InstructionSet& isa);

}  // namespace gtea
