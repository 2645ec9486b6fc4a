// Tensors in, tensors out: checks what comes from Python and hands bare pointers to the core.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cmath>

#include "last_attention.hpp"
#include "lstm.hpp"
#include "memory_pool.hpp"
#include "neighbour_sums.hpp"
#include "time_encoding.hpp"
#include "tiny_numbers.hpp"

namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

// torch's own threads: a second team of OpenMP threads would fight with them over the cores.
void run_side_by_side(int num_tasks, const std::function<void(int)>& task) {
  at::parallel_for(0, num_tasks, 1, [&](int64_t first, int64_t last) {
    const gtea::TinyNumbersAreZero here;
    for (int64_t i = first; i < last; ++i) task(static_cast<int>(i));
  });
}

Tensor checked(const Tensor& tensor, const char* name, at::IntArrayRef shape) {
  TORCH_CHECK_VALUE(tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat, name,
                    " must be float32 on the CPU (got ", tensor.scalar_type(), " on ", tensor.device(), ")");
  TORCH_CHECK_VALUE(tensor.sizes() == shape, name, " must have the shape ", shape, " (got ", tensor.sizes(), ")");
  return tensor.contiguous();
}

// A problem together with the contiguous tensors that its pointers point into.
struct Inputs {
  gtea::Problem problem;
  Tensors kept;
};

const float* keep(Inputs& inputs, const Tensor& tensor) {
  inputs.kept.push_back(tensor);
  return tensor.const_data_ptr<float>();
}

const int64_t* checked_offset(Inputs& inputs, const Tensor& offset, int64_t num_events) {
  TORCH_CHECK_VALUE(offset.device().is_cpu() && offset.scalar_type() == at::kLong && offset.dim() == 1 && offset.numel(),
                    "offset must be int64 [num_edges + 1] on the CPU");
  inputs.kept.push_back(offset.contiguous());
  const int64_t* const at = inputs.kept.back().const_data_ptr<int64_t>();
  int64_t before = 0;
  for (int64_t i = 0; i < offset.numel(); ++i) {
    TORCH_CHECK_VALUE(at[i] >= before, "offset must not decrease (got ", at[i], " after ", before, ")");
    before = at[i];
  }
  TORCH_CHECK_VALUE(before <= num_events, "offset must end within x (got ", before, " of ", num_events, " rows)");
  return at;
}

Inputs make_inputs(const Tensor& x, const Tensor& offset, const Tensors& parameters, const Tensors& h, const Tensors& c,
                   int num_encoders) {
  TORCH_CHECK_VALUE(num_encoders > 0 && !parameters.empty() && parameters.size() % (3 * num_encoders) == 0,
                    "parameters must be w, u, b for each layer of each encoder (got ", parameters.size(), ")");
  TORCH_CHECK_VALUE(x.dim() == 2 && parameters[1].dim() == 2, "x and u must have two dimensions");
  TORCH_CHECK_VALUE(h.size() == c.size() && (h.empty() || h.size() == static_cast<size_t>(num_encoders)),
                    "states must be given for each encoder or for none");
  Inputs inputs;
  gtea::Problem& p = inputs.problem;
  p.num_edges = offset.numel() - 1;
  p.d_in = x.size(1);
  p.d = parameters[1].size(1);
  p.num_encoders = num_encoders;
  p.num_layers = static_cast<int>(parameters.size()) / (3 * num_encoders);
  p.x = keep(inputs, checked(x, "x", {x.size(0), p.d_in}));
  p.offset = checked_offset(inputs, offset, x.size(0));
  for (size_t i = 0; i < parameters.size(); i += 3) {
    const int64_t d_below = i / 3 % p.num_layers ? p.d : p.d_in;
    const float* const w = keep(inputs, checked(parameters[i], "w", {4 * p.d, d_below}));
    const float* const u = keep(inputs, checked(parameters[i + 1], "u", {4 * p.d, p.d}));
    p.weights.push_back({w, u, keep(inputs, checked(parameters[i + 2], "b", {4 * p.d}))});
  }
  for (size_t i = 0; i < h.size(); ++i) {
    p.h.push_back(keep(inputs, checked(h[i], "h", {p.num_layers, p.num_edges, p.d})));
    p.c.push_back(keep(inputs, checked(c[i], "c", {p.num_layers, p.num_edges, p.d})));
  }
  return inputs;
}

int64_t num_events_of(const gtea::Problem& p) { return p.offset[p.num_edges] - p.offset[0]; }

// Goes back to the pool when autograd lets go of it.
Tensor borrowed_tensor(int64_t num_floats) {
  float* const buffer = gtea::borrow(num_floats).release();
  return at::from_blob(buffer, {num_floats}, [](void* p) { gtea::Return()(static_cast<float*>(p)); }, at::kFloat);
}

