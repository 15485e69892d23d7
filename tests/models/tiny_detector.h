#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/models/model_golden.h"

// The tiny detectors of the golden fixtures, with drawn weights, for what must hold beside the reference's
// numbers.
namespace osprey::testing {

// Built from detectors/NAME.yaml, in training mode; `overrides` as --cfg-options.
std::unique_ptr<Detector> make_detector(const std::string& name,
                                        const std::vector<std::string>& overrides = {});
// Two images with objects.
Batch make_batch();
void remove_objects(Batch& batch, size_t image);
// Images mirrored, and marked as flipped; the ground truth stays.
Batch mirrored(const Batch& batch);

// Tests on a mirrored image that is marked as such: boxes and masks are those of the same image unmarked,
// mirrored back.
void expect_flipped_results_to_be_flipped_back(Detector& detector);

std::vector<std::string> names_of(const LossDict& losses);
double total_of(const LossDict& losses);
// Also runs backward: every parameter that wants a gradient must get one.
void expect_finite_losses_and_gradients(Detector& detector, const LossDict& losses);
// The message of the UserError that training on `batch` ends in, "" when there is none.
std::string user_error(Detector& detector, const Batch& batch);

}  // namespace osprey::testing
