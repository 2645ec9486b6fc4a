// LSTMs over histories of different lengths without padding: forward, and backward to weights, events and first states.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "instruction_set.hpp"
#include "plan.hpp"

namespace gtea {

struct LayerWeights {
  const float* w;  // [4 d, d_in], gates i, f, c, o
  const float* u;  // [4 d, d]
  const float* b;  // [4 d]
};

struct LayerGradients {
  float* w;
  float* u;
  float* b;
};

// Several encoders of one shape over the same events. An edge's history is its events in order.
struct Problem {
  int64_t num_edges, d_in, d;
  int num_encoders, num_layers;
  const int64_t* offset;              // edge i owns rows offset[i] : offset[i + 1] of x
  const float* x;                     // [num_events, d_in]
  std::vector<LayerWeights> weights;  // encoder by encoder, layer by layer
  std::vector<const float*> h, c;     // first states, [num_layers, num_edges, d] for each encoder; or empty for zeros
  int64_t mirror = -1;                // column of x, or -1: each encoder runs a second time with this column negated

  int num_results() const { return mirror < 0 ? num_encoders : 2 * num_encoders; }
};

// Runs task(0) .. task(num_tasks - 1), in parallel if possible.
using Runner = std::function<void(int num_tasks, const std::function<void(int)>& task)>;

// The number of floats that a forward pass saves for its backward pass.
int64_t num_saved(const Problem& problem, const Plan& plan, const InstructionSet& isa);

// The states after each edge's last event; for an edge without events, its first state. Pointers in c_out may be null
// if c is not wanted. With saved null (inference), only the current state is held, and memory does not grow with the
// number of events. A problem with a mirror must have no first states and saved null; its results are those of all
// encoders, followed by those of all encoders with the column negated.
void forward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run, float* saved,
             const std::vector<float*>& h_out, const std::vector<float*>& c_out);

struct Gradients {
  std::vector<const float*> h_out, c_out;  // in, per encoder; null for zeros; at least one is not null
  std::vector<LayerGradients> weights;     // out, as in Problem
  float* x = nullptr;                      // out, or null if not wanted; rows that no edge owns are not written
  std::vector<float*> h, c;                // out, per encoder; or empty if not wanted

  // An encoder whose results were not used is skipped; the gradients of its weights are zero.
  bool reach(int encoder) const { return h_out[encoder] || c_out[encoder]; }
};

// `saved` must come from a forward pass with the same plan and instruction set; it is not changed.
void backward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run,
              const float* saved, const Gradients& gradients);

// The rate of fused multiply-adds in registers, in 10^9 floating-point operations per second.
double peak_gflops(const InstructionSet& isa, const Runner& run, int num_threads);

}  // namespace gtea
