#include <chrono>

#include "lstm.hpp"

namespace gtea {

// Runs about as long as an encoder does, instead of taking the best of short runs: on a processor shared with other
// virtual machines both then lose the same share of time.
double peak_gflops(const InstructionSet& isa, const Runner& run, int num_threads) {
  constexpr int64_t repeats = 10'000'000;
  const double operations = 2.0 * isa.multiply_adds_per_repeat * repeats * num_threads;
  std::vector<float> results(num_threads);  // keeps the compiler from removing the work
  const auto start = std::chrono::steady_clock::now();
  run(num_threads, [&](int task) { results[task] = isa.multiply_adds(repeats); });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return operations / elapsed.count() / 1e9;
}

}  // namespace gtea
