#include "lstm.hpp"

#include <algorithm>
#include <chrono>

#include "memory_pool.hpp"
#include "packing.hpp"

namespace gtea {
namespace {

constexpr int64_t WINDOW = std::max(MAX_WINDOW, MAX_ROWS);  // events of a window, at most

// Cuts a buffer into pieces, each on a cache line boundary.
class Pieces {
 public:
  explicit Pieces(float* buffer = nullptr) : buffer_(buffer) {}

  // Without a buffer it only counts.
  float* next(int64_t num_floats) {
    float* const piece = buffer_ ? buffer_ + used_ : nullptr;
    used_ += (num_floats + 15) / 16 * 16;
    return piece;
  }

  int64_t used() const { return used_; }

 private:
  float* buffer_;
  int64_t used_ = 0;
};

std::vector<LayerShape> shapes_of(const Problem& problem, const InstructionSet& isa) {
  std::vector<LayerShape> shapes;
  for (int layer = 0; layer < problem.num_layers; ++layer)
    shapes.emplace_back(layer ? problem.d : problem.d_in, problem.d, isa);
  return shapes;
}

// What one layer of one encoder remembers of a chunk's walk: h and c after every step, with the first state before them,
// and the gates. For inference, h of one window and the present c.
struct Memory {
  float* h;
  float* c;
  float* gates;
};

Memory cut_saved(Pieces& pieces, const Chunk& chunk, const LayerShape& shape) {
  const int64_t states = (chunk.rows + chunk.num_events) * shape.d_pad;
  float* const h = pieces.next(states);
  float* const c = pieces.next(states);
  return {h, c, pieces.next(chunk.num_events * shape.num_gates)};
}

int64_t saved_by_chunk(const Problem& problem, const Chunk& chunk, const LayerShape& shape) {
  Pieces pieces;
  cut_saved(pieces, chunk, shape);
  return pieces.used() * problem.num_encoders * problem.num_layers;
}

// Where each chunk's memory starts, task by task.
std::vector<std::vector<int64_t>> saved_places(const Problem& problem, const Plan& plan, const LayerShape& shape) {
  std::vector<std::vector<int64_t>> places(plan.tasks.size());
  int64_t next = 0;
  for (size_t task = 0; task < plan.tasks.size(); ++task) {
    for (const Chunk& chunk : plan.tasks[task]) {
      places[task].push_back(next);
      next += saved_by_chunk(problem, chunk, shape);
    }
  }
  return places;
}

// One chunk, for the passes in both directions.
struct Walk {
  const Problem& problem;
  const Plan& plan;
  const InstructionSet& isa;
  const std::vector<LayerShape>& shapes;
  const Chunk& chunk;
  const Steps& steps;

  int64_t d() const { return problem.d; }
  int64_t d_pad() const { return shapes[0].d_pad; }
  int64_t edge(int64_t row) const { return plan.order[chunk.first + row]; }
  int64_t num_steps() const { return static_cast<int64_t>(steps.rows.size()); }
  int64_t rows_at(int64_t step) const { return step < num_steps() ? steps.rows[step] : 0; }
  bool has_state() const { return !problem.h.empty(); }

  // A state row of a user's tensor [num_layers, num_edges, d].
  int64_t outside(int layer, int64_t row) const { return (layer * problem.num_edges + edge(row)) * d(); }

  void copy_in(const float* from, float* to) const {
    std::copy(from, from + d(), to);
    std::fill(to + d(), to + d_pad(), 0.f);
  }

  // The events of a window, step by step, filled up to whole vectors.
  void gather_x(const Window& window, float* to) const {
    const int64_t d_in = problem.d_in, d_in_pad = shapes[0].d_in_pad;
    for (int64_t step = window.first_step; step < window.last_step; ++step) {
      for (int64_t row = 0; row < steps.rows[step]; ++row, to += d_in_pad) {
        const float* const from = problem.x + (problem.offset[edge(row)] + step) * d_in;
        std::copy(from, from + d_in, to);
        std::fill(to + d_in, to + d_in_pad, 0.f);
      }
    }
  }

  void scatter_x(const Window& window, const float* from, bool add, float* to) const {
    const int64_t d_in = problem.d_in, d_in_pad = shapes[0].d_in_pad;
    for (int64_t step = window.first_step; step < window.last_step; ++step) {
      for (int64_t row = 0; row < steps.rows[step]; ++row, from += d_in_pad) {
        float* const out = to + (problem.offset[edge(row)] + step) * d_in;
        if (add)
          for (int64_t j = 0; j < d_in; ++j) out[j] += from[j];
        else
          std::copy(from, from + d_in, out);
      }
    }
  }
};

struct PackedForward {
  const float* weights;
  const float* bias;
};

class ForwardWalk : Walk {
 public:
  ForwardWalk(const Walk& walk, int encoder, bool keeps, const PackedForward* packed, const Memory* memory, float* x,
              float* h_out, float* c_out)
      : Walk(walk), encoder_(encoder), keeps_(keeps), packed_(packed), memory_(memory), x_(x), h_out_(h_out),
        c_out_(c_out) {}

