#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

// Copies of tensors on the CPU. Those that are on a GPU, all on one, come in one copy: the host waits once.
// Undefined tensors stay undefined.
Tensors fetch_together(const Tensors& tensors);

}  // namespace osprey
