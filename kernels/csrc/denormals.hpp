// Flushes denormals (floats below 1.2e-38) to zero in the current thread for the lifetime of the object.
//
// A gradient that flows back through a few hundred events shrinks at every step and becomes denormal before it reaches
// zero. Intel processors spend more than a hundred cycles on each denormal operand, so without this a few long
// histories would cost more than the rest of the batch.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gtea {

class FlushDenormals {
 public:
  FlushDenormals() : before_(mode()) { set_mode(before_ | FLUSH); }
  ~FlushDenormals() { set_mode(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t FLUSH = 0x8040;  // flush-to-zero for results, denormals-are-zero for operands
  static uint64_t mode() { return _mm_getcsr(); }
  static void set_mode(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t FLUSH = 1 << 24;
  static uint64_t mode() {
    uint64_t now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now));
    return now;
  }
  static void set_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  static constexpr uint64_t FLUSH = 0;
  static uint64_t mode() { return 0; }
  static void set_mode(uint64_t) {}
#endif

  uint64_t before_;
};

}  // namespace gtea
