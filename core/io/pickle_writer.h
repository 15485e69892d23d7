#pragma once

#include <functional>
#include <string>

#include "core/io/pickle.h"

namespace osprey {

// Where torch.load finds a tensor's elements: `numel` elements of `type` ("FloatStorage") under `key`, the
// tensor's own from `offset` on.
struct StorageReference {
  std::string key, type;
  int64_t numel = 0;
  int64_t offset = 0;
};

// The object as a pickle of protocol 2, torch.save's default, for Python 2 and 3. An object that is reachable
// twice is written once. A tensor is written as a reference to the storage that `locate` names, row-major.
// Throws Error for what cannot be written back: a global, a storage, nesting deeper than 500.
std::string write_pickle(const PickleObject& root,
                         const std::function<StorageReference(const Tensor&)>& locate);

}  // namespace osprey
