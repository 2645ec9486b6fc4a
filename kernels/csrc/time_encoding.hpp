// The rows that encoders read: time encoding and features, computed in one pass.
#pragma once

#include <vector>

#include "lstm.hpp"

namespace gtea {

struct Times {
  int64_t num_events, d_time;
  const float* time;
  double longest_period;
  const float* omega;  // [d_time], radians per longest period; the first belongs to the linear part
  const float* phi;    // [d_time], radians
};

// out[event] = [omega_0 t + phi_0, cos(omega_i t + phi_i) .. || features[event]], t in units of the longest period.
void encode_times(const Times& times, const InstructionSet& isa, const Runner& run, const float* features,
                  int64_t d_features, float* out);

// Gradients of omega and phi from the gradient of out, of which only the first d_time columns are used. The order of
// summation does not depend on the number of threads.
void encode_times_backward(const Times& times, const InstructionSet& isa, const Runner& run, const float* gradient,
                           int64_t stride, float* domega, float* dphi);

}  // namespace gtea
