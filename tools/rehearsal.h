#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/detection/detector.h"

namespace osprey {

// Reads the semantic maps of images spread over the data set: every label must be a class of the model's
// semantic head or its ignore_label. Throws one UserError with label, file, the head's classes and the line
// that set them. Nothing happens without such a head or without maps.
void check_semantic_labels(Detector& model, const Dataset& dataset, const ConfigNode& config);

// What `--check` does behind building everything, because only data and sizes tell: sends images spread over
// the data set through the pipeline, then the losses of one small dummy image of their kind through the
// model, which is not changed. Throws UserError for whatever would end the first iteration: an image that
// cannot be read, channels or sizes of two parts that do not fit, ground truth that the pipeline does not
// collect.
void rehearse(Detector& model, const Dataset& dataset, const ConfigNode& config);

}  // namespace osprey
