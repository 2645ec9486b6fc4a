// While one of these lives, numbers below 1.2e-38 count as zero in its thread.
//
// A gradient that goes back through a few hundred events shrinks with each, and on its way to zero meets numbers that
// have no usual form. Intel's processors take more than a hundred cycles for each operation on one: a few histories of
// that length would take longer than all the others.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace gtea {

class TinyNumbersAreZero {
 public:
  TinyNumbersAreZero() : before_(mode()) { set_mode(before_ | ZEROES); }
  ~TinyNumbersAreZero() { set_mode(before_); }
  TinyNumbersAreZero(const TinyNumbersAreZero&) = delete;
  TinyNumbersAreZero& operator=(const TinyNumbersAreZero&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t ZEROES = 0x8040;  // results, and what is read
  static uint64_t mode() { return _mm_getcsr(); }
  static void set_mode(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t ZEROES = 1 << 24;
  static uint64_t mode() {
    uint64_t now;
    __asm__ volatile("mrs %0, fpcr" : "=r"(now));
    return now;
  }
  static void set_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  static constexpr uint64_t ZEROES = 0;
  static uint64_t mode() { return 0; }
  static void set_mode(uint64_t) {}
#endif

  uint64_t before_;
};

}  // namespace gtea
