#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <set>
#include <unordered_map>

// Opaque handles that the double hands out, and what host memory it knows.
namespace osprey::emulator {

// The live objects of one kind. Handles of destroyed ones are recognised as long as their address is not
// reused.
template <typename T>
class Handles {
 public:
  T* make(T value) {
    auto object = std::make_unique<T>(std::move(value));
    T* raw = object.get();
    objects_.emplace(raw, std::move(object));
    return raw;
  }
  T* find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  bool destroy(const void* handle) { return objects_.erase(handle) > 0; }
  template <typename F>
  void for_each(const F& f) {
    for (auto& [raw, object] : objects_) f(*object);
  }

 private:
  std::unordered_map<const void*, std::unique_ptr<T>> objects_;
};

// Page-locked host memory (cudaHostAlloc)?
bool is_pinned(const void* address);

}  // namespace osprey::emulator
