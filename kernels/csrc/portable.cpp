// Vectors of 4 floats by compiler extensions: SSE2 on any x86-64, NEON on 64-bit ARM, scalar code elsewhere.
#include "instruction_set.hpp"

namespace gtea {
namespace {
#define WIDTH 4
#define ACCUMULATORS 12
#define vector_min(bound, x) ((bound) < (x) ? (bound) : (x))  // x if x is NaN
#define vector_max(bound, x) ((bound) > (x) ? (bound) : (x))
#define reciprocal(x) (1.f / (x))
#include "vector_code.inl"

bool supported() { return true; }
}  // namespace

extern const InstructionSet portable = INSTRUCTION_SET("portable", supported);
}  // namespace gtea
