#include "memory_pool.hpp"
#include "packing.hpp"
#include "saved.hpp"
#include "walk.hpp"

namespace gtea {
namespace {

struct PackedBackward {
  const float* u;
  const float* w;
};

std::vector<PackedBackward> pack_all(const Problem& problem, const std::vector<LayerShape>& shapes, Buffer& buffer) {
  int64_t size = 0;
  for (const LayerShape& shape : shapes) size += shape.num_gates * (shape.d_pad + shape.d_in_pad);
  buffer = borrow(size * problem.num_encoders);
  std::vector<PackedBackward> packed;
  float* next = buffer.get();
  for (const LayerWeights& weights : problem.weights) {
    const LayerShape& shape = shapes[packed.size() % shapes.size()];
    float* const w = next + shape.num_gates * shape.d_pad;
    pack_backward(shape, weights.u, shape.d, shape.d_pad, next);
    pack_backward(shape, weights.w, shape.d_in, shape.d_in_pad, w);
    packed.push_back({next, w});
    next = w + shape.num_gates * shape.d_in_pad;
  }
  return packed;
}

// The partial sums of one layer's weight gradients.
struct Sums {
  float* w;
  float* u;
  float* b;
};

std::vector<Sums> cut_sums(const Problem& problem, const std::vector<LayerShape>& shapes, float* next) {
  std::vector<Sums> sums;
  for (int i = 0; i < problem.num_encoders * problem.num_layers; ++i) {
    const LayerShape& shape = shapes[i % problem.num_layers];
    float* const u = next + shape.num_gates * shape.d_in;
    sums.push_back({next, u, u + shape.num_gates * shape.d});
    next += shape.num_sums();
  }
  return sums;
}

// Working memory: for one window, and for the gradients that flow from step to step.
struct Scratch {
  float *x, *h_before, *dgates;
  float* dx;        // gradient of the input of an upper layer
  float* devents;   // gradient of x, summed over encoders
  std::vector<float*> dh, dc;  // by encoder and layer
};

Scratch cut_scratch(Pieces& pieces, const std::vector<LayerShape>& shapes, int num_encoders) {
  const LayerShape& first = shapes[0];
  Scratch s;
  s.x = pieces.next(WINDOW * first.d_in_pad);
  s.h_before = pieces.next(WINDOW * first.d_pad);
  s.dgates = pieces.next(WINDOW * first.num_gates);
  s.dx = pieces.next(WINDOW * first.d_pad);
  s.devents = pieces.next(WINDOW * first.d_in_pad);
  for (size_t i = 0; i < num_encoders * shapes.size(); ++i) {
    s.dh.push_back(pieces.next(MAX_ROWS * first.d_pad));
    s.dc.push_back(pieces.next(MAX_ROWS * first.d_pad));
  }
  return s;
}

class BackwardWalk : Walk {
 public:
  BackwardWalk(const Walk& walk, int encoder, bool adds_x, const PackedBackward* packed, std::vector<Memory> memory,
               const Sums* sums, const Scratch& scratch, const Gradients& gradients)
      : Walk(walk), encoder_(encoder), adds_x_(adds_x), packed_(packed), memory_(std::move(memory)), sums_(sums),
        scratch_(scratch), dh_(&scratch.dh[encoder * problem.num_layers]),
        dc_(&scratch.dc[encoder * problem.num_layers]), gradients_(gradients) {}

  void walk_through(const Window& window) {
    for (int layer = problem.num_layers - 1; layer >= 0; --layer) {
      for (int64_t step = window.last_step - 1; step >= window.first_step; --step) one_step(layer, window, step);
      add_up(layer, window);
      if (layer || gradients_.x) to_input(layer, window);
    }
  }

  void finish() {
    if (gradients_.h.empty()) return;
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
    s.dh = dh_[layer];
    s.dh_above = top ? nullptr : scratch_.dx + slot * d_pad();
    s.dc = dc_[layer];
    s.dgates = scratch_.dgates + slot * 4 * shape.width;
    s.dgates_block = WINDOW * 4 * shape.width;
    isa.step_backward(s);
    if (step || !gradients_.h.empty()) {
      isa.panels_times_weights({s.rows, s.num_blocks, s.dgates, s.dgates_block, packed_[layer].u, shape.num_blocks,
                                dh_[layer], d_pad(), false});
    }
  }