Tensors empty_states(const gtea::Problem& p, const Tensor& like, std::vector<float*>& pointers) {
  Tensors states;
  for (int result = 0; result < p.num_results(); ++result) {
    states.push_back(at::empty({p.num_layers, p.num_edges, p.d}, like.options()));
    pointers.push_back(states.back().data_ptr<float>());
  }
  return states;
}

// h of each encoder, c likewise (or nothing), what the way back needs (or nothing), and the number of threads that the
// plan is for, which the way back has to repeat. With a mirror, a column of x or -1, as many again, mirrored.
std::tuple<Tensors, Tensors, Tensor, int64_t> lstm_forward(const Tensor& x, const Tensor& offset,
                                                           const Tensors& parameters, const Tensors& h,
                                                           const Tensors& c, int num_encoders,
                                                           const std::string& instruction_set, bool keeps,
                                                           bool wants_c, int64_t mirror) {
  Inputs inputs = make_inputs(x, offset, parameters, h, c, num_encoders);
  gtea::Problem& p = inputs.problem;
  TORCH_CHECK_VALUE(mirror >= -1 && mirror < p.d_in, "mirror must be a column of x (got ", mirror, ")");
  TORCH_CHECK_VALUE(mirror < 0 || (!keeps && h.empty()), "mirror is for inference from zeros");
  p.mirror = mirror;
  const gtea::InstructionSet& isa = gtea::instruction_set(instruction_set);
  const int num_threads = gtea::num_threads_for(num_events_of(p), at::get_num_threads());
  std::vector<float*> h_pointers, c_pointers;
  Tensors h_out = empty_states(p, x, h_pointers), c_out;
  if (wants_c)
    c_out = empty_states(p, x, c_pointers);
  else
    c_pointers.assign(p.num_results(), nullptr);
  const pybind11::gil_scoped_release others_may_run;
  const gtea::Plan plan = gtea::make_plan(p.offset, p.num_edges, num_threads);
  Tensor saved = keeps ? borrowed_tensor(gtea::num_saved(p, plan, isa)) : at::empty({0}, x.options());
  gtea::forward(p, plan, isa, run_side_by_side, keeps ? saved.data_ptr<float>() : nullptr, h_pointers, c_pointers);
  return {h_out, c_out, saved, num_threads};
}

void point_at(Inputs& inputs, const std::vector<std::optional<Tensor>>& given,
              std::vector<const float*>& pointers) {
  const gtea::Problem& p = inputs.problem;
  for (const auto& gradient : given) {
    pointers.push_back(gradient ? keep(inputs, checked(*gradient, "gradient", {p.num_layers, p.num_edges, p.d}))
                                : nullptr);
  }
}

// Gradients of x (or an empty tensor), of the parameters, and of the first h and c (or nothing).
std::tuple<Tensor, Tensors, Tensors, Tensors> lstm_backward(
    const Tensor& x, const Tensor& offset, const Tensors& parameters, const Tensors& h, const Tensors& c,
    int num_encoders, const std::string& instruction_set, const Tensor& saved, int64_t num_threads,
    const std::vector<std::optional<Tensor>>& dh, const std::vector<std::optional<Tensor>>& dc, bool wants_x,
    bool wants_state) {
  Inputs inputs = make_inputs(x, offset, parameters, h, c, num_encoders);
  const gtea::Problem& p = inputs.problem;
  const gtea::InstructionSet& isa = gtea::instruction_set(instruction_set);
  const gtea::Plan plan = gtea::make_plan(p.offset, p.num_edges, static_cast<int>(num_threads));
  TORCH_CHECK_VALUE(saved.numel() == gtea::num_saved(p, plan, isa), "saved must come from the forward pass");
  gtea::Gradients gradients;
  point_at(inputs, dh, gradients.h_out);
  point_at(inputs, dc, gradients.c_out);
  Tensor dx = at::empty({0}, x.options());
  if (wants_x) {
    // Each owned row is written exactly once by the first encoder; rows that no edge owns have no gradient.
    dx = num_events_of(p) == x.size(0) ? at::empty(x.sizes(), x.options()) : at::zeros(x.sizes(), x.options());
    gradients.x = dx.data_ptr<float>();
  }
  Tensors dparameters, dh_first, dc_first;
  for (const Tensor& parameter : parameters) dparameters.push_back(at::empty(parameter.sizes(), x.options()));
  for (size_t i = 0; i < dparameters.size(); i += 3) {
    gradients.weights.push_back({dparameters[i].data_ptr<float>(), dparameters[i + 1].data_ptr<float>(),
                                 dparameters[i + 2].data_ptr<float>()});
  }
  if (wants_state) {
    dh_first = empty_states(p, x, gradients.h);
    dc_first = empty_states(p, x, gradients.c);
  }
  const pybind11::gil_scoped_release others_may_run;
  gtea::backward(p, plan, isa, run_side_by_side, saved.const_data_ptr<float>(), gradients);
  return {dx, dparameters, dh_first, dc_first};
}

