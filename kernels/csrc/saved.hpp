// What the way forward keeps for the way back, and where it stands.
#pragma once

#include <algorithm>
#include <vector>

#include "lstm.hpp"
#include "packing.hpp"

namespace gtea {

constexpr int64_t WINDOW = std::max(MAX_WINDOW, MAX_ROWS);  // events of a window, at most

// Cuts a buffer into pieces, each on a cache line boundary.
class Pieces {
 public:
  explicit Pieces(float* buffer = nullptr) : buffer_(buffer) {}

  // Without a buffer it only counts.
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

// What one layer of one encoder remembers of a chunk's walk: h and c after every step, with the first state before them,
// and the gates. For inference, h of one window and the present c.
struct Memory {
  float* h;
  float* c;
  float* gates;
};

Memory cut_saved(Pieces& pieces, const Chunk& chunk, const LayerShape& shape);

// Floats of all layers of all encoders, mirrored ones included.
int64_t saved_by_chunk(const Problem& problem, const Chunk& chunk, const LayerShape& shape);

// Where each chunk's memory starts, task by task.
std::vector<std::vector<int64_t>> saved_places(const Problem& problem, const Plan& plan, const LayerShape& shape);

}  // namespace gtea
