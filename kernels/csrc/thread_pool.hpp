// The kernels' own threads. They sleep on a condition variable while there is nothing to do. OpenMP's threads spin,
// which wastes processor time on a machine shared with other processes.
#pragma once

#include <functional>

namespace gtea {

// Runs task(0) .. task(num_tasks - 1) on at most num_threads threads, the calling thread among them, and returns when
// all are done. Denormals are flushed in every thread meanwhile. Any number of threads may call this at the same time,
// also after a fork. The first exception that a task throws is rethrown here; tasks not yet started are then skipped.
void run_parallel(int num_tasks, int num_threads, const std::function<void(int)>& task);

}  // namespace gtea
