#include "thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "denormals.hpp"

namespace gtea {
namespace {

// One call of run_parallel, on the caller's stack. The pool's mutex guards num_wanted, num_working and error.
struct Job {
  const std::function<void(int)>& task;
  const int num_tasks;
  int num_wanted;                // helpers that may still join
  int num_working = 0;           // helpers that have joined and not yet left
  std::exception_ptr error;      // the first one thrown
  std::atomic<int> next{0};      // task to take
  std::condition_variable idle;  // num_working became 0
};

class Pool {
 public:
  void run(Job& job) {
    open(job);
    work_on(job);  // without waiting for helpers: whatever they don't take, the caller does
    std::unique_lock<std::mutex> lock(mutex_);
    open_.erase(std::remove(open_.begin(), open_.end(), &job), open_.end());
    job.idle.wait(lock, [&] { return job.num_working == 0; });
  }

 private:
  void open(Job& job) {
    const std::lock_guard<std::mutex> guard(mutex_);
    start_helpers(job.num_wanted);
    open_.push_back(&job);
    for (int i = 0; i < job.num_wanted; ++i) work_.notify_one();
  }

  void start_helpers(int num_wanted) {
    try {
      for (; num_helpers_ < num_wanted; ++num_helpers_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // The system gives no more threads: those that exist do the work.
    }
  }

  void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return !open_.empty(); });
      Job& job = *open_.front();
      ++job.num_working;
      if (--job.num_wanted == 0) open_.pop_front();
      lock.unlock();
      work_on(job);
      lock.lock();
      // Under the lock: once it is free, the caller may return and the job is gone.
      if (--job.num_working == 0) job.idle.notify_one();
    }
  }

  void work_on(Job& job) {
    const FlushDenormals here;
    try {
      for (int i = job.next++; i < job.num_tasks; i = job.next++) job.task(i);
    } catch (...) {
      job.next = job.num_tasks;
      const std::lock_guard<std::mutex> guard(mutex_);
      if (!job.error) job.error = std::current_exception();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;  // open_ got a job
  std::deque<Job*> open_;         // jobs that want more helpers, oldest first
  int num_helpers_ = 0;
};

// Never destroyed: helpers wait on it until the process ends. A forked child has none of its parent's threads, so it
// starts with a fresh pool.
Pool* pool = [] {
  pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
  return new Pool;
}();

void run_here(int num_tasks, const std::function<void(int)>& task) {
  const FlushDenormals here;
  for (int i = 0; i < num_tasks; ++i) task(i);
}

}  // namespace

void run_parallel(int num_tasks, int num_threads, const std::function<void(int)>& task) {
  const int num_helpers = std::min(num_tasks, num_threads) - 1;
  if (num_helpers <= 0) return run_here(num_tasks, task);
  Job job{task, num_tasks, num_helpers, 0, nullptr, {0}, {}};
  pool->run(job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace gtea
