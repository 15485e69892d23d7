#pragma once

#include <string>
#include <vector>

namespace osprey {

// Every config that a user can train from (all but the bases), sorted: "configs/htc_r50.yaml", ...
std::vector<std::string> shipped_configs();

// "configs/htc_r50.yaml" as the name of a test: "htc_r50".
std::string test_name(const std::string& config);

}  // namespace osprey
