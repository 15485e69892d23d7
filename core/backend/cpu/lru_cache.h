#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace osprey {

// A bounded map from lists of integers (extents, flags) to things that are costly to make; the least recently
// used one goes first. Thread-safe; values stay alive while somebody holds them.
template <typename Value>
class LruCache {
 public:
  using Key = std::vector<int64_t>;

  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // The value of `key`, made by make() when it is not there.
  template <typename Make>
  std::shared_ptr<const Value> get(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    order_.emplace_front(key, std::make_shared<const Value>(make()));
    index_[key] = order_.begin();
    if (order_.size() > capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }

 private:
  struct Hash {  // FNV-1a over whole integers
    size_t operator()(const Key& key) const {
      uint64_t hash = 14695981039346656037ull;
      for (const int64_t part : key) hash = (hash ^ static_cast<uint64_t>(part)) * 1099511628211ull;
      return static_cast<size_t>(hash ^ (hash >> 32));
    }
  };
  using Entry = std::pair<Key, std::shared_ptr<const Value>>;

  mutable std::mutex mutex_;
  const size_t capacity_;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> index_;
};

}  // namespace osprey