gtea::Times make_times(const Tensor& time, const Tensor& omega, const Tensor& phi, double longest_period) {
  const int64_t d_time = omega.numel();
  TORCH_CHECK_VALUE(d_time > 0 && longest_period > 0, "there must be a time encoding and a longest period above 0");
  return {time.numel(), d_time, time.const_data_ptr<float>(), longest_period, omega.const_data_ptr<float>(),
          phi.const_data_ptr<float>()};
}

Tensor encode_times(const Tensor& time, const Tensor& features, const Tensor& omega, const Tensor& phi,
                    double longest_period, const std::string& instruction_set) {
  const Tensor t = checked(time, "time", {time.numel()}), w = checked(omega, "omega", {omega.numel()});
  const Tensor p = checked(phi, "phi", {omega.numel()});
  TORCH_CHECK_VALUE(features.dim() == 2, "features must have two dimensions");
  const Tensor f = checked(features, "features", {time.numel(), features.size(1)});
  const gtea::Times times = make_times(t, w, p, longest_period);
  const Tensor out = at::empty({times.num_events, times.d_time + f.size(1)}, t.options());
  const pybind11::gil_scoped_release others_may_run;
  gtea::encode_times(times, gtea::instruction_set(instruction_set), run_side_by_side, f.const_data_ptr<float>(),
                     f.size(1), out.data_ptr<float>());
  return out;
}

// Gradients of omega and phi from that of the whole rows.
std::tuple<Tensor, Tensor> encode_times_backward(const Tensor& time, const Tensor& omega, const Tensor& phi,
                                                 double longest_period, const Tensor& gradient,
                                                 const std::string& instruction_set) {
  const Tensor t = checked(time, "time", {time.numel()}), w = checked(omega, "omega", {omega.numel()});
  const Tensor p = checked(phi, "phi", {omega.numel()});
  TORCH_CHECK_VALUE(gradient.dim() == 2 && gradient.size(1) >= omega.numel(), "gradient must be of whole rows");
  const Tensor g = checked(gradient, "gradient", {time.numel(), gradient.size(1)});
  const gtea::Times times = make_times(t, w, p, longest_period);
  const Tensor domega = at::empty_like(w), dphi = at::empty_like(p);
  const pybind11::gil_scoped_release others_may_run;
  gtea::encode_times_backward(times, gtea::instruction_set(instruction_set), run_side_by_side,
                              g.const_data_ptr<float>(), g.size(1), domega.data_ptr<float>(), dphi.data_ptr<float>());
  return {domega, dphi};
}

// What attention of the last events reads, and the contiguous tensors that its pointers point into.
struct Attended {
  gtea::LastAttention problem;
  Tensor q, k, e, offset;
};

Attended make_attended(const Tensor& q, const Tensor& k, const Tensor& e, const Tensor& offset) {
  TORCH_CHECK_VALUE(q.dim() == 3 && e.dim() == 2, "q must have three dimensions and e two");
  TORCH_CHECK_VALUE(offset.device().is_cpu() && offset.scalar_type() == at::kLong && offset.dim() == 1 && offset.numel(),
                    "offset must be int64 [num_edges + 1] on the CPU");
  const int64_t num_edges = offset.numel() - 1;
  Attended a{{},
             checked(q, "q", {num_edges, q.size(1), q.size(2)}),
             checked(k, "k", {e.size(0), q.size(1), q.size(2)}),
             checked(e, "e", {e.size(0), e.size(1)}),
             offset.contiguous()};
  const int64_t* const at = a.offset.const_data_ptr<int64_t>();
  TORCH_CHECK_VALUE(at[0] == 0 && at[num_edges] == e.size(0) && std::is_sorted(at, at + num_edges + 1),
                    "offset must go from 0 to the number of events and not decrease");
  a.problem = {0, num_edges, q.size(1), q.size(2), e.size(1), 1.f / std::sqrt(static_cast<float>(q.size(2))), at,
               a.q.const_data_ptr<float>(), a.k.const_data_ptr<float>(), a.e.const_data_ptr<float>()};
  return a;
}

