#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "core/ops/nms.h"
#include "core/ops/nms_boxes.h"
#include "core/ops/nms_kernel.h"
#include "core/ops/row_order.h"

namespace osprey {

DeviceKernel<void(const NmsArgs&, PendingNms&)> nms_kernel("batched_nms");

namespace {

using Rows = std::vector<int64_t>;

SoftNmsMethod read_method(const ConfigNode& cfg) {
  const std::string name = cfg.choice("method", "linear", {"naive", "linear", "gaussian"});
  return name == "naive"      ? SoftNmsMethod::kNaive
         : name == "gaussian" ? SoftNmsMethod::kGaussian
                              : SoftNmsMethod::kLinear;
}

double read_iou_threshold(const ConfigNode& cfg, bool soft) {
  const ConfigNode old_name = cfg.find("iou_thr");  // mmdetection 1.x
  if (!old_name.is_null()) return old_name.as<double>(between(0, 1));
  return soft ? cfg.get("iou_threshold", 0.3, between(0, 1))
              : cfg.get<double>("iou_threshold", between(0, 1));
}

// What is left over, in order, with the scores it has then.
struct Survivors {
  Rows rows;
  std::vector<float> scores;

  void add(int64_t row, float score) {
    rows.push_back(row);
    scores.push_back(score);
  }
  void cut(int64_t max_num) {
    if (max_num <= 0 || static_cast<int64_t>(rows.size()) <= max_num) return;
    rows.resize(max_num);
    scores.resize(max_num);
  }
};

// source f32 (n) or (n, 4).
Tensor take(const Tensor& source, const Rows& rows) {
  Shape shape = source.shape();
  shape[0] = static_cast<int64_t>(rows.size());
  const int64_t width = source.rank() == 1 ? 1 : source.dim(1);
  Tensor taken(shape, DType::kF32);
  float* out = taken.mutable_data<float>();
  for (const int64_t row : rows) out = std::copy_n(source.data<float>() + row * width, width, out);
  return taken;
}

Survivors hard_nms(const Tensor& boxes, const Tensor& scores, Rows rows, const NmsConfig& cfg) {
  const float* score = scores.data<float>();
  const float floor = static_cast<float>(cfg.score_threshold);
  // Without a threshold even a NaN stays in.
  if (cfg.score_threshold > NmsConfig().score_threshold) {
    rows.erase(std::remove_if(rows.begin(), rows.end(), [&](int64_t row) { return !(score[row] > floor); }),
               rows.end());
  }
  const Tensor kept = nms(take(boxes, rows), take(scores, rows), cfg.iou_threshold, cfg.max_num, cfg.offset);
  Survivors survivors;
  for (const int64_t i : kept.to_vector<int64_t>()) survivors.add(rows[i], score[rows[i]]);
  return survivors;
}

Survivors softened_nms(const Tensor& boxes, const Tensor& scores, const Rows& rows, const NmsConfig& cfg) {
  const SoftNmsResult soft = soft_nms(take(boxes, rows), take(scores, rows), cfg.iou_threshold, cfg.sigma,
                                      cfg.min_score, cfg.method, cfg.offset);
  Survivors survivors;
  for (int64_t i = 0; i < soft.inds.numel(); ++i) {
    survivors.add(rows[soft.inds.data<int64_t>()[i]], soft.dets.data<float>()[5 * i + 4]);
  }
  survivors.cut(cfg.max_num);
  return survivors;
}

Survivors apply(const Tensor& boxes, const Tensor& scores, const Rows& rows, const NmsConfig& cfg) {
  return cfg.type == NmsConfig::Type::kSoftNms ? softened_nms(boxes, scores, rows, cfg)
                                               : hard_nms(boxes, scores, rows, cfg);
}

Survivors only_sorted(const Tensor& scores) {
  Survivors all;
  for (const int64_t row : rows_by_score(scores).to_vector<int64_t>())
    all.add(row, scores.data<float>()[row]);
  return all;
}

// Class c moves by c * (max coordinate + 1), so that no two classes overlap (unless every coordinate is
// negative: then the reference's classes may meet, and so do these).
Tensor shifted_by_class(const Tensor& boxes, const Tensor& idxs) {
  Tensor shifted = boxes.clone();
  float* box = shifted.mutable_data<float>();
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < boxes.numel(); ++i) largest = box[i] > largest ? box[i] : largest;
  for (int64_t i = 0; i < boxes.numel(); ++i) {
    box[i] += static_cast<float>(idxs.data<int64_t>()[i / 4]) * (largest + 1);
  }
  return shifted;
}

// For many boxes: the work grows with the square of a class instead of the square of all.
Survivors class_by_class(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, NmsConfig cfg) {
  std::map<int64_t, Rows> rows_of;
  for (int64_t i = 0; i < idxs.numel(); ++i) rows_of[idxs.data<int64_t>()[i]].push_back(i);
  const int64_t max_num = cfg.max_num;
  cfg.max_num = -1;  // counts all classes together
  std::map<int64_t, float> by_row;
  for (const auto& [label, rows] : rows_of) {
    const Survivors survivors = apply(boxes, scores, rows, cfg);
    for (size_t i = 0; i < survivors.rows.size(); ++i) by_row[survivors.rows[i]] = survivors.scores[i];
  }
  Survivors in_row_order, merged;
  for (const auto& [row, score] : by_row) in_row_order.add(row, score);
  const Tensor left = Tensor::from(in_row_order.scores, {-1});
  for (const int64_t i : rows_by_score(left).to_vector<int64_t>()) {
    merged.add(in_row_order.rows[i], in_row_order.scores[i]);
  }
  merged.cut(max_num);
  return merged;
}

NmsResult on_the_host(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, const NmsConfig& cfg) {
  const Tensor host = boxes.to(kCPU).to(DType::kF32), ranks = scores.to(kCPU).to(DType::kF32);
  const Tensor classes = idxs.to(kCPU).to(DType::kI64);
  const Tensor apart = cfg.class_agnostic ? host : shifted_by_class(host, classes);
  Survivors survivors;
  if (cfg.type == NmsConfig::Type::kNone) {
    survivors = only_sorted(ranks);
  } else if (scores.numel() < cfg.split_threshold) {
    Rows all(scores.numel());
    std::iota(all.begin(), all.end(), int64_t{0});
    survivors = apply(apart, ranks, all, cfg);
  } else {
    survivors = class_by_class(apart, ranks, classes, cfg);
  }
  Tensor dets({static_cast<int64_t>(survivors.rows.size()), 5}, DType::kF32);
  float* out = dets.mutable_data<float>();
  for (size_t i = 0; i < survivors.rows.size(); ++i) {
    out = std::copy_n(host.data<float>() + 4 * survivors.rows[i], 4, out);
    *out++ = survivors.scores[i];
  }
  return {dets, Tensor::from(survivors.rows, {-1})};
}

// One look at all pairs whatever their number: suppression within classes, the order of the result and the
// cut at max_num are the same as class by class.
PendingNms on_the_device(const Tensor& boxes, const Tensor& scores, const Tensor& idxs,
                         const NmsConfig& cfg) {
  const Device device = boxes.device();
  const int64_t n = scores.numel();
  PendingNms pending{Tensor({n, 5}, DType::kF32, device), Tensor({n}, DType::kI64, device),
                     Tensor::zeros({1}, DType::kI64, device)};
  if (n == 0) return pending;
  NmsArgs args;
  args.boxes = boxes.to(DType::kF32);
  args.scores = scores.to(DType::kF32).to(device);
  args.idxs = idxs.to(DType::kI64).to(device);
  args.suppress = cfg.type == NmsConfig::Type::kNms;
  args.shift_classes = args.suppress && !cfg.class_agnostic;
  args.within_classes = n >= cfg.split_threshold;
  args.iou_threshold = static_cast<float>(cfg.iou_threshold);
  args.offset = static_cast<float>(cfg.offset);
  args.score_threshold = static_cast<float>(cfg.score_threshold);
  args.max_num = args.suppress ? cfg.max_num : -1;
  nms_kernel(device, args, pending);
  return pending;
}

}  // namespace

