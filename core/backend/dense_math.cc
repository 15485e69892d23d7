#include "core/backend/dense_math.h"

namespace osprey {

DenseMathPolicy& dense_math_policy() {
  static DenseMathPolicy policy;
  return policy;
}

}  // namespace osprey
