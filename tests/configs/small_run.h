#pragma once

#include <string>
#include <vector>

namespace osprey {

// Overrides that make one iteration of any shipped config a matter of tenths of a second: an eighth of the
// channels and of the image sides, few RoIs, one batch of two images, nothing pretrained, no checkpoint.
// `data` are overrides of the data set, applied first.
std::vector<std::string> small_run(const std::string& config, const std::vector<std::string>& data);

// Rendered scenes in place of the config's training images.
std::vector<std::string> rendered_data(const std::string& config);

// Trains that one iteration: every loss that the model's config promises is in the log, and finite.
void expect_training_step(const std::string& config, const std::vector<std::string>& data);

}  // namespace osprey
