#include "tests/core/registry/toy.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Toy, "toy");

class Seven final : public Toy {
 public:
  explicit Seven(const ConfigNode& cfg) : plus_(cfg.get("plus", 0)) {}
  int value() const override { return 7 + plus_; }

 private:
  int plus_;
};

OSPREY_REGISTER(Toy, Seven);

}  // namespace osprey
