#include "core/runner/inference.h"

#include <algorithm>

#include "core/data/test_loader.h"
#include "core/parallel/communicator.h"
#include "core/runner/progress_bar.h"
#include "core/runner/result_bytes.h"

namespace osprey {
namespace {

class EvalMode {
 public:
  explicit EvalMode(Module& model) : model_(model), was_training_(model.training()) { model.train(false); }
  ~EvalMode() { model_.train(was_training_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  Module& model_;
  bool was_training_;
};

// Rank r had images r, r + size, ...
std::vector<DetectionResult> in_order(std::vector<DetectionResult> own, int64_t total) {
  Communicator& ranks = world();
  if (ranks.size() == 1) return own;
  const std::vector<std::string> parts = ranks.gather(pack(own));
  if (parts.empty()) return {};
  std::vector<DetectionResult> all(static_cast<size_t>(total));
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    size_t image = rank;
    for (DetectionResult& result : unpack_results(parts[rank])) {
      all[image] = std::move(result);
      image += parts.size();
    }
  }
  return all;
}

}  // namespace

std::vector<DetectionResult> run_inference(Detector& model, std::shared_ptr<const Dataset> dataset,
                                           const InferenceOptions& options) {
  const EvalMode eval(model);
  const NoGradGuard no_grad;
  const int64_t total = dataset->size();
  std::vector<DetectionResult> results;  // of this rank
  ProgressBar bar(total);
  TestLoader loader(std::move(dataset), options.workers, world().rank(), world().size());
  TestItem item;
  const Device device = model.device();
  while (static_cast<int64_t>(results.size()) < loader.size() && loader.next(item)) {
    for (Batch& batch : item.augmentations) batch.img = batch.img.to(device);
    std::vector<DetectionResult> found = item.augmentations.size() == 1
                                             ? model.simple_test(item.augmentations[0], options.rescale)
                                             : model.aug_test(item.augmentations, options.rescale);
    OSPREY_REQUIRE(found.size() == 1, "the detector returned ", found.size(), " results for one image");
    results.push_back(std::move(found[0]));
    const int64_t done = std::min(static_cast<int64_t>(results.size()) * world().size(), total);
    if (options.show_progress && world().is_main()) bar.update(done);
    if (options.on_progress) options.on_progress(done, total);
  }
  return in_order(std::move(results), total);
}

}  // namespace osprey
