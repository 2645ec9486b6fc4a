#include <chrono>

#include "lstm.hpp"

namespace gtea {

// As long as an encoder takes, and not the best of short moments: where other machines share the processor, both are held
// up alike.
double peak_gflops(const InstructionSet& isa, const Runner& run, int num_threads) {
  constexpr int64_t repeats = 10'000'000;
  const double operations = 2.0 * isa.multiply_adds_per_repeat * repeats * num_threads;
  std::vector<float> results(num_threads);  // so that no compiler finds the work useless
  const auto start = std::chrono::steady_clock::now();
  run(num_threads, [&](int task) { results[task] = isa.multiply_adds(repeats); });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return operations / elapsed.count() / 1e9;
}

}  // namespace gtea
