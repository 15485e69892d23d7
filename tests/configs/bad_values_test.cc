#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "core/base/strings.h"
#include "tests/run_tool.h"

// Values that no training can use, each through `tools/train --check` as a user would meet it: exit code 2
// and one line with place, key, value and what is allowed.
namespace osprey {
namespace {

using testing::Outcome;

constexpr char kConfig[] = "tests/end_to_end/tiny_htc.yaml";

Outcome check(const std::string& arguments) {
  return testing::run_tool("train", "--check --device cpu " + arguments);
}

struct BadValue {
  std::string override_;
  std::string message;  // behind the place
};

// Prints as its name in a failure.
std::ostream& operator<<(std::ostream& out, const BadValue& bad) { return out << bad.override_; }

class BadValueTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, IsRefusedInOneLine) {
  const auto& [override_, message] = GetParam();
  const Outcome outcome = check(str_cat(kConfig, " --cfg-options \"", override_, "\""));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_EQ(outcome.output, str_cat("--cfg-options ", override_, ": ", message, "\n"));
}

const std::vector<BadValue>& model_values() {
  static const std::vector<BadValue> values = {
      {"model.backbone.base_channels=0", "model.backbone.base_channels: must be > 0, got 0"},
      {"model.backbone.base_channels=-8", "model.backbone.base_channels: must be > 0, got -8"},
      {"model.backbone.frozen_stages=-2", "model.backbone.frozen_stages: must be >= -1, got -2"},
      {"model.backbone.strides=[1,2,0,2]", "model.backbone.strides[2]: must be > 0, got 0"},
      {"model.backbone.out_indices=[]",
       "model.backbone.out_indices: must not be an empty list; each element must be >= 0"},
      {"model.neck.out_channels=0", "model.neck.out_channels: must be > 0, got 0"},
      {"model.neck.num_outs=0", "model.neck.num_outs: must be > 0, got 0"},
      {"model.neck.in_channels=[8,16,-32,64]", "model.neck.in_channels[2]: must be > 0, got -32"},
      {"model.rpn_head.feat_channels=0", "model.rpn_head.feat_channels: must be > 0, got 0"},
      {"model.rpn_head.anchor_generator.scales=[]",
       "model.rpn_head.anchor_generator.scales: must not be an empty list; each element must be > 0"},
      {"model.rpn_head.anchor_generator.ratios=[0]",
       "model.rpn_head.anchor_generator.ratios[0]: must be > 0, got 0"},
      {"model.rpn_head.bbox_coder.target_stds=[1,1,0,1]",
       "model.rpn_head.bbox_coder.target_stds[2]: must be > 0, got 0"},
      {"model.rpn_head.loss_cls.loss_weight=nan",
       "model.rpn_head.loss_cls.loss_weight: must be >= 0, got nan"},
      {"model.rpn_head.loss_bbox.loss_weight=-1",
       "model.rpn_head.loss_bbox.loss_weight: must be >= 0, got -1"},
      {"model.roi_head.stage_loss_weights=[1,-1,1]",
       "model.roi_head.stage_loss_weights[1]: must be >= 0, got -1"},
      {"model.roi_head.num_stages=0", "model.roi_head.num_stages: must be > 0, got 0"},
      {"model.roi_head.bbox_roi_extractor.roi_layer.output_size=0",
       "model.roi_head.bbox_roi_extractor.roi_layer.output_size: must be > 0, got 0"},
      {"model.roi_head.bbox_roi_extractor.featmap_strides=[4,0]",
       "model.roi_head.bbox_roi_extractor.featmap_strides[1]: must be > 0, got 0"},
      {"model.roi_head.bbox_head.1.roi_feat_size=0",
       "model.roi_head.bbox_head[1].roi_feat_size: must be > 0, got 0"},
      {"model.roi_head.bbox_head.0.fc_out_channels=0",
       "model.roi_head.bbox_head[0].fc_out_channels: must be > 0, got 0"},
      {"model.roi_head.bbox_head.0.num_classes=0",
       "model.roi_head.bbox_head[0].num_classes: must be > 0, got 0"},
      {"model.roi_head.mask_head.2.conv_out_channels=0",
       "model.roi_head.mask_head[2].conv_out_channels: must be > 0, got 0"},
      {"model.roi_head.mask_head.2.num_convs=-1",
       "model.roi_head.mask_head[2].num_convs: must be >= 0, got -1"},
      {"model.roi_head.semantic_head.num_ins=0", "model.roi_head.semantic_head.num_ins: must be > 0, got 0"},
      {"model.roi_head.semantic_head.loss_weight=inf",
       "model.roi_head.semantic_head.loss_weight: must be >= 0, got inf"},
      {"model.train_cfg.rpn.assigner.pos_iou_thr=7",
       "model.train_cfg.rpn.assigner.pos_iou_thr: must be in [0, 1], got 7"},
      {"model.train_cfg.rpn.assigner.pos_iou_thr=nan",
       "model.train_cfg.rpn.assigner.pos_iou_thr: must be in [0, 1], got nan"},
      {"model.train_cfg.rpn.assigner.neg_iou_thr=[0.1,3]",
       "model.train_cfg.rpn.assigner.neg_iou_thr[1]: must be in [0, 1], got 3"},
      {"model.train_cfg.rpn.sampler.num=0", "model.train_cfg.rpn.sampler.num: must be > 0, got 0"},
      {"model.train_cfg.rpn.sampler.pos_fraction=2",
       "model.train_cfg.rpn.sampler.pos_fraction: must be in [0, 1], got 2"},
      {"model.train_cfg.rpn.sampler.neg_pos_ub=-3",
       "model.train_cfg.rpn.sampler.neg_pos_ub: must be >= -1, got -3"},
      {"model.train_cfg.rpn.allowed_border=-5", "model.train_cfg.rpn.allowed_border: must be >= -1, got -5"},
      {"model.train_cfg.rpn_proposal.nms_pre=0",
       "model.train_cfg.rpn_proposal.nms_pre: must be > 0, or -1 for all, got 0"},
      {"model.train_cfg.rpn_proposal.nms_pre=-7",
       "model.train_cfg.rpn_proposal.nms_pre: must be >= -1, got -7"},
      {"model.train_cfg.rpn_proposal.max_per_img=0",
       "model.train_cfg.rpn_proposal.max_per_img: must be > 0, got 0"},
      {"model.train_cfg.rpn_proposal.nms.iou_threshold=1.5",
       "model.train_cfg.rpn_proposal.nms.iou_threshold: must be in [0, 1], got 1.5"},
      {"model.train_cfg.rcnn.1.mask_size=0", "model.train_cfg.rcnn[1].mask_size: must be > 0, got 0"},
      {"model.test_cfg.rcnn.score_thr=5", "model.test_cfg.rcnn.score_thr: must be in [0, 1], got 5"},
      {"model.test_cfg.rcnn.max_per_img=-2", "model.test_cfg.rcnn.max_per_img: must be >= -1, got -2"},
  };
  return values;
}

const std::vector<BadValue>& run_values() {
  static const std::vector<BadValue> values = {
      {"optimizer.lr=-0.1", "optimizer.lr: must be >= 0, got -0.1"},
      {"optimizer.lr=inf", "optimizer.lr: must be >= 0, got inf"},
      {"optimizer.weight_decay=-1", "optimizer.weight_decay: must be >= 0, got -1"},
      {"optimizer={_delete_: true, type: SGD, lr: 0.1, momentum: -0.9}",
       "optimizer.momentum: must be in [0, 1], got -0.9"},
      {"optimizer.paramwise_cfg={bias_lr_mult: -1}",
       "optimizer.paramwise_cfg.bias_lr_mult: must be >= 0, got -1"},
      {"optimizer_config.grad_clip.max_norm=0", "optimizer_config.grad_clip.max_norm: must be > 0"},
      {"fp16.loss_scale=0", "fp16.loss_scale: a loss scale must be finite and >= 2^-24"},
      {"lr_config.warmup_iters=-1", "lr_config.warmup_iters: must be >= 0, got -1"},
      {"lr_config.warmup_ratio=2", "lr_config.warmup_ratio: must be in [0, 1], got 2"},
      {"lr_config.min_lr=-1", "lr_config.min_lr: must be >= 0, got -1"},
      {"lr_config={_delete_: true, policy: step, step: [-1]}", "lr_config.step[0]: must be >= 0, got -1"},
      {"lr_config={_delete_: true, policy: step, step: 2, gamma: 0}", "lr_config.gamma: must be > 0, got 0"},
      {"runner.max_epochs=0", "runner.max_epochs: must be > 0, got 0"},
      {"runner.max_epochs=-3", "runner.max_epochs: must be > 0, got -3"},
      {"checkpoint_config.interval=0", "checkpoint_config.interval: must be > 0, or -1, got 0"},
      {"checkpoint_config.max_keep_ckpts=0", "checkpoint_config.max_keep_ckpts: must be > 0, or -1, got 0"},
      {"evaluation.interval=0", "evaluation.interval: must be > 0, got 0"},
      {"evaluation.iou_thrs=[2.0]", "evaluation.iou_thrs[0]: must be in [0, 1], got 2"},
      {"log_config.interval=0", "log_config.interval: must be > 0, got 0"},
      {"workflow=[[train,0]]", "workflow[0][1]: must be > 0, got 0"},
      {"seed=-1", "seed: must be >= 0, got -1"},
      {"data.samples_per_gpu=0", "data.samples_per_gpu: must be in [1, 4096], got 0"},
      {"data.samples_per_gpu=1e11", "data.samples_per_gpu: must be in [1, 4096], got 100000000000"},
      {"data.workers_per_gpu=-1", "data.workers_per_gpu: must be in [0, 256], got -1"},
      {"data.train.num_images=0", "data.train.num_images: must be > 0, got 0"},
      {"train_pipeline.2.img_scale=[0,64]",
       "data.train.pipeline[2].img_scale: an image scale is two positive numbers of pixels, e.g. [1333, "
       "800]"},
      {"train_pipeline.3.flip_ratio=1.5", "data.train.pipeline[3].flip_ratio: must be in [0, 1], got 1.5"},
      {"train_pipeline.5.size_divisor=-32", "data.train.pipeline[5].size_divisor: must be >= 0, got -32"},
      {"train_pipeline.6.scale_factor=0", "data.train.pipeline[6].scale_factor: must be > 0, got 0"},
      {"custom_hooks=[{type: EMAHook, momentum: 2}]", "custom_hooks[0].momentum: must be in [0, 1], got 2"},
  };
  return values;
}

std::string name_of(const ::testing::TestParamInfo<BadValue>& info) {
  std::string name = str_cat(info.index, "_", split(info.param.override_, '=')[0]);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Model, BadValueTest, ::testing::ValuesIn(model_values()), name_of);
INSTANTIATE_TEST_SUITE_P(Run, BadValueTest, ::testing::ValuesIn(run_values()), name_of);

// What fits alone but not together shows in the rehearsal of one iteration.
class RehearsalTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(RehearsalTest, NamesTheLayerThatDoesNotFit) {
  const auto& [override_, part] = GetParam();
  const Outcome outcome = check(str_cat(kConfig, " --cfg-options \"", override_, "\""));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  const std::string last = outcome.output.substr(0, outcome.output.size() - 1);
  EXPECT_EQ(last.find('\n'), std::string::npos) << "more than one line: " << outcome.output;
}

const std::vector<BadValue>& misfits() {
  static const std::vector<BadValue> values = {
      {"model.neck.in_channels=[8,16,32,63]", "neck.lateral_convs.3.conv: takes 63 channels, gets 64"},
      {"model.rpn_head.in_channels=8", "rpn_head.rpn_conv: takes 8 channels, gets 16"},
      {"model.roi_head.bbox_roi_extractor.out_channels=8", "roi_head.bbox_roi_extractor"},
      {"model.roi_head.bbox_head.0.roi_feat_size=5", "roi_head.bbox_head.0.shared_fcs.0: takes "},
      {"model.roi_head.mask_head.1.in_channels=8", "roi_head.mask_head.1"},
      {"model.train_cfg.rcnn.0.mask_size=14",
       "roi_head.mask_head.0: predicts masks of 28 x 28, but mask_size of train_cfg.rcnn is 14 x 14"},
      {"model.roi_head.semantic_head.num_ins=2", "roi_head.semantic_head"},
      {"model.train_cfg=null", "training needs model.train_cfg"},
      {"model.roi_head.semantic_head.num_classes=5",
       "but model.roi_head.semantic_head.num_classes is 5 (--cfg-options "
       "model.roi_head.semantic_head.num_classes=5) and ignore_label 255"},
      {"train_pipeline.8.keys=[img,gt_bboxes,gt_labels,gt_semantic_seg]", "gt_masks"},
      {"train_pipeline.8.keys=[img,gt_bboxes,gt_labels,gt_masks]", "gt_semantic_seg"},
      {"train_pipeline.6.scale_factor=0.25", "gt_semantic_seg is "},
      {"evaluation.metric=bbx", "metric 'bbx' is not supported"},
      {"evaluation.metric_items=[mAPP]", "mAPP"},
      {"evaluation.proposal_nums=[100]", "must be three ascending numbers"},
      {"evaluation.save_best=foo", "evaluation.save_best: "},
  };
  return values;
}

INSTANTIATE_TEST_SUITE_P(Misfits, RehearsalTest, ::testing::ValuesIn(misfits()), name_of);

TEST(Check, AcceptsWhatTrains) {
  const Outcome outcome = check(kConfig);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("the config and everything it names are fine"), std::string::npos);
}

TEST(Check, RefusesFlagsWithoutMeaning) {
  for (const auto& [flags, message] : std::vector<std::pair<std::string, std::string>>{
           {"--seed -1", "--seed: must be >= 0, got -1\n"},
           {"--gpus 0", "--gpus 0: 1 is the only choice; --device cpu uses none\n"}}) {
    const Outcome outcome = check(str_cat(kConfig, " ", flags));
    EXPECT_EQ(outcome.exit_code, 2) << flags;
    EXPECT_EQ(outcome.output, message);
  }
}

// From a file, the line is named and shown.
TEST(Check, NamesTheLineOfAFile) {
  const std::string folder = ::testing::TempDir() + "osprey_bad_values";
  std::filesystem::create_directories(folder);
  const std::string base = std::filesystem::absolute(kConfig).string();
  std::ofstream(folder + "/x.yaml") << "_base_: " << base << "\nmodel:\n  neck: {out_channels: 0}\n";
  const Outcome outcome = check(folder + "/x.yaml");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, folder + "/x.yaml:3:24: model.neck.out_channels: must be > 0, got 0\n" +
                                "    3 |   neck: {out_channels: 0}\n");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace osprey
