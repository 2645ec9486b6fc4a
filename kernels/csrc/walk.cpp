#include "walk.hpp"

#include <atomic>

namespace gtea {

std::vector<LayerShape> shapes_of(const Problem& problem, const InstructionSet& isa) {
  std::vector<LayerShape> shapes;
  for (int layer = 0; layer < problem.num_layers; ++layer)
    shapes.emplace_back(layer ? problem.d : problem.d_in, problem.d, isa);
  return shapes;
}

void pass_through(const Problem& problem, const float* from, float* to) {
  for (int64_t edge = 0; edge < problem.num_edges; ++edge) {
    if (problem.offset[edge] != problem.offset[edge + 1]) continue;
    for (int layer = 0; layer < problem.num_layers; ++layer) {
      const int64_t at = (layer * problem.num_edges + edge) * problem.d;
      if (from)
        std::copy_n(from + at, problem.d, to + at);
      else
        std::fill_n(to + at, problem.d, 0.f);
    }
  }
}

void work_through(const Plan& plan, const Runner& run, const std::function<void(int, int)>& work) {
  std::atomic<int> next{0};
  const int num_tasks = static_cast<int>(plan.tasks.size());
  run(plan.num_threads, [&](int thread) {
    for (int task = next++; task < num_tasks; task = next++) work(thread, task);
  });
}

void Walk::gather_x(const Window& window, float* to) const {
  constexpr int64_t ahead = 8;  // rows to prefetch: their events are far apart, unknown to the hardware
  const int64_t d_in = problem.d_in, d_in_pad = shapes[0].d_in_pad;
  for (int64_t step = window.first_step; step < window.last_step; ++step) {
    for (int64_t row = 0; row < steps.rows[step]; ++row, to += d_in_pad) {
      if (row + ahead < steps.rows[step]) __builtin_prefetch(event_of(problem.x, row + ahead, step));
      std::copy_n(event_of(problem.x, row, step), d_in, to);
      for (int64_t j = d_in; j < d_in_pad; ++j) to[j] = 0.f;
    }
  }
}

void Walk::scatter_x(const Window& window, const float* from, float* to) const {
  for (int64_t step = window.first_step; step < window.last_step; ++step)
    for (int64_t row = 0; row < steps.rows[step]; ++row, from += shapes[0].d_in_pad)
      std::copy_n(from, problem.d_in, event_of(to, row, step));
}

}  // namespace gtea
