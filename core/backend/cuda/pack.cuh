#pragma once

#include <cstdint>

#include "core/tensor/half.h"

namespace osprey {

// As many elements as one load of 16 bytes brings: halves one by one would use a fraction of the memory's
// bandwidth.
template <typename T>
struct alignas(16) Pack {
  static constexpr int kWidth = 16 / sizeof(T);
  T values[kWidth];
};

// Views into a tensor may begin anywhere.
inline bool fits_packs(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % alignof(Pack<float>) == 0;
}

template <typename T>
OSPREY_HD Pack<T> load_pack(const T* data) {
  return *reinterpret_cast<const Pack<T>*>(data);
}
template <typename T>
OSPREY_HD void store_pack(const Pack<T>& pack, T* data) {
  *reinterpret_cast<Pack<T>*>(data) = pack;
}

}  // namespace osprey
