#pragma once

#include <string>
#include <vector>

namespace osprey {

// Compute capabilities that this build's kernels were compiled for, ten times the version (80, 90),
// ascending: machine code for each, PTX of the last. See bazel/cuda_library.bzl.
const std::vector<int>& kernel_architectures();

// Machine code runs within its major version from its minor version on; PTX on all that came later.
bool kernels_run_on(int major, int minor);

// "sm_80, sm_90 and newer".
std::string describe_architectures();

}  // namespace osprey