  void run() {
    if (has_state())
      for (int layer = 0; layer < problem.num_layers; ++layer) copy_state_in(layer);
    for (const Window& window : steps.windows) {
      gather_x(window, x_);
      for (int layer = 0; layer < problem.num_layers; ++layer) {
        for (int64_t step = window.first_step; step < window.last_step; ++step) {
          one_step(layer, window, step);
          copy_finished_out(layer, window, step);
        }
        if (!keeps_) carry_over(layer, window);
      }
    }
  }

 private:
  // Where a step's states begin. The chunk's first rows are the state that the walk, or the window, starts from.
  int64_t place(const Window& window, int64_t step) const {
    const int64_t skipped = keeps_ ? 0 : steps.before[window.first_step];
    return (chunk.rows + steps.before[step] - skipped) * d_pad();
  }

  int64_t place_before(const Window& window, int64_t step) const {
    const int64_t first = keeps_ ? 0 : window.first_step;
    return step == first ? 0 : place(window, step - 1);
  }

  void one_step(int layer, const Window& window, int64_t step) {
    const LayerShape& shape = shapes[layer];
    const Memory& own = memory_[layer];
    const bool from_zero = step == 0 && !has_state();
    StepForward s;
    s.rows = steps.rows[step];
    s.d_in = shape.d_in;
    s.d = shape.d;
    s.num_blocks = shape.num_blocks;
    s.x = layer ? memory_[layer - 1].h + place(window, step)
                : x_ + (steps.before[step] - steps.before[window.first_step]) * shape.d_in_pad;
    s.x_stride = layer ? shape.d_pad : shape.d_in_pad;
    s.h = from_zero ? nullptr : own.h + place_before(window, step);
    s.c = from_zero ? nullptr : own.c + (keeps_ ? place_before(window, step) : 0);
    s.h_out = own.h + place(window, step);
    s.c_out = own.c + (keeps_ ? place(window, step) : 0);
    s.gates = own.gates + (keeps_ ? steps.before[step] * 4 * shape.width : 0);
    s.gates_block = keeps_ ? chunk.num_events * 4 * shape.width : 0;
    s.weights = packed_[layer].weights;
    s.bias = packed_[layer].bias;
    isa.step_forward(s);
  }

  void copy_state_in(int layer) {
    for (int64_t row = 0; row < chunk.rows; ++row) {
      copy_in(problem.h[encoder_] + outside(layer, row), memory_[layer].h + row * d_pad());
      copy_in(problem.c[encoder_] + outside(layer, row), memory_[layer].c + row * d_pad());
    }
  }

  void copy_finished_out(int layer, const Window& window, int64_t step) {
    const float* const h = memory_[layer].h + place(window, step);
    const float* const c = memory_[layer].c + (keeps_ ? place(window, step) : 0);
    for (int64_t row = rows_at(step + 1); row < steps.rows[step]; ++row) {
      std::copy_n(h + row * d_pad(), d(), h_out_ + outside(layer, row));
      std::copy_n(c + row * d_pad(), d(), c_out_ + outside(layer, row));
    }
  }

  // The next window starts from where this one ends.
  void carry_over(int layer, const Window& window) {
    const float* const h = memory_[layer].h + place(window, window.last_step - 1);
    std::copy_n(h, rows_at(window.last_step) * d_pad(), memory_[layer].h);
  }

