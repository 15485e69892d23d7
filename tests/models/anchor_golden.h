#pragma once

#include <functional>
#include <string>

#include "core/anchor/anchor_generator.h"
#include "core/detection/batch.h"
#include "tests/golden.h"

namespace osprey::testing {

// Makes the anchor targets of `batch` as the dense head of `head_cfg` does (an RPN when it has no
// num_classes) and compares them with the fixture's, in which the name of level l of `what` ("labels",
// "label_weights", "bbox_targets", "bbox_weights") is name(what, l). Those that the fixture lacks are left
// out.
using LevelName = std::function<std::string(const std::string& what, size_t level)>;
void expect_golden_anchor_targets(const ConfigNode& head_cfg, const ConfigNode& train_cfg,
                                  const std::vector<MapSize>& featmap_sizes, const Batch& batch,
                                  const Golden& golden, const LevelName& name, const std::string& num_total);

}  // namespace osprey::testing
