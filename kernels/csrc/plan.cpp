#include "plan.hpp"

#include <algorithm>

namespace gtea {
namespace {

constexpr int64_t COUNTABLE = 1 << 16;  // up to this length, edges are sorted by counting

// Edges with events, from long to short; stable.
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

// Divides one thread's chunks into tasks, each half of the remaining events, but at least a sixteenth of all.
std::vector<std::vector<Chunk>> cut_share(const std::vector<Chunk>& share) {
  int64_t num_events = 0;
  for (const Chunk& chunk : share) num_events += chunk.num_events;
  std::vector<std::vector<Chunk>> tasks;
  int64_t left = num_events, task_end = num_events;
  for (const Chunk& chunk : share) {
    if (left <= task_end) {
      tasks.emplace_back();
      task_end = left / 2 < num_events / 16 ? 0 : left / 2;
    }
    tasks.back().push_back(chunk);
    left -= chunk.num_events;
  }
  return tasks;
}

}  // namespace

int num_threads_for(int64_t num_events, int num_threads) {
  constexpr int64_t worth_a_thread = 256;
  return static_cast<int>(std::clamp<int64_t>(num_events / worth_a_thread, 1, std::max(num_threads, 1)));
}

Plan make_plan(const int64_t* offset, int64_t num_edges, int num_threads) {
  Plan plan;
  plan.num_threads = num_threads;
  const std::vector<int64_t> sorted = from_long_to_short(offset, num_edges);
  const int64_t num_occupied = static_cast<int64_t>(sorted.size());
  plan.order.reserve(sorted.size());
  std::vector<std::vector<std::vector<Chunk>>> shares;
  for (int thread = 0; thread < num_threads; ++thread) {
    std::vector<Chunk> share;
    Chunk chunk{0, 0, 0};
    for (int64_t i = thread; i < num_occupied; i += num_threads) {
      if (!chunk.rows) chunk.first = static_cast<int64_t>(plan.order.size());
      plan.order.push_back(sorted[i]);
      chunk.num_events += offset[sorted[i] + 1] - offset[sorted[i]];
      if (++chunk.rows == MAX_ROWS || i + num_threads >= num_occupied) {
        plan.num_events += chunk.num_events;
        share.push_back(chunk);
        chunk = Chunk{0, 0, 0};
      }
    }
    shares.push_back(cut_share(share));
  }
  // Round-robin over the shares, so that large tasks come first.
  size_t most = 1;
  for (const auto& share : shares) most = std::max(most, share.size());
  for (size_t i = 0; i < most; ++i)
    for (auto& share : shares)
      if (i < share.size()) plan.tasks.push_back(std::move(share[i]));
  if (plan.tasks.empty()) plan.tasks.emplace_back();  // no events: one empty task, whose gradient sums are zero
  return plan;
}

void lay_out_steps(const int64_t* offset, const Plan& plan, const Chunk& chunk, bool first_alone, Steps& steps) {
  const auto length = [&](int64_t row) {
    const int64_t edge = plan.order[chunk.first + row];
    return offset[edge + 1] - offset[edge];
  };
  steps.first_event.clear();
  for (int64_t row = 0; row < chunk.rows; ++row) steps.first_event.push_back(offset[plan.order[chunk.first + row]]);
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
