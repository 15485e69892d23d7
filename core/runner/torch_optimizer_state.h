#pragma once

#include <string>

#include "core/runner/checkpoint.h"
#include "core/runner/pickle_dict.h"

namespace osprey {

// torch.optim's state_dict, which numbers its parameters, under the names of `checkpoint.weights`: fills in
// `optimizer` and `param_groups`. Returns "", or one line that says why it cannot be told which number is
// whose; the checkpoint then keeps none of it.
std::string read_torch_optimizer(const PickleDict& optimizer, Checkpoint& checkpoint);

}  // namespace osprey