  int encoder_;
  bool keeps_;
  const PackedForward* packed_;
  const Memory* memory_;
  float* x_;
  float* h_out_;
  float* c_out_;
};

struct PackedBackward {
  const float* u;
  const float* w;
};

// Sums of one layer's weight gradients.
struct Sums {
  float* w;
  float* u;
  float* b;
};

Sums cut_sums(float* from, const LayerShape& shape) {
  float* const u = from + shape.num_gates * shape.d_in_pad;
  return {from, u, u + shape.num_gates * shape.d_pad};
}

// Room for a window on the way back, and for what flows from step to step.
struct Scratch {
  float *x, *h_before, *dgates, *dx;
  std::vector<float*> dh, dc;  // by layer
};

Scratch cut_scratch(Pieces& pieces, const std::vector<LayerShape>& shapes) {
  const LayerShape& first = shapes[0];
  Scratch s;
  s.x = pieces.next(WINDOW * first.d_in_pad);
  s.h_before = pieces.next(WINDOW * first.d_pad);
  s.dgates = pieces.next(WINDOW * first.num_gates);
  s.dx = pieces.next(WINDOW * std::max(first.d_in_pad, first.d_pad));
  for (size_t layer = 0; layer < shapes.size(); ++layer) {
    s.dh.push_back(pieces.next(MAX_ROWS * first.d_pad));
    s.dc.push_back(pieces.next(MAX_ROWS * first.d_pad));
  }
  return s;
}

class BackwardWalk : Walk {
 public:
  BackwardWalk(const Walk& walk, int encoder, bool adds_x, const PackedBackward* packed, const Memory* memory,
               const Sums* sums, const Scratch& scratch, const Gradients& gradients)
      : Walk(walk), encoder_(encoder), adds_x_(adds_x), packed_(packed), memory_(memory), sums_(sums),
        scratch_(scratch), gradients_(gradients) {}

  void run() {
    for (auto window = steps.windows.rbegin(); window != steps.windows.rend(); ++window) {
      gather_x(*window, scratch_.x);
      for (int layer = problem.num_layers - 1; layer >= 0; --layer) {
        for (int64_t step = window->last_step - 1; step >= window->first_step; --step) one_step(layer, *window, step);
        add_up(layer, *window);
        if (layer || gradients_.x) to_input(layer, *window);
      }
      if (gradients_.x) scatter_x(*window, scratch_.dx, adds_x_, gradients_.x);
    }
    if (!gradients_.h.empty())
      for (int layer = 0; layer < problem.num_layers; ++layer) copy_state_out(layer);
  }

 private:
  int64_t place(int64_t step) const { return (chunk.rows + steps.before[step]) * d_pad(); }
  int64_t place_before(int64_t step) const { return step ? place(step - 1) : 0; }
  bool from_zero(int64_t step) const { return step == 0 && !has_state(); }
  int64_t num_events(const Window& window) const {
    return steps.before[window.last_step] - steps.before[window.first_step];
  }

  void one_step(int layer, const Window& window, int64_t step) {
    const LayerShape& shape = shapes[layer];
    const int64_t slot = steps.before[step] - steps.before[window.first_step];
    const bool top = layer + 1 == problem.num_layers;
    start_finished(layer, step);
    StepBackward s;
    s.rows = steps.rows[step];
    s.num_blocks = shape.num_blocks;
    s.gates = memory_[layer].gates + steps.before[step] * 4 * shape.width;
    s.gates_block = chunk.num_events * 4 * shape.width;
    s.c = memory_[layer].c + place(step);
    s.c_before = from_zero(step) ? nullptr : memory_[layer].c + place_before(step);
    s.dh = scratch_.dh[layer];
    s.dh_above = top ? nullptr : scratch_.dx + slot * d_pad();
    s.dc = scratch_.dc[layer];
    s.dgates = scratch_.dgates + slot * 4 * shape.width;
    s.dgates_block = WINDOW * 4 * shape.width;
    isa.step_backward(s);
    if (step || !gradients_.h.empty()) {
      isa.panels_times_weights({s.rows, s.num_blocks, s.dgates, s.dgates_block, packed_[layer].u, shape.num_blocks,
                                scratch_.dh[layer], d_pad()});
    }
  }

  // Histories whose last event this step is begin their way back with the gradient from outside.
  void start_finished(int layer, int64_t step) {
    for (int64_t row = rows_at(step + 1); row < steps.rows[step]; ++row) {
      start_row(gradients_.h_out[encoder_], layer, row, scratch_.dh[layer]);
      start_row(gradients_.c_out[encoder_], layer, row, scratch_.dc[layer]);
    }
  }

  void start_row(const float* from, int layer, int64_t row, float* to) {
    if (from)
      copy_in(from + outside(layer, row), to + row * d_pad());
    else
      std::fill_n(to + row * d_pad(), d_pad(), 0.f);
  }

  void add_up(int layer, const Window& window) {
    const LayerShape& shape = shapes[layer];
    WeightGradient m;
    m.rows = num_events(window);
    m.num_blocks = shape.num_blocks;
    m.panels = scratch_.dgates;
    m.panels_block = WINDOW * 4 * shape.width;
    m.x = layer ? memory_[layer - 1].h + place(window.first_step) : scratch_.x;
    m.num_vectors = shape.d_in_pad / shape.width;
    m.sums = sums_[layer].w;
    isa.weight_gradient(m);
    m.sums = sums_[layer].b;
    isa.bias_gradient(m);
    if (from_zero(window.first_step)) return;  // and then it is the window's only step
    m.x = h_before(layer, window);
    m.num_vectors = shape.num_blocks;
    m.sums = sums_[layer].u;
    isa.weight_gradient(m);
  }

