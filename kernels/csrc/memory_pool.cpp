#include "memory_pool.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

#include <pthread.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gtea {
namespace {

constexpr size_t HUGE_PAGE = size_t(1) << 21;

// A sanitizer detects an overrun only if the buffer has exactly the requested size.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool EXACT = true;
#else
constexpr bool EXACT = false;
#endif

void* allocate(size_t alignment, size_t num_bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, num_bytes)) throw std::bad_alloc();
  return memory;
}

class Pool {
 public:
  float* take(size_t num_bytes) {
    if (EXACT) return static_cast<float*>(allocate(64, num_bytes));
    const std::lock_guard<std::mutex> guard(mutex_);
    auto found = free_.lower_bound(num_bytes);
    if (found == free_.end()) {
      // None is large enough. Free one, so that the pool does not grow with every larger request.
      if (!free_.empty()) {
        const auto largest = std::prev(free_.end());
        size_.erase(largest->second);
        std::free(largest->second);
        free_.erase(largest);
      }
      return fresh(num_bytes);
    }
    float* const buffer = found->second;
    free_.erase(found);
    return buffer;
  }

  void give_back(float* buffer) {
    if (EXACT) return std::free(buffer);
    const std::lock_guard<std::mutex> guard(mutex_);
    free_.emplace(size_.at(buffer), buffer);
  }

  std::mutex& mutex() { return mutex_; }

 private:
  float* fresh(size_t num_bytes) {
    // A quarter more than requested, so that the buffer also fits a slightly larger batch.
    size_t size = num_bytes + num_bytes / 4;
    const size_t grain = size >= HUGE_PAGE ? HUGE_PAGE : 64;
    size = (size + grain - 1) / grain * grain;
    void* const memory = allocate(grain, size);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (grain == HUGE_PAGE) madvise(memory, size, MADV_HUGEPAGE);  // a hint; failure is harmless
#endif
    size_[static_cast<float*>(memory)] = size;
    return static_cast<float*>(memory);
  }

  std::mutex mutex_;
  std::multimap<size_t, float*> free_;
  std::unordered_map<float*, size_t> size_;
};

// Never destroyed: buffers may be released while the process exits. A fork waits until no thread is changing the pool,
// so that the child finds it consistent and unlocked.
Pool& pool() {
  static Pool* const only = [] {
    pthread_atfork([] { pool().mutex().lock(); }, [] { pool().mutex().unlock(); }, [] { pool().mutex().unlock(); });
    return new Pool;
  }();
  return *only;
}

}  // namespace

void Return::operator()(float* buffer) const { pool().give_back(buffer); }

Buffer borrow(int64_t num_floats) {
  return Buffer(pool().take(sizeof(float) * static_cast<size_t>(std::max<int64_t>(num_floats, 16))));
}

}  // namespace gtea
