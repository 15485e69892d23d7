#pragma once

#include <string>
#include <vector>

namespace osprey {

// One hyper-parameter of a parameter group under torch.optim's name: {"lr", {0.02}}, {"betas", {0.9, 0.999}},
// {"nesterov", {0}, true}.
struct GroupOption {
  std::string name;
  std::vector<double> values;
  bool flag = false;  // a bool: 0 or 1
};

}  // namespace osprey
