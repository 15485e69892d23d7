#include <algorithm>

#include "tests/configs/shipped_configs.h"
#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

class ShippedConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedConfig, LoadsAndItsDumpLoadsToTheSame) {
  const ConfigNode cfg = load_config(GetParam());
  for (const char* section :
       {"model", "data", "optimizer", "runner", "lr_config", "evaluation", "log_config"}) {
    EXPECT_TRUE(cfg.has(section)) << section;
  }
  const std::string dump = cfg.to_yaml();
  EXPECT_EQ(parse_config(dump).to_yaml(), dump);
}

INSTANTIATE_TEST_SUITE_P(Configs, ShippedConfig, ::testing::ValuesIn(shipped_configs()),
                         [](const auto& info) { return test_name(info.param); });

TEST(ShippedConfigs, AreAllThere) {
  const std::vector<std::string> files = shipped_configs();
  for (const char* name : {"faster_rcnn_r50",
                           "faster_rcnn_r50_2x",
                           "faster_rcnn_r50_mstrain_3x",
                           "faster_rcnn_r101",
                           "faster_rcnn_r101_2x",
                           "mask_rcnn_r50",
                           "mask_rcnn_r50_2x",
                           "mask_rcnn_r50_mstrain_3x",
                           "mask_rcnn_r101",
                           "mask_rcnn_r50_fp16",
                           "cascade_rcnn_r50",
                           "cascade_rcnn_r50_20e",
                           "cascade_rcnn_r101",
                           "cascade_mask_rcnn_r50",
                           "cascade_mask_rcnn_r50_20e",
                           "cascade_mask_rcnn_r101_20e",
                           "cascade_mask_rcnn_r50_mstrain_3x",
                           "retinanet_r50",
                           "retinanet_r50_fp16",
                           "retinanet_ghm_r50",
                           "faster_rcnn_r50_ohem",
                           "faster_rcnn_r50_giou",
                           "faster_rcnn_r50_soft_nms",
                           "faster_rcnn_r50_pafpn",
                           "faster_rcnn_r50_caffe_c4",
                           "dh_faster_rcnn_r50",
                           "faster_rcnn_r50_voc0712",
                           "htc_r50",
                           "htc_r50_20e",
                           "htc_r101_20e",
                           "htc_r50_mstrain_20e",
                           "htc_without_semantic_r50",
                           "htc_r50_fp16",
                           "quickstart/htc_r18_fp16_shapes",
                           "quickstart/htc_r50_fp16_coco128"}) {
    EXPECT_EQ(std::count(files.begin(), files.end(), str_cat("configs/", name, ".yaml")), 1) << name;
  }
}

// The schedule of a file's name, as mmdetection's schedule_*.py and mstrain_3x bases have it.
TEST(ShippedConfigs, TheSchedulesAreThoseOfTheirNames) {
  struct Schedule {
    std::string ending;
    int64_t epochs;
    std::vector<int64_t> steps;
    int64_t times;  // of RepeatDataset
  };
  const std::vector<Schedule> schedules = {
      {"_2x.yaml", 24, {16, 22}, 1}, {"_20e.yaml", 20, {16, 19}, 1}, {"_mstrain_3x.yaml", 12, {9, 11}, 3}};
  for (const std::string& file : shipped_configs()) {
    for (const Schedule& schedule : schedules) {
      if (!ends_with(file, schedule.ending)) continue;
      const ConfigNode cfg = load_config(file);
      EXPECT_EQ(cfg["runner"].get<int64_t>("max_epochs"), schedule.epochs) << file;
      EXPECT_EQ(cfg["lr_config"].get<std::vector<int64_t>>("step"), schedule.steps) << file;
      EXPECT_EQ(cfg["data"]["train"].get("times", int64_t{1}), schedule.times) << file;
    }
  }
}

TEST(ShippedConfigs, MultiScaleTrainingDrawsFromARange) {
  const auto resize = [](const std::string& file) { return load_config(file)["train_pipeline"].at(2); };
  const auto scales = [&](const std::string& file) {
    return resize(file).get<std::vector<std::vector<int64_t>>>("img_scale");
  };
  using Scales = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(scales("configs/mask_rcnn_r50_mstrain_3x.yaml"), (Scales{{1333, 640}, {1333, 800}}));
  EXPECT_EQ(scales("configs/htc_r50_mstrain_20e.yaml"), (Scales{{1600, 400}, {1600, 1400}}));
  EXPECT_EQ(resize("configs/htc_r50_mstrain_20e.yaml").get("multiscale_mode", ""), "range");
}

TEST(ShippedConfigs, HtcWithoutSemanticNeedsNoMaps) {
  const ConfigNode cfg = load_config("configs/htc_without_semantic_r50.yaml");
  EXPECT_TRUE(cfg["model"]["roi_head"].find("semantic_head").is_null());
  EXPECT_TRUE(cfg["model"]["roi_head"].find("semantic_roi_extractor").is_null());
  EXPECT_FALSE(cfg["data"]["train"].has("seg_prefix"));
}

