#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <omp.h>

#include "core/base/error.h"

namespace osprey {

// Computes make(first), make(first + 1), ..., make(end - 1) on worker threads and hands them out in order, at
// most `depth` ahead of the consumer. Without workers the consumer computes. An exception of make(i) surfaces
// in the next() that would have returned i. One consumer thread; make() is called concurrently.
template <typename Item>
class Prefetcher {
 public:
  using Make = std::function<Item(int64_t)>;

  // Throws UserError when the system does not give that many threads.
  Prefetcher(int workers, int64_t depth, Make make) : make_(std::move(make)), depth_(depth) {
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      stop();
      throw UserError(str_cat("cannot start ", workers, " loading threads: number ", threads_.size() + 1,
                              " failed: ", error.what()));
    }
  }
  ~Prefetcher() { stop(); }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Forgets everything that was computed or is in flight and starts again with item `first` of `end`.
  void start(int64_t first, int64_t end) {
    {
      const std::lock_guard lock(mutex_);
      ++generation_;
      ready_.clear();
      next_to_make_ = next_to_give_ = first;
      end_ = end;
    }
    work_available_.notify_all();
  }

  // False when all items were given.
  bool next(Item& item) {
    if (threads_.empty()) {
      if (next_to_give_ >= end_) return false;
      item = make_(next_to_give_++);
      return true;
    }
    std::unique_lock lock(mutex_);
    if (next_to_give_ >= end_) return false;
    item_ready_.wait(lock, [this] { return ready_.count(next_to_give_) != 0; });
    auto node = ready_.extract(next_to_give_++);
    lock.unlock();
    work_available_.notify_one();  // there is room for one more
    if (node.mapped().failure) std::rethrow_exception(node.mapped().failure);
    item = std::move(node.mapped().item);
    return true;
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_available_.notify_all();
    for (std::thread& thread : threads_) thread.join();  // each finishes the item that it is at
  }

  struct Slot {
    Item item;
    std::exception_ptr failure;
  };

  bool has_work() const { return next_to_make_ < end_ && next_to_make_ < next_to_give_ + depth_; }

  void work() {
    omp_set_num_threads(1);  // the workers are the parallelism; the cores belong to training
    std::unique_lock lock(mutex_);
    while (true) {
      work_available_.wait(lock, [this] { return stopping_ || has_work(); });
      if (stopping_) return;
      const int64_t index = next_to_make_++;
      const uint64_t generation = generation_;
      lock.unlock();
      Slot slot = make_slot(index);
      lock.lock();
      if (generation != generation_) continue;  // start() was called meanwhile
      ready_.emplace(index, std::move(slot));
      item_ready_.notify_one();
    }
  }

  Slot make_slot(int64_t index) const {
    Slot slot;
    try {
      slot.item = make_(index);
    } catch (...) {
      slot.failure = std::current_exception();
    }
    return slot;
  }

  const Make make_;
  const int64_t depth_;
  std::mutex mutex_;  // guards everything below but threads_
  std::condition_variable work_available_, item_ready_;
  std::map<int64_t, Slot> ready_;
  int64_t next_to_make_ = 0, next_to_give_ = 0, end_ = 0;
  uint64_t generation_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace osprey
