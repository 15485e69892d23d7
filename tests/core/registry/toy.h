#pragma once

#include "core/registry/registry.h"

// A registry of its own for the tests: a base, and one class of "core".
namespace osprey {

class Toy {
 public:
  virtual ~Toy() = default;
  virtual int value() const = 0;
};

OSPREY_DECLARE_REGISTRY(Toy);

}  // namespace osprey
