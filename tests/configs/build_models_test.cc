#include "core/detection/detector.h"
#include "tests/configs/shipped_configs.h"
#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

class ConfigModel : public ::testing::TestWithParam<std::string> {};

TEST_P(ConfigModel, BuildsAndEveryKeyIsRead) {
  const ConfigNode model = load_config(GetParam())["model"];
  const std::unique_ptr<Detector> detector = build<Detector>(model);
  EXPECT_GT(detector->named_parameters().size(), 60u);
  EXPECT_EQ(error_of([&] { require_all_read(model); }), "");
}

INSTANTIATE_TEST_SUITE_P(Configs, ConfigModel, ::testing::ValuesIn(shipped_configs()),
                         [](const auto& info) { return test_name(info.param); });

std::string model_error(const std::vector<std::string>& overrides) {
  return error_of([&] {
    const ConfigNode model = load_config("configs/quickstart/htc_r18_fp16_shapes.yaml", overrides)["model"];
    build<Detector>(model);
    require_all_read(model);
  });
}

// One mistake in each part of a model: the message must begin with the place and name the way out.
TEST(ConfigModelErrors, NameThePlaceAndTheNearestMatch) {
  const std::string cfg_option = "--cfg-options ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"model.backbone.stile=caffe", "Did you mean 'style'?"},
      {"model.backbone.depth=51", "model.backbone.depth: "},
      {"model.backbone.type=ResNext", "unknown backbone 'ResNext'"},
      {"model.neck.out_chanels=64", "Did you mean 'out_channels'?"},
      {"model.rpn_head.loss_cls.type=CrossEntropyLos", "Did you mean 'CrossEntropyLoss'?"},
      {"model.rpn_head.anchor_generator.scale=[8]", "Did you mean 'scales'?"},
      {"model.roi_head.bbox_head.1.num_class=3", "Did you mean 'num_classes'?"},
      {"model.roi_head.mask_head.0.num_convs=four", "expected an integer, got the string 'four'"},
      {"model.roi_head.semantic_head.ignore_lable=255", "Did you mean 'ignore_label'?"},
      {"model.train_cfg.rcnn.2.sampler.pos_fration=0.5", "Did you mean 'pos_fraction'?"},
      {"model.train_cfg.rpn.assigner.pos_iou_thr=high", "expected a number, got the string 'high'"},
      {"model.test_cfg.rcnn.nms.iou_treshold=0.5", "Did you mean 'iou_threshold'?"},
      {"model.test_cfg.rcn.score_thr=0.5", "model.test_cfg.rcn: unknown key"},
  };
  for (const auto& [override_, part] : cases) {
    const std::string message = model_error({override_});
    EXPECT_EQ(message.find(cfg_option + override_ + ": model."), 0u) << message;
    EXPECT_NE(message.find(part), std::string::npos) << override_ << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "more than one line: " << message;
  }
}

}  // namespace
}  // namespace osprey
