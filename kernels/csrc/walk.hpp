// The loop over one chunk's steps: what the forward and the backward pass have in common.
#pragma once

#include <algorithm>
#include <vector>

#include "lstm.hpp"
#include "packing.hpp"

namespace gtea {

std::vector<LayerShape> shapes_of(const Problem& problem, const InstructionSet& isa);

// Copies the states, or their gradients, of edges without events.
void pass_through(const Problem& problem, const float* from, float* to);

// Calls work(thread, task) for all tasks of a plan, on as many threads as it was made for.
void work_through(const Plan& plan, const Runner& run, const std::function<void(int, int)>& work);

struct Walk {
  const Problem& problem;
  const Plan& plan;
  const InstructionSet& isa;
  const std::vector<LayerShape>& shapes;
  const Chunk& chunk;
  const Steps& steps;

  int64_t d() const { return problem.d; }
  int64_t d_pad() const { return shapes[0].d_pad; }
  int64_t edge(int64_t row) const { return plan.order[chunk.first + row]; }
  int64_t num_steps() const { return static_cast<int64_t>(steps.rows.size()); }
  int64_t rows_at(int64_t step) const { return step < num_steps() ? steps.rows[step] : 0; }
  bool has_state() const { return !problem.h.empty(); }

  // Index of a row in a caller's tensor [num_layers, num_edges, d].
  int64_t outside(int layer, int64_t row) const { return (layer * problem.num_edges + edge(row)) * d(); }

  void copy_in(const float* from, float* to) const {
    std::copy(from, from + d(), to);
    std::fill(to + d(), to + d_pad(), 0.f);
  }

  // The events of a window, ordered by step and padded to whole vectors.
  void gather_x(const Window& window, float* to) const;
  void scatter_x(const Window& window, const float* from, float* to) const;

  // A row of a caller's tensor [num_events, d_in].
  template <typename Float>
  Float* event_of(Float* x, int64_t row, int64_t step) const {
    return x + (steps.first_event[row] + step) * problem.d_in;
  }
};

}  // namespace gtea
