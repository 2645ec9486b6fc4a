#include "neighbour_sums.hpp"

#include <algorithm>

#include "memory_pool.hpp"

namespace gtea {

void sum_neighbours(NeighbourSums all, const InstructionSet& isa) {
  const int64_t width = isa.width, group = isa.column_group * width;
  const int64_t d_pad = (all.d_hidden + width - 1) / width * width;
  const Buffer packed = borrow(d_pad * all.d_edge);
  std::fill_n(packed.get(), d_pad * all.d_edge, 0.f);
  for (int64_t first = 0; first < all.d_hidden; first += group) {
    const int64_t columns = std::min(group, d_pad - first);
    for (int64_t unit = first; unit < std::min(first + group, all.d_hidden); ++unit)
      for (int64_t k = 0; k < all.d_edge; ++k)
        packed[first * all.d_edge + k * columns + unit - first] = all.weights[unit * all.d_edge + k];
  }
  all.weights = packed.get();
  isa.sum_neighbours(all);
}

}  // namespace gtea
