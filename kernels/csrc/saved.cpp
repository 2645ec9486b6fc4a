#include "saved.hpp"

namespace gtea {

Memory cut_saved(Pieces& pieces, const Chunk& chunk, const LayerShape& shape) {
  const int64_t states = (chunk.rows + chunk.num_events) * shape.d_pad;
  float* const h = pieces.next(states);
  float* const c = pieces.next(states);
  return {h, c, pieces.next(chunk.num_events * shape.num_gates)};
}

int64_t saved_by_chunk(const Problem& problem, const Chunk& chunk, const LayerShape& shape) {
  Pieces pieces;
  cut_saved(pieces, chunk, shape);
  return pieces.used() * problem.num_results() * problem.num_layers;
}

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

int64_t num_saved(const Problem& problem, const Plan& plan, const InstructionSet& isa) {
  const LayerShape shape(problem.d_in, problem.d, isa);
  int64_t total = 0;
  for (const auto& task : plan.tasks)
    for (const Chunk& chunk : task) total += saved_by_chunk(problem, chunk, shape);
  return total;
}

}  // namespace gtea
