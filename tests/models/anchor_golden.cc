#include "tests/models/anchor_golden.h"

#include "core/bbox/bbox_coder.h"
#include "models/dense_heads/anchor_targets.h"

namespace osprey::testing {

void expect_golden_anchor_targets(const ConfigNode& head_cfg, const ConfigNode& train_cfg,
                                  const std::vector<MapSize>& featmap_sizes, const Batch& batch,
                                  const Golden& golden, const LevelName& name, const std::string& num_total) {
  const auto generator = build<AnchorGeneratorBase>(head_cfg["anchor_generator"]);
  const auto coder = build<BBoxCoder>(head_cfg["bbox_coder"]);
  const auto num_classes = head_cfg.get<int64_t>("num_classes", 1);
  const bool rpn = head_cfg.find("num_classes").is_null();
  const bool sampling = head_cfg["loss_cls"].get<std::string>("type") == "CrossEntropyLoss";
  const AnchorTargetMaker maker(train_cfg, num_classes, sampling, head_cfg.get("reg_decoded_bbox", false));
  const AnchorTargets targets = maker.make(generator->grid_anchors(featmap_sizes), *generator, featmap_sizes,
                                           *coder, batch, /*class_agnostic=*/rpn);
  for (const auto& [what, levels] : {std::pair<std::string, const Tensors&>{"labels", targets.labels},
                                     {"label_weights", targets.label_weights},
                                     {"bbox_targets", targets.bbox_targets},
                                     {"bbox_weights", targets.bbox_weights}}) {
    for (size_t level = 0; level < levels.size(); ++level) {
      const std::string tensor = name(what, level);
      if (!golden.has(tensor)) continue;
      const Tensor& expected = golden.tensor(tensor);
      EXPECT_TENSOR_NEAR(levels[level].reshape(expected.shape()), expected, 1e-6, 1e-5) << tensor;
    }
  }
  EXPECT_TENSOR_EQ(Tensor::from<int64_t>({targets.num_total_pos, targets.num_total_neg}, {2}),
                   golden.tensor(num_total));
}

}  // namespace osprey::testing