// Every value of `expected` must be in `actual`; numbers compare as numbers.
void expect_contains(const ConfigNode& actual, const ConfigNode& expected) {
  const std::string path = expected.path();
  if (expected.is_map()) {
    ASSERT_TRUE(actual.is_map()) << path;
    for (const std::string& key : expected.keys()) {
      ASSERT_TRUE(actual.has(key)) << path << "." << key;
      expect_contains(actual[key], expected[key]);
    }
  } else if (expected.is_list()) {
    ASSERT_TRUE(actual.is_list()) << path;
    ASSERT_EQ(actual.size(), expected.size()) << path;
    for (size_t i = 0; i < expected.size(); ++i) expect_contains(actual.at(i), expected.at(i));
  } else if (expected.is<double>()) {
    EXPECT_EQ(actual.as<double>(), expected.as<double>()) << path;
  } else {
    EXPECT_EQ(actual.to_yaml(), expected.to_yaml()) << path;
  }
}

// Collects the paths of `actual` that `expected` lacks.
void find_extra(const ConfigNode& actual, const ConfigNode& expected, std::vector<std::string>& extra) {
  if (actual.is_map()) {
    for (const std::string& key : actual.keys()) {
      if (expected.has(key)) {
        find_extra(actual[key], expected[key], extra);
      } else {
        extra.push_back(actual[key].path());
      }
    }
  } else if (actual.is_list()) {
    for (size_t i = 0; i < actual.size(); ++i) find_extra(actual.at(i), expected.at(i), extra);
  }
}

TEST(ShippedConfigs, HtcIsTheReferencesRecipe) {
  const ConfigNode ours = load_config("configs/htc_r50.yaml");
  const ConfigNode reference = load_config(
      "tests/configs/htc_r50_fpn_1x_coco.reference.yaml",
      {"data.val.pipeline.1.transforms.1={_delete_: true, type: RandomFlip}",  // flip_ratio has no effect in
                                                                               // testing
       "data.test.pipeline.1.transforms.1={_delete_: true, type: RandomFlip}"});
  expect_contains(ours, reference);
  std::vector<std::string> extra;
  find_extra(ours["model"], reference["model"], extra);
  // The reference leaves these at their defaults, which are the same.
  EXPECT_EQ(extra, (std::vector<std::string>{"model.roi_head.mask_head[1].with_conv_res",
                                             "model.roi_head.mask_head[2].with_conv_res",
                                             "model.train_cfg.rpn.assigner.match_low_quality",
                                             "model.train_cfg.rcnn[0].assigner.match_low_quality",
                                             "model.train_cfg.rcnn[1].assigner.match_low_quality",
                                             "model.train_cfg.rcnn[2].assigner.match_low_quality"}));
}

TEST(ShippedConfigs, TheHalfPrecisionRecipeIsOneLine) {
  const ConfigNode half = load_config("configs/htc_r50_fp16.yaml");
  EXPECT_EQ(half["fp16"].get<double>("loss_scale"), 512.);
  EXPECT_EQ(half.without("fp16").to_yaml(), load_config("configs/htc_r50.yaml").to_yaml());
}

TEST(ShippedConfigs, DataRootMovesEveryPath) {
  for (const std::string& file : shipped_configs()) {
    const ConfigNode cfg = load_config(file);
    if (!cfg.has("data_root")) continue;
    const ConfigNode data = load_config(file, {"data_root=/elsewhere"})["data"];
    for (const char* split : {"train", "val", "test"}) {
      for (const char* key : {"ann_file", "img_prefix", "seg_prefix"}) {
        const std::string path = data[split].get(key, "/elsewhere/");
        EXPECT_TRUE(starts_with(path, "/elsewhere/")) << file << ": " << split << "." << key << ": " << path;
      }
    }
  }
}

TEST(ShippedConfigs, WhatTrainsFromScratchFreezesNothing) {
  for (const std::string& file : shipped_configs()) {
    const ConfigNode model = load_config(file)["model"];
    if (!model["pretrained"].is_null()) continue;
    EXPECT_EQ(model["backbone"].get<int>("frozen_stages"), -1) << file;
    EXPECT_FALSE(model["backbone"].get<bool>("norm_eval")) << file;
  }
}

TEST(ShippedConfigs, TheQuickstartSlimsHtcInWidthOnly) {
  const ConfigNode slim = load_config("configs/quickstart/htc_r18_fp16_shapes.yaml")["model"];
  const ConfigNode full = load_config("configs/htc_r50.yaml")["model"];
  EXPECT_EQ(slim["roi_head"].keys(), full["roi_head"].keys());
  for (const char* heads : {"bbox_head", "mask_head"}) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(slim["roi_head"][heads].at(i).keys(), full["roi_head"][heads].at(i).keys());
      EXPECT_EQ(slim["roi_head"][heads].at(i).get<int>("num_classes"), 3);
    }
  }
}

}  // namespace
}  // namespace osprey
