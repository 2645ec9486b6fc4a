#include "last_attention.hpp"

#include <algorithm>

namespace gtea {
namespace {

constexpr int64_t PART = 256;  // edges per task

void by_parts(const LastAttention& all, const Runner& run, const std::function<void(const LastAttention&)>& work) {
  const int64_t num_edges = all.last_edge - all.first_edge;
  run(static_cast<int>((num_edges + PART - 1) / PART), [&](int part) {
    LastAttention some = all;
    some.first_edge = all.first_edge + part * PART;
    some.last_edge = std::min(some.first_edge + PART, all.last_edge);
    work(some);
  });
}

}  // namespace

void attend_last(const LastAttention& all, const InstructionSet& isa, const Runner& run, float* weights, float* out) {
  by_parts(all, run, [&](const LastAttention& some) { isa.attend_last(some, weights, out); });
}

void attend_last_backward(const LastAttention& all, const InstructionSet& isa, const Runner& run, const float* weights,
                          const float* dout, float* dq, float* dk, float* de) {
  by_parts(all, run,
           [&](const LastAttention& some) { isa.attend_last_backward(some, weights, dout, dq, dk, de); });
}

}  // namespace gtea
