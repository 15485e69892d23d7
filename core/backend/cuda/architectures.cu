#include "core/backend/cuda/architectures.h"

#include <algorithm>

// Nothing for a device: compiled by nvcc because nvcc alone knows what it compiles for. Where the C++
// compiler takes its place (the emulated build) there is only the default.
#ifndef __CUDA_ARCH_LIST__
#define __CUDA_ARCH_LIST__ 800, 900
#endif

namespace osprey {

const std::vector<int>& kernel_architectures() {
  static const std::vector<int>& architectures = *new std::vector<int>([] {
    std::vector<int> list{__CUDA_ARCH_LIST__};
    for (int& architecture : list) architecture /= 10;
    std::sort(list.begin(), list.end());
    return list;
  }());
  return architectures;
}

bool kernels_run_on(int major, int minor) {
  const std::vector<int>& list = kernel_architectures();
  return 10 * major + minor >= list.back() || std::any_of(list.begin(), list.end(), [&](int architecture) {
           return architecture / 10 == major && architecture % 10 <= minor;
         });
}

std::string describe_architectures() {
  std::string text;
  for (const int architecture : kernel_architectures()) {
    text += (text.empty() ? "sm_" : ", sm_") + std::to_string(architecture);
  }
  return text + " and newer";
}

}  // namespace osprey
