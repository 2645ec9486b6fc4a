// Which edges are processed together, and how the work is divided among threads.
#pragma once

#include <cstdint>
#include <vector>

namespace gtea {

// Edges that are processed step by step together, the longest first: at each step the unfinished ones are the first
// rows.
struct Chunk {
  int64_t first;       // index into Plan::order
  int64_t rows;
  int64_t num_events;  // of all of its edges
};

struct Plan {
  int num_threads;
  std::vector<int64_t> order;               // edges with events
  std::vector<std::vector<Chunk>> tasks;    // a free thread takes the next one; no chunk is split
  int64_t num_events = 0;
};

// Edges are sorted from long to short and dealt to threads in turn, so that all threads have about the same number of
// events. The plan depends only on the offsets and the number of threads. A thread's share is divided into tasks, each
// half of what is left, so that other threads can take over the last, small ones of a thread that is delayed.
Plan make_plan(const int64_t* offset, int64_t num_edges, int num_threads);

// How many threads are worth using for a number of events.
int num_threads_for(int64_t num_events, int num_threads);

constexpr int64_t MAX_ROWS = 128;          // of a chunk: the data of a step stays in the L2 cache
constexpr int64_t MAX_WINDOW = 128;        // events between two updates of the weight gradients, for the same reason

// Steps [first_step, last_step) of a chunk: at most MAX_WINDOW events, or a single step.
struct Window {
  int64_t first_step, last_step;
};

// A chunk's steps: the number of unfinished rows at each, and the number of events before it.
struct Steps {
  std::vector<int64_t> first_event;  // of each row
  std::vector<int64_t> rows;
  std::vector<int64_t> before;  // one longer than rows; the last entry is the total
  std::vector<Window> windows;
};

// With first_alone, the first step is a window of its own: without a first state, its products with h can be skipped.
void lay_out_steps(const int64_t* offset, const Plan& plan, const Chunk& chunk, bool first_alone, Steps& steps);

}  // namespace gtea
