#include "walk.hpp"

namespace gtea {

std::vector<LayerShape> shapes_of(const Problem& problem, const InstructionSet& isa) {
  std::vector<LayerShape> shapes;
  for (int layer = 0; layer < problem.num_layers; ++layer)
    shapes.emplace_back(layer ? problem.d : problem.d_in, problem.d, isa);
  return shapes;
}

void pass_through(const Problem& problem, const float* from, float* to) {
  for (int64_t edge = 0; edge < problem.num_edges; ++edge) {
    if (problem.offset[edge] != problem.offset[edge + 1]) continue;
    for (int layer = 0; layer < problem.num_layers; ++layer) {
      const int64_t at = (layer * problem.num_edges + edge) * problem.d;
      if (from)
        std::copy_n(from + at, problem.d, to + at);
      else
        std::fill_n(to + at, problem.d, 0.f);
    }
  }
}

void Walk::gather_x(const Window& window, float* to) const {
  const int64_t d_in = problem.d_in, d_in_pad = shapes[0].d_in_pad;
  for (int64_t step = window.first_step; step < window.last_step; ++step) {
    for (int64_t row = 0; row < steps.rows[step]; ++row, to += d_in_pad) {
      const float* const from = problem.x + (problem.offset[edge(row)] + step) * d_in;
      for (int64_t j = 0; j < d_in; ++j) to[j] = from[j];
      for (int64_t j = d_in; j < d_in_pad; ++j) to[j] = 0.f;
    }
  }
}

void Walk::scatter_x(const Window& window, const float* from, bool add, float* to) const {
  const int64_t d_in = problem.d_in, d_in_pad = shapes[0].d_in_pad;
  for (int64_t step = window.first_step; step < window.last_step; ++step) {
    for (int64_t row = 0; row < steps.rows[step]; ++row, from += d_in_pad) {
      float* const out = to + (problem.offset[edge(row)] + step) * d_in;
      if (add)
        for (int64_t j = 0; j < d_in; ++j) out[j] += from[j];
      else
        std::copy(from, from + d_in, out);
    }
  }
}

}  // namespace gtea
