#include "packing.hpp"

#include <algorithm>

namespace gtea {
namespace {

int64_t whole(int64_t size, int64_t width) { return (size + width - 1) / width * width; }

}  // namespace

LayerShape::LayerShape(int64_t d_in, int64_t d, const InstructionSet& isa)
    : width(isa.width),
      group(isa.column_group * isa.width),
      d_in(d_in),
      d(d),
      num_blocks(whole(d, width) / width),
      d_pad(whole(d, width)),
      d_in_pad(whole(d_in, width)),
      num_gates(4 * d_pad) {}

void pack_forward(const LayerShape& s, const LayerWeights& from, float* weights, float* bias) {
  const int64_t panel = 4 * s.width;
  std::fill_n(weights, s.num_forward(), 0.f);
  std::fill_n(bias, s.num_gates, 0.f);
  for (int64_t gate = 0; gate < 4; ++gate) {
    const float factor = GATE_FACTORS[gate];
    for (int64_t unit = 0; unit < s.d; ++unit) {
      const int64_t row = gate * s.d + unit, block = unit / s.width, lane = s.place(gate, unit) % panel;
      float* const to = weights + block * (s.d_in + s.d) * panel + lane;
      for (int64_t k = 0; k < s.d_in; ++k) to[k * panel] = factor * from.w[row * s.d_in + k];
      for (int64_t k = 0; k < s.d; ++k) to[(s.d_in + k) * panel] = factor * from.u[row * s.d + k];
      bias[block * panel + lane] = factor * from.b[row];
    }
  }
}

void pack_backward(const LayerShape& s, const float* from, int64_t columns, int64_t columns_pad, float* to) {
  std::fill_n(to, s.num_gates * columns_pad, 0.f);
  for (int64_t gate = 0; gate < 4; ++gate) {
    for (int64_t unit = 0; unit < s.d; ++unit) {
      const float* const row = from + (gate * s.d + unit) * columns;
      for (int64_t first = 0; first < columns; first += s.group) {
        const int64_t group = std::min(s.group, columns_pad - first);
        std::copy(row + first, row + std::min(first + group, columns),
                  to + first * s.num_gates + s.place(gate, unit) * group);
      }
    }
  }
}

void unpack_sums(const LayerShape& s, const float* sums, int64_t num_tasks, int64_t task_stride, int64_t columns,
                 float* to) {
  const int64_t panel = 4 * s.width;
  std::vector<float> total(panel);
  for (int64_t block = 0; block < s.num_blocks; ++block) {
    for (int64_t j = 0; j < columns; ++j) {
      const float* const from = sums + (block * columns + j) * panel;
      std::copy(from, from + panel, total.begin());
      for (int64_t task = 1; task < num_tasks; ++task)
        for (int64_t lane = 0; lane < panel; ++lane) total[lane] += from[task * task_stride + lane];
      for (int64_t lane = 0; lane < panel; ++lane) {
        const int64_t gate = lane / s.width, unit = block * s.width + lane % s.width;
        if (unit < s.d) to[(gate * s.d + unit) * columns + j] = total[lane];
      }
    }
  }
}

}  // namespace gtea
