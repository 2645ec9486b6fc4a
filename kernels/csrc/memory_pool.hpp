// Memory that is used again: the first touch of a fresh page is slow, and a batch's activations are tens of thousands.
#pragma once

#include <cstdint>
#include <memory>

namespace gtea {

struct Return {
  void operator()(float* buffer) const;
};

// Floats on a cache line boundary, contents unknown. Goes back to the pool, which never holds more than was once in use
// at the same time.
using Buffer = std::unique_ptr<float[], Return>;
Buffer borrow(int64_t num_floats);

}  // namespace gtea
