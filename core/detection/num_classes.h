#pragma once

#include "core/config/config.h"
#include "core/detection/detector.h"

namespace osprey {

// Every head must be built for the data set's number of classes: throws one UserError that lists all places
// that disagree, with the line of `config` (the whole) that set each. 0 classes (the data set names none) fit
// every head.
void check_num_classes(const Detector& model, int64_t classes, const ConfigNode& config = {});

// " (file:line:column)" of the key at a dotted path, for messages; "" when the config does not say it (a
// default, a test without a file).
std::string place_of(const ConfigNode& config, const std::string& key);

}  // namespace osprey
