#include <algorithm>
#include <chrono>

#include "lstm.hpp"

namespace gtea {

double peak_gflops(const InstructionSet& isa, const Runner& run, int num_threads) {
  constexpr int64_t repeats = 2'000'000;
  const double operations = 2.0 * isa.multiply_adds_per_repeat * repeats * num_threads;
  double best = 0;
  std::vector<float> results(num_threads);  // so that no compiler finds the work useless
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    run(num_threads, [&](int task) { results[task] = isa.multiply_adds(repeats); });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / elapsed.count() / 1e9);
  }
  return best;
}

}  // namespace gtea