  // h before each event of a window; where it is a single step, they already stand one after the other.
  const float* h_before(int layer, const Window& window) {
    const float* const h = memory_[layer].h;
    if (window.last_step - window.first_step == 1) return h + place_before(window.first_step);
    float* to = scratch_.h_before;
    for (int64_t step = window.first_step; step < window.last_step; ++step)
      to = std::copy_n(h + place_before(step), steps.rows[step] * d_pad(), to);
    return scratch_.h_before;
  }

  void to_input(int layer, const Window& window) {
    const LayerShape& shape = shapes[layer];
    isa.panels_times_weights({num_events(window), shape.num_blocks, scratch_.dgates, WINDOW * 4 * shape.width,
                              packed_[layer].w, shape.d_in_pad / shape.width, scratch_.dx, shape.d_in_pad});
  }

  void copy_state_out(int layer) {
    for (int64_t row = 0; row < chunk.rows; ++row) {
      std::copy_n(scratch_.dh[layer] + row * d_pad(), d(), gradients_.h[encoder_] + outside(layer, row));
      std::copy_n(scratch_.dc[layer] + row * d_pad(), d(), gradients_.c[encoder_] + outside(layer, row));
    }
  }

  int encoder_;
  bool adds_x_;  // to what another encoder has already written
  const PackedBackward* packed_;
  const Memory* memory_;
  const Sums* sums_;
  const Scratch& scratch_;
  const Gradients& gradients_;
};

// Edges without events keep the state they have; so do gradients on their way back.
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

}  // namespace

int64_t num_saved(const Problem& problem, const Plan& plan, const InstructionSet& isa) {
  const LayerShape shape(problem.d_in, problem.d, isa);
  int64_t total = 0;
  for (const auto& task : plan.tasks)
    for (const Chunk& chunk : task) total += saved_by_chunk(problem, chunk, shape);
  return total;
}

void forward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run, float* saved,
             const std::vector<float*>& h_out, const std::vector<float*>& c_out) {
  const std::vector<LayerShape> shapes = shapes_of(problem, isa);
  const int num_layers = problem.num_layers, num_tasks = static_cast<int>(plan.tasks.size());
  for (int encoder = 0; encoder < problem.num_encoders; ++encoder) {
    pass_through(problem, problem.h.empty() ? nullptr : problem.h[encoder], h_out[encoder]);
    pass_through(problem, problem.c.empty() ? nullptr : problem.c[encoder], c_out[encoder]);
  }
  if (!plan.num_events) return;

  int64_t num_packed = 0;
  for (const LayerShape& shape : shapes) num_packed += shape.num_forward() + shape.num_gates;
  const Buffer packed_buffer = borrow(num_packed * problem.num_encoders);
  std::vector<PackedForward> packed;
  float* next = packed_buffer.get();
  for (const LayerWeights& weights : problem.weights) {
    const LayerShape& shape = shapes[packed.size() % num_layers];
    pack_forward(shape, weights, next, next + shape.num_forward());
    packed.push_back({next, next + shape.num_forward()});
    next += shape.num_forward() + shape.num_gates;
  }

  const auto places = saved_places(problem, plan, shapes[0]);
  const Chunk largest{0, MAX_ROWS, WINDOW};
  const int64_t num_scratch = WINDOW * shapes[0].d_in_pad + saved_by_chunk(problem, largest, shapes[0]) + 16;
  std::vector<Buffer> scratch;
  for (int task = 0; task < num_tasks; ++task) scratch.push_back(borrow(num_scratch));

  run(num_tasks, [&](int task) {
    Steps steps;
    for (size_t i = 0; i < plan.tasks[task].size(); ++i) {
      const Chunk& chunk = plan.tasks[task][i];
      lay_out_steps(problem.offset, plan, chunk, problem.h.empty(), steps);
      const Walk walk{problem, plan, isa, shapes, chunk, steps};
      Pieces room(scratch[task].get());
      float* const x = room.next(WINDOW * shapes[0].d_in_pad);
      Pieces kept(saved ? saved + places[task][i] : room.next(0));
      for (int encoder = 0; encoder < problem.num_encoders; ++encoder) {
        std::vector<Memory> memory;
        for (const LayerShape& shape : shapes) memory.push_back(cut_saved(kept, saved ? chunk : largest, shape));
        ForwardWalk(walk, encoder, saved != nullptr, &packed[encoder * num_layers], memory.data(), x, h_out[encoder],
                    c_out[encoder])
            .run();
      }
    }
  });
}