// [num_edges, num_heads, d], and the weights, [num_events, num_heads].
std::tuple<Tensor, Tensor> attend_last(const Tensor& q, const Tensor& k, const Tensor& e, const Tensor& offset,
                                       const std::string& instruction_set) {
  const Attended a = make_attended(q, k, e, offset);
  const Tensor weights = at::empty({e.size(0), q.size(1)}, a.e.options());
  const Tensor out = at::empty({q.size(0), q.size(1), e.size(1)}, a.e.options());
  const pybind11::gil_scoped_release others_may_run;
  gtea::attend_last(a.problem, gtea::instruction_set(instruction_set), run_side_by_side, weights.data_ptr<float>(),
                    out.data_ptr<float>());
  return {out, weights};
}

std::tuple<Tensor, Tensor, Tensor> attend_last_backward(const Tensor& q, const Tensor& k, const Tensor& e,
                                                        const Tensor& offset, const Tensor& weights,
                                                        const Tensor& gradient, const std::string& instruction_set) {
  const Attended a = make_attended(q, k, e, offset);
  const Tensor w = checked(weights, "weights", {e.size(0), q.size(1)});
  const Tensor g = checked(gradient, "gradient", {q.size(0), q.size(1), e.size(1)});
  const Tensor dq = at::empty_like(a.q), dk = at::empty_like(a.k), de = at::empty_like(a.e);
  const pybind11::gil_scoped_release others_may_run;
  gtea::attend_last_backward(a.problem, gtea::instruction_set(instruction_set), run_side_by_side,
                             w.const_data_ptr<float>(), g.const_data_ptr<float>(), dq.data_ptr<float>(),
                             dk.data_ptr<float>(), de.data_ptr<float>());
  return {dq, dk, de};
}

// Numbers below a limit, as many as asked for.
Tensor checked_places(const Tensor& places, const char* name, int64_t size, int64_t limit) {
  TORCH_CHECK_VALUE(places.device().is_cpu() && places.scalar_type() == at::kLong && places.dim() == 1 &&
                        places.numel() == size,
                    name, " must be int64 [", size, "] on the CPU");
  const Tensor kept = places.contiguous();
  const int64_t* const at = kept.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < size; ++i)
    TORCH_CHECK_VALUE(at[i] >= 0 && at[i] < limit, name, " must be from 0 to below ", limit, " (got ", at[i], ")");
  return kept;
}

// [num_targets, d_hidden].
Tensor sum_neighbours(const Tensor& from_node, const Tensor& e, const Tensor& weight, const Tensor& neighbour,
                      const Tensor& target, const Tensor& alpha, int64_t num_targets,
                      const std::string& instruction_set) {
  TORCH_CHECK_VALUE(from_node.dim() == 2 && e.dim() == 2, "from_node and e must have two dimensions");
  const int64_t num_slots = e.size(0), d_edge = e.size(1), d_hidden = from_node.size(1);
  const Tensor n = checked(from_node, "from_node", {from_node.size(0), d_hidden});
  const Tensor rows = checked(e, "e", {num_slots, d_edge}), w = checked(weight, "weight", {d_hidden, d_edge});
  const Tensor a = checked(alpha, "alpha", {num_slots});
  const Tensor nodes = checked_places(neighbour, "neighbour", num_slots, from_node.size(0));
  const Tensor targets = checked_places(target, "target", num_slots, num_targets);
  const Tensor total = at::zeros({num_targets, d_hidden}, n.options());
  const pybind11::gil_scoped_release others_may_run;
  const gtea::TinyNumbersAreZero here;
  gtea::sum_neighbours({num_slots, d_edge, d_hidden, n.const_data_ptr<float>(), rows.const_data_ptr<float>(),
                        w.const_data_ptr<float>(), nodes.const_data_ptr<int64_t>(), targets.const_data_ptr<int64_t>(),
                        a.const_data_ptr<float>(), total.data_ptr<float>()},
                       gtea::instruction_set(instruction_set));
  return total;
}

double peak_gflops(int num_threads, const std::string& instruction_set) {
  return gtea::peak_gflops(gtea::instruction_set(instruction_set), run_side_by_side, num_threads);
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const gtea::InstructionSet* isa : gtea::instruction_sets()) names.emplace_back(isa->name);
  return names;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("lstm_forward", &lstm_forward);
  module.def("lstm_backward", &lstm_backward);
  module.def("encode_times", &encode_times);
  module.def("encode_times_backward", &encode_times_backward);
  module.def("attend_last", &attend_last);
  module.def("attend_last_backward", &attend_last_backward);
  module.def("sum_neighbours", &sum_neighbours);
  module.def("peak_gflops", &peak_gflops);
  module.def("instruction_sets", &instruction_sets);
}
