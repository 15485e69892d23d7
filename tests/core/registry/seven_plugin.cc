#include "tests/core/registry/toy.h"

namespace osprey {

// The name of a class of the program, as in a copied and edited file: it must run this code.
class Seven final : public Toy {
 public:
  explicit Seven(const ConfigNode& cfg) : plus_(cfg.get("plus", 0)) {}
  int value() const override {
    if (plus_ < 0) throw UserError("a plugin's error");
    return 700 + plus_;
  }

 private:
  int plus_;
};

OSPREY_REGISTER_AS(Toy, Seven, "PluginSeven");

}  // namespace osprey
