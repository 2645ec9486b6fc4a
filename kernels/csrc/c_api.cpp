// The library's C interface, which gtea_kernels/library.py calls through ctypes. It takes plain pointers and sizes, so
// that one build serves every version of Python and torch.
//
// Python has checked types, devices and shapes; what only the contents of a tensor tell, offsets and indices, is
// checked here, before anything is read through them. Functions return a Status; gtea_last_error says more.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "denormals.hpp"
#include "last_attention.hpp"
#include "lstm.hpp"
#include "memory_pool.hpp"
#include "neighbour_sums.hpp"
#include "thread_pool.hpp"
#include "time_encoding.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum Status : int { OK = 0, INVALID_ARGUMENT = 1, OUT_OF_MEMORY = 2, FAILED = 3 };

thread_local char last_error[256];

Status fail(Status status, const char* message) {
  std::snprintf(last_error, sizeof(last_error), "%s", message);
  return status;
}

// No exception may leave a C function.
template <typename Work>
int status_of(const Work& work) noexcept {
  try {
    work();
    return OK;
  } catch (const std::invalid_argument& error) {
    return fail(INVALID_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    return fail(OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(FAILED, error.what());
  } catch (...) {
    return fail(FAILED, "unknown error");
  }
}

__attribute__((format(printf, 2, 3))) void require(bool condition, const char* format, ...) {
  if (condition) return;
  char message[200];
  va_list values;
  va_start(values, format);
  std::vsnprintf(message, sizeof(message), format, values);
  va_end(values);
  throw std::invalid_argument(message);
}

long long printable(int64_t value) { return value; }

const gtea::InstructionSet& instruction_set_at(int index) {
  const auto& found = gtea::instruction_sets();
  require(index >= 0 && index < static_cast<int>(found.size()), "no instruction set has the index %d", index);
  return *found[index];
}

gtea::Runner runner(int num_threads) {
  return [num_threads](int num_tasks, const std::function<void(int)>& task) {
    gtea::run_parallel(num_tasks, num_threads, task);
  };
}

void check_indices(const int64_t* indices, int64_t size, int64_t limit, const char* name) {
  for (int64_t i = 0; i < size; ++i)
    require(indices[i] >= 0 && indices[i] < limit, "%s must be at least 0 and below %lld (got %lld)", name,
            printable(limit), printable(indices[i]));
}

}  // namespace

// What a forward pass keeps for the backward pass. library.py declares the same struct.
struct GteaSaved {
  float* memory;        // from the pool; gtea_release gives it back
  int64_t num_floats;
  int64_t num_threads;  // that the plan was made for: the backward pass has to make the same plan
};

namespace {

void check_offset(const int64_t* offset, int64_t num_edges, int64_t num_rows) {
  int64_t before = 0;
  for (int64_t i = 0; i <= num_edges; ++i) {
    require(offset[i] >= before, "offset must not decrease (got %lld after %lld)", printable(offset[i]),
            printable(before));
    before = offset[i];
  }
  require(before <= num_rows, "offset must end within x (got %lld of %lld rows)", printable(before),
          printable(num_rows));
}

using Inputs = const void* const*;

// `inputs` are x [num_rows, d_in], offset [num_edges + 1], w, u and b of each layer of each encoder, and with first
// states h of each encoder and c of each encoder.
gtea::Problem problem_of(int64_t num_edges, int64_t num_rows, int64_t d_in, int64_t d, int64_t num_encoders,
                         int64_t num_layers, bool has_states, Inputs inputs) {
  const auto next = [&] { return static_cast<const float*>(*inputs++); };
  gtea::Problem p;
  p.num_edges = num_edges;
  p.d_in = d_in;
  p.d = d;
  p.num_encoders = static_cast<int>(num_encoders);
  p.num_layers = static_cast<int>(num_layers);
  p.x = next();
  p.offset = static_cast<const int64_t*>(*inputs++);
  check_offset(p.offset, num_edges, num_rows);
  for (int64_t i = 0; i < num_encoders * num_layers; ++i) {
    const float *const w = next(), *const u = next(), *const b = next();
    p.weights.push_back({w, u, b});
  }
  for (int64_t i = 0; has_states && i < num_encoders; ++i) p.h.push_back(next());
  for (int64_t i = 0; has_states && i < num_encoders; ++i) p.c.push_back(next());
  return p;
}

int64_t num_events_of(const gtea::Problem& p) { return p.offset[p.num_edges] - p.offset[0]; }

gtea::LastAttention attention_of(int64_t num_edges, int64_t num_events, int64_t num_heads, int64_t d_query, int64_t d,
                                 const int64_t* offset, const float* q, const float* k, const float* e) {
  require(offset[0] == 0 && offset[num_edges] == num_events && std::is_sorted(offset, offset + num_edges + 1),
          "offset must go from 0 to the number of events and not decrease");
  return {0, num_edges, num_heads, d_query, d, 1.f / std::sqrt(static_cast<float>(d_query)), offset, q, k, e};
}

}  // namespace

EXPORT const char* gtea_last_error() { return last_error; }

// The names of those that this machine can run, the fastest first; null behind the last.
EXPORT const char* gtea_instruction_set(int index) {
  const auto& found = gtea::instruction_sets();
  return index >= 0 && index < static_cast<int>(found.size()) ? found[index]->name : nullptr;
}

EXPORT void gtea_release(float* memory) { gtea::Return()(memory); }

// `outputs` are h of each encoder and, with wants_c, c of each encoder, all [num_layers, num_edges, d]. With a mirror,
// a column of x or -1, there are twice as many h: those for x, then those for x with the column negated. `saved` is
// filled in for the backward pass; null for inference.
EXPORT int gtea_lstm_forward(int instruction_set, int max_threads, int64_t num_edges, int64_t num_rows, int64_t d_in,
                             int64_t d, int64_t num_encoders, int64_t num_layers, int has_states, Inputs inputs,
                             int64_t mirror, int wants_c, float* const* outputs, GteaSaved* saved) {
  return status_of([&] {
    gtea::Problem p = problem_of(num_edges, num_rows, d_in, d, num_encoders, num_layers, has_states, inputs);
    require(mirror >= -1 && mirror < d_in, "mirror must be a column of x (got %lld)", printable(mirror));
    require(mirror < 0 || (!saved && !has_states), "mirror is for inference from zeros");
    p.mirror = mirror;
    const gtea::InstructionSet& isa = instruction_set_at(instruction_set);
    const int num_threads = gtea::num_threads_for(num_events_of(p), max_threads);
    const gtea::Plan plan = gtea::make_plan(p.offset, p.num_edges, num_threads);
    const int64_t num_saved = saved ? gtea::num_saved(p, plan, isa) : 0;
    gtea::Buffer memory;
    if (saved) memory = gtea::borrow(num_saved);
    const int num_results = p.num_results();
    const std::vector<float*> h(outputs, outputs + num_results);
    std::vector<float*> c(num_results, nullptr);
    if (wants_c) c.assign(outputs + num_results, outputs + 2 * num_results);
    gtea::forward(p, plan, isa, runner(max_threads), memory.get(), h, c);
    if (saved) *saved = {memory.release(), num_saved, num_threads};
  });
}

// `gradients` are those of h and c of each encoder, null for zeros. `outputs` are the gradients of x (null if not
// wanted), of the parameters, and with wants_states of the first h and c of each encoder.
EXPORT int gtea_lstm_backward(int instruction_set, int max_threads, int64_t num_edges, int64_t num_rows, int64_t d_in,
                              int64_t d, int64_t num_encoders, int64_t num_layers, int has_states, Inputs inputs,
                              const GteaSaved* saved, const float* const* gradients, int wants_states,
                              float* const* outputs) {
  return status_of([&] {
    const gtea::Problem p = problem_of(num_edges, num_rows, d_in, d, num_encoders, num_layers, has_states, inputs);
    const gtea::InstructionSet& isa = instruction_set_at(instruction_set);
    const gtea::Plan plan = gtea::make_plan(p.offset, p.num_edges, static_cast<int>(saved->num_threads));
    require(saved->num_floats == gtea::num_saved(p, plan, isa), "saved must come from the forward pass");
    gtea::Gradients g;
    g.h_out.assign(gradients, gradients + num_encoders);
    g.c_out.assign(gradients + num_encoders, gradients + 2 * num_encoders);
    g.x = *outputs++;
    // Each owned row is written exactly once by the first encoder; rows that no edge owns have no gradient.
    if (g.x && num_events_of(p) != num_rows) std::fill_n(g.x, num_rows * d_in, 0.f);
    for (int64_t i = 0; i < num_encoders * num_layers; ++i, outputs += 3)
      g.weights.push_back({outputs[0], outputs[1], outputs[2]});
    if (wants_states) {
      g.h.assign(outputs, outputs + num_encoders);
      g.c.assign(outputs + num_encoders, outputs + 2 * num_encoders);
    }
    gtea::backward(p, plan, isa, runner(max_threads), saved->memory, g);
  });
}

EXPORT int gtea_encode_times(int instruction_set, int max_threads, int64_t num_events, int64_t d_time,
                             int64_t d_features, const float* time, double longest_period, const float* omega,
                             const float* phi, const float* features, float* out) {
  return status_of([&] {
    gtea::encode_times({num_events, d_time, time, longest_period, omega, phi}, instruction_set_at(instruction_set),
                       runner(max_threads), features, d_features, out);
  });
}

// Gradients of omega and phi from that of whole rows, which are `stride` floats long.
EXPORT int gtea_encode_times_backward(int instruction_set, int max_threads, int64_t num_events, int64_t d_time,
                                      int64_t stride, const float* time, double longest_period, const float* omega,
                                      const float* phi, const float* gradient, float* domega, float* dphi) {
  return status_of([&] {
    gtea::encode_times_backward({num_events, d_time, time, longest_period, omega, phi},
                                instruction_set_at(instruction_set), runner(max_threads), gradient, stride, domega,
                                dphi);
  });
}

// out [num_edges, num_heads, d], weights [num_events, num_heads].
EXPORT int gtea_attend_last(int instruction_set, int max_threads, int64_t num_edges, int64_t num_events,
                            int64_t num_heads, int64_t d_query, int64_t d, const int64_t* offset, const float* q,
                            const float* k, const float* e, float* weights, float* out) {
  return status_of([&] {
    gtea::attend_last(attention_of(num_edges, num_events, num_heads, d_query, d, offset, q, k, e),
                      instruction_set_at(instruction_set), runner(max_threads), weights, out);
  });
}

EXPORT int gtea_attend_last_backward(int instruction_set, int max_threads, int64_t num_edges, int64_t num_events,
                                     int64_t num_heads, int64_t d_query, int64_t d, const int64_t* offset,
                                     const float* q, const float* k, const float* e, const float* weights,
                                     const float* gradient, float* dq, float* dk, float* de) {
  return status_of([&] {
    gtea::attend_last_backward(attention_of(num_edges, num_events, num_heads, d_query, d, offset, q, k, e),
                               instruction_set_at(instruction_set), runner(max_threads), weights, gradient, dq, dk,
                               de);
  });
}

// Adds to total, [num_targets, d_hidden]. The calling thread does all of it.
EXPORT int gtea_sum_neighbours(int instruction_set, int64_t num_nodes, int64_t num_targets, int64_t num_slots,
                               int64_t d_edge, int64_t d_hidden, const float* from_node, const float* e,
                               const float* weight, const int64_t* neighbour, const int64_t* target,
                               const float* alpha, float* total) {
  return status_of([&] {
    check_indices(neighbour, num_slots, num_nodes, "neighbour");
    check_indices(target, num_slots, num_targets, "target");
    const gtea::FlushDenormals here;
    gtea::sum_neighbours({num_slots, d_edge, d_hidden, from_node, e, weight, neighbour, target, alpha, total},
                         instruction_set_at(instruction_set));
  });
}

EXPORT int gtea_peak_gflops(int instruction_set, int num_threads, double* gflops) {
  return status_of([&] {
    require(num_threads > 0, "num_threads must be at least 1 (got %d)", num_threads);
    *gflops = gtea::peak_gflops(instruction_set_at(instruction_set), runner(num_threads), num_threads);
  });
}