NmsConfig NmsConfig::from(const ConfigNode& cfg) {
  NmsConfig nms;
  if (cfg.is_null()) {
    nms.type = Type::kNone;
    return nms;
  }
  const bool soft = cfg.choice("type", "nms", {"nms", "soft_nms"}) == "soft_nms";
  nms.type = soft ? Type::kSoftNms : Type::kNms;
  nms.iou_threshold = read_iou_threshold(cfg, soft);
  nms.split_threshold = cfg.get("split_thr", nms.split_threshold, non_negative());
  nms.max_num = cfg.get("max_num", nms.max_num, at_least(-1));
  nms.offset = cfg.get("offset", nms.offset);
  nms.class_agnostic = cfg.get("class_agnostic", nms.class_agnostic);
  if (nms.offset != 0 && nms.offset != 1) cfg["offset"].fail("must be 0 or 1");
  if (soft) {
    nms.sigma = cfg.get("sigma", nms.sigma, positive());
    nms.min_score = cfg.get("min_score", nms.min_score, finite());
    nms.method = read_method(cfg);
  } else {
    nms.score_threshold = cfg.get("score_threshold", nms.score_threshold, finite());
  }
  return nms;
}

NmsResult batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, const NmsConfig& cfg) {
  return finish_nms({start_batched_nms(boxes, scores, idxs, cfg)}).front();
}

PendingNms start_batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs,
                             const NmsConfig& cfg) {
  require_boxes_and_scores("batched_nms", boxes, scores);
  OSPREY_REQUIRE(idxs.shape() == scores.shape(), "batched_nms: idxs must be (", scores.numel(), "), got ",
                 to_string(idxs.shape()));
  const Device device = boxes.device();
  const bool on_device =
      device.is_cuda() && cfg.type != NmsConfig::Type::kSoftNms && scores.numel() <= kMaxDeviceNmsBoxes;
  if (on_device) return on_the_device(boxes, scores, idxs, cfg);
  const NmsResult kept = on_the_host(boxes, scores, idxs, cfg);
  return {kept.dets.to(device), kept.keep.to(device), Tensor::from<int64_t>({kept.keep.numel()}, {1})};
}

std::vector<NmsResult> finish_nms(const std::vector<PendingNms>& pending) {
  Tensors there;
  for (const PendingNms& one : pending) {
    if (one.count.device().is_cuda()) there.push_back(one.count);
  }
  const auto fetched = there.empty() ? std::vector<int64_t>() : concat(there).to_vector<int64_t>();
  std::vector<NmsResult> results;
  size_t next = 0;
  for (const PendingNms& one : pending) {
    const bool known = !one.count.device().is_cuda();
    const int64_t count = known ? *one.count.data<int64_t>() : fetched[next++];
    results.push_back({one.dets.slice(0, count), one.keep.slice(0, count)});
  }
  return results;
}

}  // namespace osprey
