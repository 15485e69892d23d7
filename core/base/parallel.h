#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace osprey {

// Number of threads that parallel work on the CPU uses (OMP_NUM_THREADS, else the machine's cores).
inline int num_threads() { return omp_get_max_threads(); }

// Runs body(begin, end) over a partition of [0, n). A range is at least `grain` long, so that small work
// stays on the calling thread. Nested calls run serially. The first exception of a worker is rethrown here.
template <typename Body>
void parallel_ranges(int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  const int64_t workers = std::min<int64_t>(num_threads(), (n + grain - 1) / std::max<int64_t>(grain, 1));
  if (workers <= 1 || omp_in_parallel()) {
    body(int64_t{0}, n);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel num_threads(static_cast <int>(workers))
  {
    const int64_t count = omp_get_num_threads();
    const int64_t index = omp_get_thread_num();
    const int64_t begin = n * index / count;
    const int64_t end = n * (index + 1) / count;
    try {
      if (begin < end) body(begin, end);
    } catch (...) {
#pragma omp critical(osprey_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace osprey
