#pragma once

#include <functional>

#include "core/autograd/variable.h"

namespace osprey {

// Activation checkpointing (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; `with_cp`).
// Runs fn without recording, so that only its result stays in memory; backward runs fn once more, recorded,
// and differentiates that. fn must give the same result both times; parameters that it uses by itself get
// their gradients too. As in mmdetection, when no input requires a gradient fn simply runs.
Variable checkpoint(const std::function<Variable(const Variables&)>& fn, const Variables& inputs);

// True on a thread while a checkpointed function runs for the second time: what a forward leaves behind
// besides its result (staged batch-norm statistics) has been left already.
bool recomputing();

}  // namespace osprey
