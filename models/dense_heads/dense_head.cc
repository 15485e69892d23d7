#include "models/dense_heads/dense_head.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(DenseHead, "dense head");

}  // namespace osprey
