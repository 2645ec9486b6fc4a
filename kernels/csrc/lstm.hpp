// LSTMs over histories of all lengths at once, without padding: forward, and back to weights, events and first state.
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

// Encoders of one shape that read the same events.
struct Problem {
  int64_t num_edges, d_in, d;
  int num_encoders, num_layers;
  const int64_t* offset;              // edge i owns rows offset[i] : offset[i + 1] of x
  const float* x;                     // [num_events, d_in]
  std::vector<LayerWeights> weights;  // encoder by encoder, layer by layer
  std::vector<const float*> h, c;     // first states, [num_layers, num_edges, d] for each encoder; or empty for zeros
  int64_t mirror = -1;                // a column of x: every encoder reads the events a second time, with it negated

  int num_results() const { return mirror < 0 ? num_encoders : 2 * num_encoders; }
};

// Runs task(0) .. task(num_tasks - 1), side by side if it can.
using Runner = std::function<void(int num_tasks, const std::function<void(int)>& task)>;

// Floats that a forward pass keeps for its backward pass.
int64_t num_saved(const Problem& problem, const Plan& plan, const InstructionSet& isa);

// The states after each history's last event; where there are no events, the state as given. Pointers in c_out may be
// null: who asks for h alone need not have c written down. With saved null, nothing is kept but the present state, and
// memory does not grow with the number of events. A problem with a mirror has no states and nothing is saved; its results
// are those of all encoders, and then those of all encoders mirrored.
void forward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run, float* saved,
             const std::vector<float*>& h_out, const std::vector<float*>& c_out);

struct Gradients {
  std::vector<const float*> h_out, c_out;  // in, for each encoder; null stands for zeros; at least one is not null
  std::vector<LayerGradients> weights;     // out, as in Problem
  float* x = nullptr;                      // out, or null if nobody asks; rows that no edge owns are not touched
  std::vector<float*> h, c;                // out, for each encoder; or empty if nobody asks

  // Nothing is computed for an encoder whose result nobody used; its weights get zeros.
  bool reach(int encoder) const { return h_out[encoder] || c_out[encoder]; }
};

// `saved` must come from a forward pass with the same plan and instruction set; it is not changed.
void backward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run,
              const float* saved, const Gradients& gradients);

// The most that fused multiply-adds in registers give, in 10^9 floating-point operations a second.
double peak_gflops(const InstructionSet& isa, const Runner& run, int num_threads);

}  // namespace gtea
