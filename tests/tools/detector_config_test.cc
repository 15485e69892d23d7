#include "tools/detector_config.h"

#include <gtest/gtest.h>

namespace osprey {
namespace {

// Neither file is needed where a whole checkpoint follows: no download, no missing file.
TEST(WithoutPretrained, EmptiesTheNamesOfBothBackbones) {
  const ConfigNode cfg = load_config("configs/detectors_htc_r50.yaml");
  const ConfigNode model = without_pretrained(detector_config(cfg));
  EXPECT_EQ(model.get<std::string>("pretrained"), "");
  EXPECT_EQ(model["neck"]["rfp_backbone"].get<std::string>("pretrained"), "");
  EXPECT_EQ(model["neck"].get<int>("rfp_steps"), 2);
  EXPECT_EQ(cfg["model"]["neck"]["rfp_backbone"].get<std::string>("pretrained"), "torchvision://resnet50");
}

TEST(WithoutPretrained, ForgetsTheDetectorsOwnCheckpoint) {
  const ConfigNode cfg =
      load_config("configs/mask_rcnn_r50.yaml",
                  {"model.pretrained=null", "model.init_cfg={type: Pretrained, checkpoint: a.pth}"});
  EXPECT_FALSE(without_pretrained(detector_config(cfg)).has("init_cfg"));
}

TEST(WithoutPretrained, LeavesOtherNecksAlone) {
  const ConfigNode model = without_pretrained(detector_config(load_config("configs/mask_rcnn_r50.yaml")));
  EXPECT_EQ(model.get<std::string>("pretrained"), "");
  EXPECT_FALSE(model["neck"].has("rfp_backbone"));
}

}  // namespace
}  // namespace osprey
