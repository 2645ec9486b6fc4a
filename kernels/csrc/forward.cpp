#include "memory_pool.hpp"
#include "packing.hpp"
#include "saved.hpp"
#include "walk.hpp"

namespace gtea {
namespace {

struct PackedForward {
  const float* weights;
  const float* bias;
};

std::vector<PackedForward> pack_all(const Problem& problem, const std::vector<LayerShape>& shapes, Buffer& buffer) {
  int64_t size = 0;
  for (const LayerShape& shape : shapes) size += shape.num_forward() + shape.num_gates;
  buffer = borrow(size * problem.num_encoders);
  std::vector<PackedForward> packed;
  float* next = buffer.get();
  for (const LayerWeights& weights : problem.weights) {
    const LayerShape& shape = shapes[packed.size() % shapes.size()];
    float* const bias = next + shape.num_forward();
    pack_forward(shape, weights, next, bias);
    packed.push_back({next, bias});
    next = bias + shape.num_gates;
  }
  return packed;
}

class ForwardWalk : Walk {
 public:
  ForwardWalk(const Walk& walk, int encoder, bool keeps, const PackedForward* packed, std::vector<Memory> memory,
              const float* x, float* h_out, float* c_out)
      : Walk(walk), encoder_(encoder), keeps_(keeps), packed_(packed), memory_(std::move(memory)), x_(x),
        h_out_(h_out), c_out_(c_out) {}

  void start() {
    if (!has_state()) return;
    for (int layer = 0; layer < problem.num_layers; ++layer) copy_state_in(layer);
  }

  void walk_through(const Window& window) {
    for (int layer = 0; layer < problem.num_layers; ++layer) {
      for (int64_t step = window.first_step; step < window.last_step; ++step) {
        isa.step_forward(step_of(layer, window, step));
        copy_finished_out(layer, window, step);
      }
      if (!keeps_) carry_over(layer, window);
    }
  }

  // This walk and its mirrored twin; in the first layer, whose x differs in one column only, they share work.
  void walk_through(const Window& window, ForwardWalk& mirrored) {
    for (int layer = 0; layer < problem.num_layers; ++layer) {
      for (int64_t step = window.first_step; step < window.last_step; ++step) {
        const StepForward own = step_of(layer, window, step), other = mirrored.step_of(layer, window, step);
        if (layer) {
          isa.step_forward(own);
          isa.step_forward(other);
        } else {
          isa.step_forward_mirrored(own, other, problem.mirror);
        }
        copy_finished_out(layer, window, step);
        mirrored.copy_finished_out(layer, window, step);
      }
      carry_over(layer, window);
      mirrored.carry_over(layer, window);
    }
  }

 private:
  // Offset of a step's states. Before them are chunk.rows rows: the state that the chunk, or the window, starts from.
  int64_t place(const Window& window, int64_t step) const {
    const int64_t skipped = keeps_ ? 0 : steps.before[window.first_step];
    return (chunk.rows + steps.before[step] - skipped) * d_pad();
  }

  int64_t place_before(const Window& window, int64_t step) const {
    const int64_t first = keeps_ ? 0 : window.first_step;
    return step == first ? 0 : place(window, step - 1);
  }

  StepForward step_of(int layer, const Window& window, int64_t step) const {
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
    return s;
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
      if (c_out_) std::copy_n(c + row * d_pad(), d(), c_out_ + outside(layer, row));
    }
  }

  // The last state of this window is the first of the next.
  void carry_over(int layer, const Window& window) {
    const float* const h = memory_[layer].h + place(window, window.last_step - 1);
    std::copy_n(h, rows_at(window.last_step) * d_pad(), memory_[layer].h);
  }

  int encoder_;
  bool keeps_;
  const PackedForward* packed_;
  std::vector<Memory> memory_;
  const float* x_;
  float* h_out_;
  float* c_out_;
};

}  // namespace

void forward(const Problem& problem, const Plan& plan, const InstructionSet& isa, const Runner& run, float* saved,
             const std::vector<float*>& h_out, const std::vector<float*>& c_out) {
  const int num_encoders = problem.num_encoders, num_results = problem.num_results();
  for (int result = 0; result < num_results; ++result) {
    pass_through(problem, problem.h.empty() ? nullptr : problem.h[result], h_out[result]);
    if (c_out[result]) pass_through(problem, problem.c.empty() ? nullptr : problem.c[result], c_out[result]);
  }
  if (!plan.num_events) return;

  const std::vector<LayerShape> shapes = shapes_of(problem, isa);
  const int num_layers = problem.num_layers;
  Buffer packed_buffer;
  const std::vector<PackedForward> packed = pack_all(problem, shapes, packed_buffer);
  const auto places = saved_places(problem, plan, shapes[0]);
  const Chunk largest{0, MAX_ROWS, WINDOW};
  std::vector<Buffer> scratch;
  for (int thread = 0; thread < plan.num_threads; ++thread)
    scratch.push_back(borrow(WINDOW * shapes[0].d_in_pad + saved_by_chunk(problem, largest, shapes[0])));

  work_through(plan, run, [&](int thread, int task) {
    Steps steps;
    float* const x = scratch[thread].get();
    for (size_t i = 0; i < plan.tasks[task].size(); ++i) {
      const Chunk& chunk = plan.tasks[task][i];
      lay_out_steps(problem.offset, plan, chunk, problem.h.empty(), steps);
      const Walk walk{problem, plan, isa, shapes, chunk, steps};
      Pieces kept(saved ? saved + places[task][i] : x + WINDOW * shapes[0].d_in_pad);
      std::vector<ForwardWalk> walks;
      for (int result = 0; result < num_results; ++result) {
        const int encoder = result % num_encoders;
        std::vector<Memory> memory;
        for (const LayerShape& shape : shapes) memory.push_back(cut_saved(kept, saved ? chunk : largest, shape));
        walks.emplace_back(walk, encoder, saved != nullptr, &packed[encoder * num_layers], std::move(memory), x,
                           h_out[result], c_out[result]);
        walks.back().start();
      }
      for (const Window& window : steps.windows) {
        walk.gather_x(window, x);  // once for all encoders
        for (int encoder = 0; encoder < num_encoders; ++encoder) {
          if (problem.mirror < 0)
            walks[encoder].walk_through(window);
          else
            walks[encoder].walk_through(window, walks[num_encoders + encoder]);
        }
      }
    }
  });
}

}  // namespace gtea
