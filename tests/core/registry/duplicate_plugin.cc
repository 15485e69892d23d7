#include "tests/core/registry/toy.h"

namespace osprey {

class Eight final : public Toy {
 public:
  explicit Eight(const ConfigNode&) {}
  int value() const override { return 8; }
};

OSPREY_REGISTER_AS(Toy, Eight, "Seven");

}  // namespace osprey
