// Events as the encoders read them: the time encoding beside the features, in one go.
#pragma once

#include <vector>

#include "lstm.hpp"

namespace gtea {

struct Times {
  int64_t num_events, d_time;
  const float* time;
  double longest_period;
  const float* omega;  // [d_time], radians in a longest period; the first is the linear part's
  const float* phi;    // [d_time], radians
};

// out[event] = [omega_0 t + phi_0, cos(omega_i t + phi_i) .. || features[event]], t in units of the longest period.
void encode_times(const Times& times, const InstructionSet& isa, const Runner& run, const float* features,
                  int64_t d_features, float* out);

// Gradients of omega and phi from that of out, of whose rows the first d_time columns count. The sums are taken in the
// same order whatever the number of threads.
void encode_times_backward(const Times& times, const InstructionSet& isa, const Runner& run, const float* gradient,
                           int64_t stride, float* domega, float* dphi);

}  // namespace gtea
