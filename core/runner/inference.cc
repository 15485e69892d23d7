#include "core/runner/inference.h"

#include "core/data/test_loader.h"
#include "core/runner/progress_bar.h"

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

}  // namespace

std::vector<DetectionResult> run_inference(Detector& model, std::shared_ptr<const Dataset> dataset,
                                           const InferenceOptions& options) {
  const EvalMode eval(model);
  const NoGradGuard no_grad;
  const int64_t total = dataset->size();
  std::vector<DetectionResult> results(static_cast<size_t>(total));
  ProgressBar bar(total);
  TestLoader loader(std::move(dataset), options.workers);
  TestItem item;
  const Device device = model.device();
  for (int64_t done = 0; done < total && loader.next(item);) {
    for (Batch& batch : item.augmentations) batch.img = batch.img.to(device);
    std::vector<DetectionResult> found = item.augmentations.size() == 1
                                             ? model.simple_test(item.augmentations[0], options.rescale)
                                             : model.aug_test(item.augmentations, options.rescale);
    OSPREY_REQUIRE(found.size() == 1, "the detector returned ", found.size(), " results for one image");
    results[static_cast<size_t>(item.index)] = std::move(found[0]);
    ++done;
    if (options.show_progress) bar.update(done);
    if (options.on_progress) options.on_progress(done, total);
  }
  return results;
}

}  // namespace osprey
