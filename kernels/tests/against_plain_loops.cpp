// Runs the kernels on random shapes and compares with plain loops in double precision. check.sh builds this with
// sanitizers: inputs and outputs are vectors of exactly the right size, so that any access out of bounds is detected.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "last_attention.hpp"
#include "lstm.hpp"
#include "memory_pool.hpp"
#include "neighbour_sums.hpp"
#include "thread_pool.hpp"
#include "time_encoding.hpp"

namespace gtea {
extern const InstructionSet wide;
}

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

struct Case {
  int64_t num_edges, d_in, d;
  int num_encoders, num_layers, num_threads;
  bool has_state;
  std::vector<int64_t> offset;
  Floats x;
  std::vector<Floats> parameters, h, c, dh, dc;  // w, u, b per layer and encoder; states and gradients per encoder

  int64_t below(int layer) const { return layer ? d : d_in; }
  int64_t state(int layer, int64_t edge, int64_t unit) const { return (layer * num_edges + edge) * d + unit; }
};

std::mt19937 random_bits(0);

int64_t draw(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_bits); }

Floats draw_floats(int64_t size, float scale) {
  std::normal_distribution<float> normal(0.f, scale);
  Floats values(size);
  for (float& value : values) value = normal(random_bits);
  return values;
}

Case draw_case() {
  Case c;
  const bool many = draw(0, 2) == 0;  // more edges than a chunk has; then small sizes, as the plain loops are slow
  c.num_edges = many ? draw(130, 500) : draw(0, 12);
  c.d_in = many ? draw(1, 5) : draw(1, 40);
  c.d = many ? draw(1, 5) : draw(1, 37);
  c.num_encoders = draw(1, 2);
  c.num_layers = draw(1, 3);
  c.num_threads = draw(1, 3);
  c.has_state = draw(0, 1);
  c.offset.push_back(0);
  for (int64_t edge = 0; edge < c.num_edges; ++edge)
    c.offset.push_back(c.offset.back() + (draw(0, 9) ? draw(0, 3) : draw(0, 60)));
  c.x = draw_floats(c.offset.back() * c.d_in, 1.f);
  const float scale = 1.f / std::sqrt(static_cast<float>(c.d));
  const int64_t states = c.num_layers * c.num_edges * c.d;
  for (int encoder = 0; encoder < c.num_encoders; ++encoder) {
    for (int layer = 0; layer < c.num_layers; ++layer)
      for (const int64_t columns : {c.below(layer), c.d, int64_t(1)})
        c.parameters.push_back(draw_floats(4 * c.d * columns, scale));
    if (c.has_state) {
      c.h.push_back(draw_floats(states, 0.5f));
      c.c.push_back(draw_floats(states, 1.f));
    }
    c.dh.push_back(draw_floats(states, 1.f));
    c.dc.push_back(draw_floats(states, 1.f));
  }
  return c;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// sum(dh * h + dc * c) over the final states: its gradients are what the backward pass computes.
double loss(const Case& k, int encoder, const std::vector<Floats>& parameters, const Floats& x, const Floats* h_first,
            const Floats* c_first, Doubles* h_out, Doubles* c_out) {
  double total = 0;
  for (int64_t edge = 0; edge < k.num_edges; ++edge) {
    std::vector<Doubles> h(k.num_layers, Doubles(k.d)), c = h;
    for (int layer = 0; layer < k.num_layers; ++layer)
      for (int64_t unit = 0; h_first && unit < k.d; ++unit) {
        h[layer][unit] = (*h_first)[k.state(layer, edge, unit)];
        c[layer][unit] = (*c_first)[k.state(layer, edge, unit)];
      }
    for (int64_t event = k.offset[edge]; event < k.offset[edge + 1]; ++event) {
      Doubles in(x.begin() + event * k.d_in, x.begin() + (event + 1) * k.d_in);
      for (int layer = 0; layer < k.num_layers; ++layer) {
        const Floats* const p = &parameters[3 * (encoder * k.num_layers + layer)];
        Doubles gate(4 * k.d);
        for (int64_t g = 0; g < 4 * k.d; ++g) {
          gate[g] = p[2][g];
          for (size_t j = 0; j < in.size(); ++j) gate[g] += p[0][g * in.size() + j] * in[j];
          for (int64_t j = 0; j < k.d; ++j) gate[g] += p[1][g * k.d + j] * h[layer][j];
        }
        for (int64_t unit = 0; unit < k.d; ++unit) {
          c[layer][unit] = sigmoid(gate[k.d + unit]) * c[layer][unit] +
                           sigmoid(gate[unit]) * std::tanh(gate[2 * k.d + unit]);
          h[layer][unit] = sigmoid(gate[3 * k.d + unit]) * std::tanh(c[layer][unit]);
        }
        in = h[layer];
      }
    }
    for (int layer = 0; layer < k.num_layers; ++layer)
      for (int64_t unit = 0; unit < k.d; ++unit) {
        const int64_t at = k.state(layer, edge, unit);
        total += k.dh[encoder][at] * h[layer][unit] + k.dc[encoder][at] * c[layer][unit];
        if (h_out) (*h_out)[at] = h[layer][unit], (*c_out)[at] = c[layer][unit];
      }
  }
  return total;
}

int failures = 0;

void expect_close(double got, double expected, double tolerance, const char* what) {
  if (std::abs(got - expected) <= tolerance * (1 + std::abs(expected))) return;
  if (++failures < 20) std::printf("%s: got %.8g, expected %.8g\n", what, got, expected);
}

template <typename T>
std::vector<float*> pointers(std::vector<T>& of) {
  std::vector<float*> found;
  for (auto& values : of) found.push_back(values.data());
  return found;
}

void run_threads(int num_tasks, const std::function<void(int)>& task) { gtea::run_parallel(num_tasks, 3, task); }

// Checks one random entry of a gradient by central differences of the plain loops.
void check_gradient(const char* what, const Floats& gradient, Floats& value, const std::function<double()>& total) {
  if (value.empty()) return;
  const int64_t at = draw(0, value.size() - 1);
  const float before = value[at], step = 1.f / 1024;
  value[at] = before + step;
  const double above = total(), up = value[at];
  value[at] = before - step;
  const double below = total(), down = value[at];
  value[at] = before;
  expect_close(gradient[at], (above - below) / (up - down), 2e-3, what);
}

void check(Case k, const gtea::InstructionSet& isa) {
  const int64_t states = k.num_layers * k.num_edges * k.d;
  gtea::Problem problem{k.num_edges, k.d_in, k.d, k.num_encoders, k.num_layers, k.offset.data(), k.x.data(), {}, {}, {}, -1};
  std::vector<Floats> dparameters = k.parameters;
  gtea::Gradients gradients;
  for (size_t i = 0; i < k.parameters.size(); i += 3) {
    problem.weights.push_back({k.parameters[i].data(), k.parameters[i + 1].data(), k.parameters[i + 2].data()});
    gradients.weights.push_back({dparameters[i].data(), dparameters[i + 1].data(), dparameters[i + 2].data()});
  }
  std::vector<Floats> h(k.num_encoders, Floats(states)), c = h, h_inferred = h, c_inferred = h, dh = h, dc = h;
  for (int encoder = 0; encoder < k.num_encoders; ++encoder) {
    if (k.has_state) {
      problem.h.push_back(k.h[encoder].data());
      problem.c.push_back(k.c[encoder].data());
    }
    gradients.h_out.push_back(k.dh[encoder].data());
    gradients.c_out.push_back(k.dc[encoder].data());
  }
  Floats dx(k.x.size());
  gradients.x = dx.data();
  if (k.has_state) gradients.h = pointers(dh), gradients.c = pointers(dc);

  const gtea::Plan plan = gtea::make_plan(k.offset.data(), k.num_edges, k.num_threads);
  Floats saved(gtea::num_saved(problem, plan, isa));
  gtea::forward(problem, plan, isa, run_threads, saved.data(), pointers(h), pointers(c));
  gtea::forward(problem, plan, isa, run_threads, nullptr, pointers(h_inferred), pointers(c_inferred));
  gtea::backward(problem, plan, isa, run_threads, saved.data(), gradients);

  if (h != h_inferred || c != c_inferred) ++failures, std::printf("inference differs from training\n");
  const auto total = [&] {
    double sum = 0;
    for (int encoder = 0; encoder < k.num_encoders; ++encoder)
      sum += loss(k, encoder, k.parameters, k.x, k.has_state ? &k.h[encoder] : nullptr,
                  k.has_state ? &k.c[encoder] : nullptr, nullptr, nullptr);
    return sum;
  };
  for (int encoder = 0; encoder < k.num_encoders; ++encoder) {
    Doubles h_plain(states), c_plain(states);
    loss(k, encoder, k.parameters, k.x, k.has_state ? &k.h[encoder] : nullptr, k.has_state ? &k.c[encoder] : nullptr,
         &h_plain, &c_plain);
    for (int64_t i = 0; i < states; ++i) {
      expect_close(h[encoder][i], h_plain[i], 1e-5, "h");
      expect_close(c[encoder][i], c_plain[i], 1e-5, "c");
    }
    if (k.has_state) {
      check_gradient("gradient of the first h", dh[encoder], k.h[encoder], total);
      check_gradient("gradient of the first c", dc[encoder], k.c[encoder], total);
    }
  }
  for (size_t i = 0; i < k.parameters.size(); ++i)
    check_gradient(i % 3 == 0 ? "w" : i % 3 == 1 ? "u" : "b", dparameters[i], k.parameters[i], total);
  check_gradient("x", dx, k.x, total);
}

// One mirrored pass against two separate passes: the same bits.
void check_mirror(const Case& k, const gtea::InstructionSet& isa) {
  const int64_t states = k.num_layers * k.num_edges * k.d, column = draw(0, k.d_in - 1);
  gtea::Problem problem{k.num_edges, k.d_in, k.d, k.num_encoders, k.num_layers, k.offset.data(), k.x.data(), {}, {}, {}, -1};
  for (size_t i = 0; i < k.parameters.size(); i += 3)
    problem.weights.push_back({k.parameters[i].data(), k.parameters[i + 1].data(), k.parameters[i + 2].data()});
  const gtea::Plan plan = gtea::make_plan(k.offset.data(), k.num_edges, k.num_threads);
  std::vector<Floats> alone(2 * k.num_encoders, Floats(states)), both = alone;
  const std::vector<float*> to = pointers(alone), no_c(2 * k.num_encoders, nullptr);
  gtea::forward(problem, plan, isa, run_threads, nullptr, to, no_c);
  Floats mirrored = k.x;
  for (size_t i = column; i < mirrored.size(); i += k.d_in) mirrored[i] = -mirrored[i];
  problem.x = mirrored.data();
  gtea::forward(problem, plan, isa, run_threads, nullptr, {to.begin() + k.num_encoders, to.end()}, no_c);
  problem.x = k.x.data();
  problem.mirror = column;
  gtea::forward(problem, plan, isa, run_threads, nullptr, pointers(both), no_c);
  if (alone != both) ++failures, std::printf("a mirrored pass differs from two separate ones\n");
}

void check_times(const gtea::InstructionSet& isa) {
  const int64_t num_events = draw(0, 3) ? draw(0, 40) : draw(4000, 9000), d_time = draw(1, 20), d_features = draw(0, 4);
  const int64_t width = d_time + d_features;
  const double longest = 1000;
  Floats time = draw_floats(num_events, 500.f), features = draw_floats(num_events * d_features, 1.f);
  Floats omega = draw_floats(d_time, 1e5f), phi = draw_floats(d_time, 3.f), gradient = draw_floats(num_events * width, 1.f);
  Floats out(num_events * width), domega(d_time), dphi(d_time);
  const gtea::Times times{num_events, d_time, time.data(), longest, omega.data(), phi.data()};
  gtea::encode_times(times, isa, run_threads, features.data(), d_features, out.data());
  gtea::encode_times_backward(times, isa, run_threads, gradient.data(), width, domega.data(), dphi.data());
  for (int64_t i = 0; i < d_time; ++i) {
    double sum_omega = 0, sum_phi = 0;
    for (int64_t event = 0; event < num_events; ++event) {
      const double t = time[event] / longest, phase = omega[i] * t + phi[i];
      expect_close(out[event * width + i], i ? std::cos(phase) : phase, 1e-6, "tau");
      const double of_phase = gradient[event * width + i] * (i ? -std::sin(phase) : 1);
      sum_omega += of_phase * t;
      sum_phi += of_phase;
    }
    expect_close(domega[i], sum_omega, 1e-4, "gradient of omega");
    expect_close(dphi[i], sum_phi, 1e-4, "gradient of phi");
  }
  for (int64_t i = 0; i < num_events * d_features; ++i)
    expect_close(out[i / d_features * width + d_time + i % d_features], features[i], 0, "features");
}

void check_attention(const gtea::InstructionSet& isa) {
  const int64_t num_edges = draw(0, 2) ? draw(0, 9) : draw(250, 600), heads = draw(1, 4), d_query = draw(1, 20);
  const int64_t d = draw(1, 36), row = heads * d_query;
  std::vector<int64_t> offset{0};
  for (int64_t edge = 0; edge < num_edges; ++edge) offset.push_back(offset.back() + draw(0, 5));
  const int64_t num_events = offset.back();
  Floats q = draw_floats(num_edges * row, 1.f), k = draw_floats(num_events * row, 1.f), e = draw_floats(num_events * d, 1.f);
  Floats dout = draw_floats(num_edges * heads * d, 1.f), out(dout.size()), weights(num_events * heads);
  Floats dq(q.size()), dk(k.size()), de(e.size());
  const float scale = 1.f / std::sqrt(static_cast<float>(d_query));
  const gtea::LastAttention all{0, num_edges, heads, d_query, d, scale, offset.data(), q.data(), k.data(), e.data()};
  gtea::attend_last(all, isa, run_threads, weights.data(), out.data());
  gtea::attend_last_backward(all, isa, run_threads, weights.data(), dout.data(), dq.data(), dk.data(), de.data());
  const auto plain = [&](Doubles* result) {
    double total = 0;
    for (int64_t edge = 0; edge < num_edges; ++edge) {
      for (int64_t head = 0; head < heads; ++head) {
        Doubles weight;
        double sum = 0;
        for (int64_t event = offset[edge]; event < offset[edge + 1]; ++event) {
          double logit = 0;
          for (int64_t i = head * d_query; i < (head + 1) * d_query; ++i)
            logit += double(q[edge * row + i]) * k[event * row + i];
          weight.push_back(std::exp(logit * scale));
          sum += weight.back();
        }
        for (int64_t i = 0; i < d; ++i) {
          double value = 0;
          for (size_t j = 0; j < weight.size(); ++j) value += weight[j] / sum * e[(offset[edge] + j) * d + i];
          const int64_t at = (edge * heads + head) * d + i;
          if (result) (*result)[at] = value;
          total += value * dout[at];
        }
      }
    }
    return total;
  };
  Doubles expected(out.size());
  plain(&expected);
  for (size_t i = 0; i < out.size(); ++i) expect_close(out[i], expected[i], 1e-5, "attention");
  const auto total = [&] { return plain(nullptr); };
  check_gradient("gradient of q", dq, q, total);
  check_gradient("gradient of k", dk, k, total);
  check_gradient("gradient of e", de, e, total);
}

void check_neighbours(const gtea::InstructionSet& isa) {
  const int64_t num_nodes = draw(1, 9), num_targets = draw(1, 5), num_slots = draw(0, 20);
  const int64_t d_edge = draw(0, 20), d_hidden = draw(1, 80);
  Floats from_node = draw_floats(num_nodes * d_hidden, 1.f), e = draw_floats(num_slots * d_edge, 1.f);
  Floats weights = draw_floats(d_hidden * d_edge, 1.f), alpha = draw_floats(num_slots, 1.f);
  Floats total = draw_floats(num_targets * d_hidden, 1.f);
  std::vector<int64_t> neighbour(num_slots), target(num_slots);
  for (int64_t i = 0; i < num_slots; ++i) neighbour[i] = draw(0, num_nodes - 1), target[i] = draw(0, num_targets - 1);
  Doubles expected(total.begin(), total.end());
  for (int64_t i = 0; i < num_slots; ++i)
    for (int64_t unit = 0; unit < d_hidden; ++unit) {
      double sum = from_node[neighbour[i] * d_hidden + unit];
      for (int64_t k = 0; k < d_edge; ++k) sum += double(weights[unit * d_edge + k]) * e[i * d_edge + k];
      expected[target[i] * d_hidden + unit] += alpha[i] * std::max(sum, 0.);
    }
  gtea::sum_neighbours({num_slots, d_edge, d_hidden, from_node.data(), e.data(), weights.data(), neighbour.data(),
                        target.data(), alpha.data(), total.data()},
                       isa);
  for (size_t i = 0; i < total.size(); ++i) expect_close(total[i], expected[i], 1e-4, "sum over neighbours");
}

// Several callers at once, each with more tasks than threads: every task runs exactly once, and an exception arrives.
void check_threads() {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&wrong] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int> runs(1 + round % 9);
        gtea::run_parallel(static_cast<int>(runs.size()), 1 + round % 4, [&](int task) { ++runs[task]; });
        wrong += std::count(runs.begin(), runs.end(), 1) != static_cast<int64_t>(runs.size());
        try {
          gtea::run_parallel(5, 3, [](int task) { if (task == 2) throw std::runtime_error("expected"); });
          ++wrong;
        } catch (const std::runtime_error&) {
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  if (wrong) ++failures, std::printf("the thread pool lost, repeated or swallowed something\n");
}

void check_all(const Case& drawn, const gtea::InstructionSet& isa) {
  check(drawn, isa);
  check_mirror(drawn, isa);
  check_times(isa);
  check_attention(isa);
  check_neighbours(isa);
}

}  // namespace

int main(int, char** arguments) {
  const int num_cases = std::atoi(arguments[1]);
  check_threads();
  for (int i = 0; i < num_cases; ++i) {
    const Case drawn = draw_case();
    for (const gtea::InstructionSet* isa : gtea::instruction_sets()) check_all(drawn, *isa);
    check_all(drawn, gtea::wide);
  }
  std::printf("%d cases, %d failures\n", num_cases, failures);
  return failures != 0;
}
