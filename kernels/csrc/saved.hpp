// What the forward pass saves for the backward pass, and its layout in memory.
#pragma once

#include <algorithm>
#include <vector>

#include "lstm.hpp"
#include "packing.hpp"

namespace gtea {

constexpr int64_t WINDOW = std::max(MAX_WINDOW, MAX_ROWS);  // upper bound on the events of a window

// Divides a buffer into pieces, each aligned to a cache line.
class Pieces {
 public:
  explicit Pieces(float* buffer = nullptr) : buffer_(buffer) {}

  // Without a buffer, only counts.
  float* next(int64_t num_floats) {
    float* const piece = buffer_ ? buffer_ + used_ : nullptr;
    used_ += (num_floats + 15) / 16 * 16;
    return piece;
  }

  int64_t used() const { return used_; }

 private:
  float* buffer_;
  int64_t used_ = 0;
};

// The activations of one layer of one encoder for a chunk: the first state, h and c after every step, and the gates.
// For inference, h of one window and the current c.
struct Memory {
  float* h;
  float* c;
  float* gates;
};

Memory cut_saved(Pieces& pieces, const Chunk& chunk, const LayerShape& shape);

// The number of floats for all layers and encoders, including mirrored ones.
int64_t saved_by_chunk(const Problem& problem, const Chunk& chunk, const LayerShape& shape);

// The start of each chunk's part, by task.
std::vector<std::vector<int64_t>> saved_places(const Problem& problem, const Plan& plan, const LayerShape& shape);

}  // namespace gtea
