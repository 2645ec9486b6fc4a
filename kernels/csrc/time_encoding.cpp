#include "time_encoding.hpp"

#include <algorithm>

namespace gtea {
namespace {

constexpr int64_t PART = 4096;  // events per task
constexpr double TURN = 6.283185307179586;

// Omega and phi in turns, padded to whole vectors.
struct Turns {
  int64_t d_pad;
  std::vector<double> omega, phi;

  Turns(const Times& times, const InstructionSet& isa)
      : d_pad((times.d_time + isa.width - 1) / isa.width * isa.width), omega(d_pad), phi(d_pad) {
    for (int64_t i = 0; i < times.d_time; ++i) {
      omega[i] = times.omega[i] / TURN;
      phi[i] = times.phi[i] / TURN;
    }
  }
};

int num_parts(const Times& times) { return static_cast<int>((times.num_events + PART - 1) / PART); }

int64_t events_of(const Times& times, int64_t first) { return std::min(PART, times.num_events - first); }

}  // namespace

void encode_times(const Times& times, const InstructionSet& isa, const Runner& run, const float* features,
                  int64_t d_features, float* out) {
  const Turns turns(times, isa);
  run(num_parts(times), [&](int part) {
    const int64_t first = part * PART;
    isa.encode_times({events_of(times, first), times.d_time, d_features, times.time + first,
                      1 / times.longest_period, turns.omega.data(), turns.phi.data(), features + first * d_features,
                      out + first * (times.d_time + d_features)});
  });
}

void encode_times_backward(const Times& times, const InstructionSet& isa, const Runner& run, const float* gradient,
                           int64_t stride, float* domega, float* dphi) {
  const Turns turns(times, isa);
  std::vector<double> sums(2 * turns.d_pad * num_parts(times));
  run(num_parts(times), [&](int part) {
    const int64_t first = part * PART;
    double* const own = sums.data() + part * 2 * turns.d_pad;
    isa.time_gradient({events_of(times, first), times.d_time, times.time + first, 1 / times.longest_period,
                       turns.omega.data(), turns.phi.data(), gradient + first * stride, stride, own,
                       own + turns.d_pad});
  });
  for (int64_t i = 0; i < times.d_time; ++i) {
    double omega = 0, phi = 0;
    for (size_t at = i; at < sums.size(); at += 2 * turns.d_pad) {
      omega += sums[at];
      phi += sums[at + turns.d_pad];
    }
    domega[i] = static_cast<float>(omega);
    dphi[i] = static_cast<float>(phi);
  }
}

}  // namespace gtea
