// AVX-512: 32 registers of 16 floats.
#include "instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif

namespace gtea {
namespace {
#define WIDTH 16
#define ACCUMULATORS 24
#define vector_min(bound, x) _mm512_maskz_min_ps(0xffff, bound, x)  // x if x is NaN
#define vector_max(bound, x) _mm512_maskz_max_ps(0xffff, bound, x)
// A 14-bit estimate and one Newton step: within 0.53 units in the last place (a division: 0.5), with a lower latency
// than a division.
static inline __attribute__((always_inline)) __m512 reciprocal(__m512 x) {
  const __m512 estimate = _mm512_maskz_rcp14_ps(0xffff, x);
  return estimate + estimate * (1.f - x * estimate);
}
#include "vector_code.inl"
}  // namespace
}  // namespace gtea

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace gtea {
static bool supported() { return __builtin_cpu_supports("avx512f"); }
extern const InstructionSet avx512 = INSTRUCTION_SET("avx512", supported);
}  // namespace gtea
#endif
