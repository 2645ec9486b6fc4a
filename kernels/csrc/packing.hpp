// Weights in the order in which the vector code reads them, and weight gradients back into the usual order.
#pragma once

#include "instruction_set.hpp"
#include "lstm.hpp"

namespace gtea {

// The sizes of one layer. Hidden units and columns are padded to whole vectors. The weights of padding units are zero,
// so their h and c stay zero and have no effect.
struct LayerShape {
  LayerShape(int64_t d_in, int64_t d, const InstructionSet& isa);

  int64_t width, group, d_in, d;
  int64_t num_blocks;      // of hidden units
  int64_t d_pad;           // num_blocks * width
  int64_t d_in_pad;
  int64_t num_gates;       // 4 * d_pad

  int64_t num_forward() const { return (d_in + d) * num_gates; }
  int64_t num_sums() const { return num_gates * (d_in + d + 1); }

  // The index of gate `gate` (0 to 3) of hidden unit `unit` in a row of gates.
  int64_t place(int64_t gate, int64_t unit) const {
    return unit / width * 4 * width + gate * width + unit % width;
  }
};

// For StepForward: weights and bias, multiplied by GATE_FACTORS.
void pack_forward(const LayerShape& shape, const LayerWeights& from, float* weights, float* bias);

// For PanelsTimesWeights: a matrix [4 d, columns].
void pack_backward(const LayerShape& shape, const float* from, int64_t columns, int64_t columns_pad, float* to);

// Adds up the tasks' sums of WeightGradient, always in the same order, into a matrix [4 d, columns].
void unpack_sums(const LayerShape& shape, const float* sums, int64_t num_tasks, int64_t task_stride, int64_t columns,
                 float* to);

}  // namespace gtea
