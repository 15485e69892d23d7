#pragma once

#include <string>
#include <vector>

#include "core/detection/result.h"
#include "core/evaluation/eval_report.h"

namespace osprey {

// Detections and reports as bytes, for ranks of one machine type.
std::string pack(const std::vector<DetectionResult>& results);
std::vector<DetectionResult> unpack_results(const std::string& bytes);

std::string pack(const EvalReport& report);
EvalReport unpack_report(const std::string& bytes);

}  // namespace osprey
