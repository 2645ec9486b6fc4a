// Which histories are read together, and by whom.
#pragma once

#include <cstdint>
#include <vector>

namespace gtea {

// Histories that walk through time together, the longest first: those still going are always the first rows.
struct Chunk {
  int64_t first;       // of its edges in Plan::order
  int64_t rows;
  int64_t num_events;  // of all of its edges
};

struct Plan {
  int num_threads;
  std::vector<int64_t> order;               // edges that have events
  std::vector<std::vector<Chunk>> tasks;    // whoever is free takes the next one; no chunk is shared
  int64_t num_events = 0;
};

// Edges are dealt out in turn from long to short, so that all threads have about the same number of events, and the same
// number of threads always gives the same plan. A thread's share is cut into tasks, each half of what is left: one that
// is held up leaves the last and smallest to the others.
Plan make_plan(const int64_t* offset, int64_t num_edges, int num_threads);

// How many threads a number of events is worth.
int num_threads_for(int64_t num_events, int num_threads);

constexpr int64_t MAX_ROWS = 128;          // of a chunk: what its steps touch stays in the second-level cache
constexpr int64_t MAX_WINDOW = 128;        // events between two updates of the sums of weight gradients, for the same reason

// Steps [first_step, last_step) of a chunk, at most MAX_WINDOW events unless it is a single step.
struct Window {
  int64_t first_step, last_step;
};

// A chunk's steps: how many rows are still going at each, and how many events come before it.
struct Steps {
  std::vector<int64_t> first_event;  // of each row
  std::vector<int64_t> rows;
  std::vector<int64_t> before;  // one more than rows; the last is all events
  std::vector<Window> windows;
};

// With first_alone, the first step is a window of its own: without a state to start from it is a smaller problem.
void lay_out_steps(const int64_t* offset, const Plan& plan, const Chunk& chunk, bool first_alone, Steps& steps);

}  // namespace gtea
