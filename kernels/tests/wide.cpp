// The vector code in the shape it has for AVX-512 (16 floats, six rows at a time), by compiler extensions: so it is
// tested on machines without AVX-512, too.
#include "instruction_set.hpp"

namespace gtea {
namespace {
#define WIDTH 16
#define ACCUMULATORS 24
#define vector_min(bound, x) ((bound) < (x) ? (bound) : (x))
#define vector_max(bound, x) ((bound) > (x) ? (bound) : (x))
#define LET_COMPILER_CHOOSE_REGISTERS
#define reciprocal(x) (1.f / (x))
#include "vector_code.inl"

bool supported() { return true; }
}  // namespace

extern const InstructionSet wide = INSTRUCTION_SET("wide", supported);
}  // namespace gtea
