// AVX2 with fused multiply-add: 16 registers of 8 floats.
#include "instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace gtea {
namespace {
#define WIDTH 8
#define ACCUMULATORS 12
#define vector_min(bound, x) _mm256_min_ps(bound, x)  // x if x is NaN
#define vector_max(bound, x) _mm256_max_ps(bound, x)
#define reciprocal(x) (1.f / (x))
#include "vector_code.inl"
}  // namespace
}  // namespace gtea

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace gtea {
static bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
extern const InstructionSet avx2 = INSTRUCTION_SET("avx2", supported);
}  // namespace gtea
#endif
