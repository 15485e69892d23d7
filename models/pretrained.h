#pragma once

#include <string>

#include "core/config/config.h"
#include "core/nn/module.h"

// Weights that a backbone starts from.
namespace osprey {

// Path of the file that `name` stands for: a local path, "torchvision://resnet50",
// "open-mmlab://detectron2/resnet50_caffe", or an http(s) URL, such as those of mmdetection's model zoo.
// Looked for as a local path, then in checkpoint_folder(), then downloaded to there. Throws UserError naming
// file and URL.
std::string resolve_checkpoint(const std::string& name);
// The same for a backbone's name in a config; the message says where it stands and how to do without.
std::string resolve_checkpoint(const ConfigNode& name);

// $OSPREY_HOME/checkpoints; without OSPREY_HOME, osprey/checkpoints in the user's cache directory.
std::string checkpoint_folder();

// Loads the file into `module`. Names below `prefix` ("backbone", with or without the dot; when there is
// none, those below "backbone." if there are such, as in a whole detector's checkpoint) lose it, and the
// others are left out. Logs what did not match, such as a classifier's fc; throws UserError when shapes
// differ or nothing matches.
void load_pretrained(Module& module, const ConfigNode& name, const std::string& prefix = "");

// `pretrained: NAME` of a detector, or `init_cfg: {type: Pretrained, checkpoint: NAME, prefix}` of its
// backbone.
// An empty name says that a checkpoint of the whole detector follows (resume_from, load_from): nothing is
// loaded, downloaded or warned of.
class PretrainedBackbone {
 public:
  explicit PretrainedBackbone(const ConfigNode& detector_cfg);
  // The two values, null where they are not given.
  PretrainedBackbone(const ConfigNode& pretrained, const ConfigNode& init_cfg);
  bool given() const { return !name_.is_null(); }
  // Does nothing when neither key is given.
  // With `part`, the names below it alone: "layer4" of a ResNet, for a module that is such a layer.
  void load_into(Module& module, const std::string& part = "") const;

 private:
  ConfigNode name_;
  std::string prefix_;
  bool checkpoint_follows_ = false;
};

// What trains badly when nothing fills it: parameters without gradient and norms in eval mode keep what they
// were drawn with. One line, or "" when there are none.
std::string lint_frozen_at_random(Module& module);

}  // namespace osprey