void backward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run,
              const float* saved, const Gradients& gradients) {
  const std::vector<LayerShape> shapes = shapes_of(problem, isa);
  const int num_layers = problem.num_layers, num_tasks = static_cast<int>(plan.tasks.size());
  for (int encoder = 0; encoder < problem.num_encoders && !gradients.h.empty(); ++encoder) {
    pass_through(problem, gradients.h_out[encoder], gradients.h[encoder]);
    pass_through(problem, gradients.c_out[encoder], gradients.c[encoder]);
  }

  int64_t num_packed = 0, num_sums = 0;
  for (const LayerShape& shape : shapes) {
    num_packed += shape.num_gates * (shape.d_pad + shape.d_in_pad);
    num_sums += shape.num_sums();
  }
  const Buffer packed_buffer = borrow(num_packed * problem.num_encoders);
  std::vector<PackedBackward> packed;
  float* next = packed_buffer.get();
  for (const LayerWeights& weights : problem.weights) {
    const LayerShape& shape = shapes[packed.size() % num_layers];
    float* const w = next + shape.num_gates * shape.d_pad;
    pack_backward(shape, weights.u, shape.d, shape.d_pad, next);
    pack_backward(shape, weights.w, shape.d_in, shape.d_in_pad, w);
    packed.push_back({next, w});
    next = w + shape.num_gates * shape.d_in_pad;
  }

  Pieces counted;
  cut_scratch(counted, shapes);
  const int64_t task_stride = num_sums * problem.num_encoders;
  const Buffer sums_buffer = borrow(task_stride * num_tasks);
  std::vector<Buffer> scratch_buffers;
  for (int task = 0; task < num_tasks; ++task) scratch_buffers.push_back(borrow(counted.used()));
  const auto places = saved_places(problem, plan, shapes[0]);

  run(num_tasks, [&](int task) {
    float* const own_sums = sums_buffer.get() + task * task_stride;
    std::fill_n(own_sums, task_stride, 0.f);
    std::vector<Sums> sums;
    float* next_sums = own_sums;
    for (int i = 0; i < problem.num_encoders * num_layers; ++i) {
      sums.push_back(cut_sums(next_sums, shapes[i % num_layers]));
      next_sums += shapes[i % num_layers].num_sums();
    }
    Pieces pieces(scratch_buffers[task].get());
    const Scratch scratch = cut_scratch(pieces, shapes);
    Steps steps;
    for (size_t i = 0; i < plan.tasks[task].size(); ++i) {
      const Chunk& chunk = plan.tasks[task][i];
      lay_out_steps(problem.offset, plan, chunk, problem.h.empty(), steps);
      const Walk walk{problem, plan, isa, shapes, chunk, steps};
      Pieces kept(const_cast<float*>(saved) + places[task][i]);  // only read from
      bool x_written = false;
      for (int encoder = 0; encoder < problem.num_encoders; ++encoder) {
        std::vector<Memory> memory;
        for (const LayerShape& shape : shapes) memory.push_back(cut_saved(kept, chunk, shape));
        if (!gradients.reach(encoder)) continue;
        BackwardWalk(walk, encoder, x_written, &packed[encoder * num_layers], memory.data(),
                     &sums[encoder * num_layers], scratch, gradients)
            .run();
        x_written = true;
      }
    }
  });

  float* first = sums_buffer.get();
  for (int i = 0; i < problem.num_encoders * num_layers; ++i) {
    const LayerShape& shape = shapes[i % num_layers];
    const Sums sums = cut_sums(first, shape);
    const LayerGradients& to = gradients.weights[i];
    unpack_sums(shape, sums.w, num_tasks, task_stride, shape.d_in, shape.d_in_pad, to.w);
    unpack_sums(shape, sums.u, num_tasks, task_stride, shape.d, shape.d_pad, to.u);
    unpack_sums(shape, sums.b, num_tasks, task_stride, 1, 1, to.b);
    first += shape.num_sums();
  }
}

double peak_gflops(const InstructionSet& isa, const Runner& run, int num_threads) {
  constexpr int64_t repeats = 2'000'000;
  const double operations = 2.0 * isa.multiply_adds_per_repeat * repeats * num_threads;
  double best = 0;
  std::vector<float> results(num_threads);  // so that no compiler finds the work useless
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    run(num_threads, [&](int task) { results[task] = isa.multiply_adds(repeats); });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / elapsed.count() / 1e9);
  }
  return best;
}

}  // namespace gtea
