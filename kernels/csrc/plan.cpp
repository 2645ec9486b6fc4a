#include "plan.hpp"

#include <algorithm>

namespace gtea {
namespace {

constexpr int64_t COUNTABLE = 1 << 16;  // lengths up to here are sorted by counting

// Edges with events from long to short; those of the same length in the order given.
std::vector<int64_t> from_long_to_short(const int64_t* offset, int64_t num_edges) {
  const auto length = [offset](int64_t edge) { return offset[edge + 1] - offset[edge]; };
  int64_t longest = 0, occupied = 0;
  for (int64_t edge = 0; edge < num_edges; ++edge) {
    longest = std::max(longest, length(edge));
    occupied += length(edge) > 0;
  }
  std::vector<int64_t> order(occupied);
  if (longest <= COUNTABLE) {
    std::vector<int64_t> place(longest + 2);
    for (int64_t edge = 0; edge < num_edges; ++edge) ++place[longest - length(edge) + 1];
    for (int64_t i = 1; i <= longest; ++i) place[i] += place[i - 1];
    for (int64_t edge = 0; edge < num_edges; ++edge)
      if (length(edge)) order[place[longest - length(edge)]++] = edge;
  } else {
    int64_t next = 0;
    for (int64_t edge = 0; edge < num_edges; ++edge)
      if (length(edge)) order[next++] = edge;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  }
  return order;
}

}  // namespace

int num_tasks_for(int64_t num_events, int num_threads) {
  constexpr int64_t worth_a_thread = 256;
  return static_cast<int>(std::clamp<int64_t>(num_events / worth_a_thread, 1, std::max(num_threads, 1)));
}

Plan make_plan(const int64_t* offset, int64_t num_edges, int num_tasks) {
  Plan plan;
  const std::vector<int64_t> sorted = from_long_to_short(offset, num_edges);
  const int64_t num_occupied = static_cast<int64_t>(sorted.size());
  plan.order.reserve(sorted.size());
  plan.tasks.resize(num_tasks);
  for (int task = 0; task < num_tasks; ++task) {
    Chunk chunk{0, 0, 0};
    for (int64_t i = task; i < num_occupied; i += num_tasks) {
      if (!chunk.rows) chunk.first = static_cast<int64_t>(plan.order.size());
      plan.order.push_back(sorted[i]);
      chunk.num_events += offset[sorted[i] + 1] - offset[sorted[i]];
      if (++chunk.rows == MAX_ROWS || i + num_tasks >= num_occupied) {
        plan.num_events += chunk.num_events;
        plan.tasks[task].push_back(chunk);
        chunk = Chunk{0, 0, 0};
      }
    }
  }
  return plan;
}

void lay_out_steps(const int64_t* offset, const Plan& plan, const Chunk& chunk, bool first_alone, Steps& steps) {
  const auto length = [&](int64_t row) {
    const int64_t edge = plan.order[chunk.first + row];
    return offset[edge + 1] - offset[edge];
  };
  steps.rows.clear();
  steps.before.assign(1, 0);
  steps.windows.clear();
  int64_t rows = chunk.rows;
  for (int64_t step = 0; step < length(0); ++step) {
    while (length(rows - 1) <= step) --rows;
    steps.rows.push_back(rows);
    steps.before.push_back(steps.before.back() + rows);
    const bool alone = first_alone && step == 1;
    if (steps.windows.empty() || alone ||
        steps.before.back() - steps.before[steps.windows.back().first_step] > MAX_WINDOW)
      steps.windows.push_back({step, step});
    steps.windows.back().last_step = step + 1;
  }
}

}  // namespace gtea