  // Edges whose last event is at this step start with the gradient that the caller gave.
  void start_finished(int layer, int64_t step) {
    for (int64_t row = rows_at(step + 1); row < steps.rows[step]; ++row) {
      start_row(gradients_.h_out[encoder_], layer, row, dh_[layer]);
      start_row(gradients_.c_out[encoder_], layer, row, dc_[layer]);
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
    m.x_stride = shape.d_in_pad;
    m.columns = shape.d_in;
    m.sums = sums_[layer].w;
    isa.weight_gradient(m);
    m.sums = sums_[layer].b;
    isa.bias_gradient(m);
    if (from_zero(window.first_step)) return;  // which then is the window's only step
    m.x = h_before(layer, window);
    m.x_stride = shape.d_pad;
    m.columns = shape.d;
    m.sums = sums_[layer].u;
    isa.weight_gradient(m);
  }

  // h before each event of a window. For a single step these rows are already contiguous.
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
                              packed_[layer].w, shape.d_in_pad / shape.width,
                              layer ? scratch_.dx : scratch_.devents, shape.d_in_pad, !layer && adds_x_});
  }

  void copy_state_out(int layer) {
    for (int64_t row = 0; row < chunk.rows; ++row) {
      std::copy_n(dh_[layer] + row * d_pad(), d(), gradients_.h[encoder_] + outside(layer, row));
      std::copy_n(dc_[layer] + row * d_pad(), d(), gradients_.c[encoder_] + outside(layer, row));
    }
  }

  int encoder_;
  bool adds_x_;  // to what a previous encoder has written
  const PackedBackward* packed_;
  std::vector<Memory> memory_;
  const Sums* sums_;
  const Scratch& scratch_;
  float* const* dh_;  // by layer
  float* const* dc_;
  const Gradients& gradients_;
};

}  // namespace

void backward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run,
              const float* saved, const Gradients& gradients) {
  for (int encoder = 0; encoder < problem.num_encoders && !gradients.h.empty(); ++encoder) {
    pass_through(problem, gradients.h_out[encoder], gradients.h[encoder]);
    pass_through(problem, gradients.c_out[encoder], gradients.c[encoder]);
  }
  const std::vector<LayerShape> shapes = shapes_of(problem, isa);
  const int num_layers = problem.num_layers, num_tasks = static_cast<int>(plan.tasks.size());
  Buffer packed_buffer;
  const std::vector<PackedBackward> packed = pack_all(problem, shapes, packed_buffer);
  const auto places = saved_places(problem, plan, shapes[0]);
  int64_t num_sums = 0;
  for (const LayerShape& shape : shapes) num_sums += shape.num_sums() * problem.num_encoders;
  const Buffer sums_buffer = borrow(num_sums * num_tasks);
  Pieces counted;
  cut_scratch(counted, shapes, problem.num_encoders);
  std::vector<Buffer> scratch_buffers;
  for (int thread = 0; thread < plan.num_threads; ++thread) scratch_buffers.push_back(borrow(counted.used()));

  work_through(plan, run, [&](int thread, int task) {
    float* const own_sums = sums_buffer.get() + task * num_sums;
    std::fill_n(own_sums, num_sums, 0.f);
    const std::vector<Sums> sums = cut_sums(problem, shapes, own_sums);
    Pieces pieces(scratch_buffers[thread].get());
    const Scratch scratch = cut_scratch(pieces, shapes, problem.num_encoders);
    Steps steps;
    for (size_t i = 0; i < plan.tasks[task].size(); ++i) {
      const Chunk& chunk = plan.tasks[task][i];
      lay_out_steps(problem.offset, plan, chunk, problem.h.empty(), steps);
      const Walk walk{problem, plan, isa, shapes, chunk, steps};
      Pieces kept(const_cast<float*>(saved) + places[task][i]);  // only read from
      std::vector<BackwardWalk> walks;
      for (int encoder = 0; encoder < problem.num_encoders; ++encoder) {
        std::vector<Memory> memory;
        for (const LayerShape& shape : shapes) memory.push_back(cut_saved(kept, chunk, shape));
        if (!gradients.reach(encoder)) continue;
        walks.emplace_back(walk, encoder, !walks.empty(), &packed[encoder * num_layers], std::move(memory),
                           &sums[encoder * num_layers], scratch, gradients);
      }
      for (auto window = steps.windows.rbegin(); window != steps.windows.rend(); ++window) {
        walk.gather_x(*window, scratch.x);  // once for all encoders
        for (BackwardWalk& each : walks) each.walk_through(*window);
        if (gradients.x) walk.scatter_x(*window, scratch.devents, gradients.x);
      }
      for (BackwardWalk& each : walks) each.finish();
    }
  });

  const std::vector<Sums> first = cut_sums(problem, shapes, sums_buffer.get());
  for (size_t i = 0; i < first.size(); ++i) {
    const LayerShape& shape = shapes[i % shapes.size()];
    const LayerGradients& to = gradients.weights[i];
    unpack_sums(shape, first[i].w, num_tasks, num_sums, shape.d_in, to.w);
    unpack_sums(shape, first[i].u, num_tasks, num_sums, shape.d, to.u);
    unpack_sums(shape, first[i].b, num_tasks, num_sums, 1, to.b);
  }
}

}  // namespace gtea
