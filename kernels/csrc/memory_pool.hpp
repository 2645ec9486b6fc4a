// Reuses memory: the first touch of a fresh page is slow, and the activations of a batch take tens of thousands of
// pages.
#pragma once

#include <cstdint>
#include <memory>

namespace gtea {

struct Return {
  void operator()(float* buffer) const;
};

// Uninitialised floats, aligned to a cache line. They go back to the pool, which never holds more than was once in use
// at the same time.
using Buffer = std::unique_ptr<float[], Return>;
Buffer borrow(int64_t num_floats);

}  // namespace gtea
