#include "tools/kept_iteration.h"

#include <omp.h>

#include <cstdlib>

#include "core/backend/dense_math.h"
#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/runner/load_weights.h"
#include "tools/detector_config.h"
#include "tools/plugins/plugins.h"

namespace osprey {
namespace {

// Sums on the CPU are cut where the threads' shares end.
void use_threads_of(const IterationRecord& record) {
  if (std::getenv("OMP_NUM_THREADS") == nullptr && record.num_threads > 0)
    omp_set_num_threads(record.num_threads);
}

void use_policy_of(const IterationDump& dump) {
  DenseMathPolicy& policy = dense_math_policy();
  policy.deterministic = dump.record.deterministic;
  policy.benchmark = dump.config.get("cudnn_benchmark", false);
  policy.allow_tf32 = dump.config.get("allow_tf32", false);
}

std::string first_difference(const IterationRecord& record, Device device, DType precision) {
  if (precision != record.precision) return str_cat("logged in ", record.precision, ", now in ", precision);
  if (record.num_ranks > 1)
    return str_cat("logged over ", record.num_ranks, " processes, this is the batch of one");
  if (record.device != str_cat(device)) return str_cat("logged on ", record.device, ", now on ", device);
  if (device.is_cuda() && !record.deterministic) return "a GPU adds in another order every time";
  if (record.num_threads != num_threads())
    return str_cat("logged with ", record.num_threads, " threads, now with ", num_threads());
  return "";
}

std::unique_ptr<Detector> build_model(const IterationDump& dump, const std::string& folder) {
  std::unique_ptr<Detector> model = build<Detector>(without_pretrained(detector_config(dump.config)));
  model->assign_paths();
  const LoadReport report = match_weights(*model, dump.weights);
  if (!report.clean())
    throw UserError(folder + ": its weights do not fit its model: " + summarise_mismatch(report));
  return model;
}

}  // namespace

KeptIteration::KeptIteration(const std::string& folder, Device device, std::optional<DType> precision)
    : dump_(read_iteration_dump(folder)) {
  dump_.config = load_plugins(dump_.config);
  const DType used = precision.value_or(dump_.record.precision);
  use_threads_of(dump_.record);
  use_policy_of(dump_);
  why_not_ = first_difference(dump_.record, device, used);
  model_ = build_model(dump_, folder);
  model_->to(device);
  model_->train(true);
  weights_ = std::make_unique<MasterWeights>(*model_);
  if (used != DType::kF32) weights_->convert_model(used, dump_.record.keep_fp32);
  fire_drill_ = FireDrill(dump_.config.find("debug"));
  dump_.batch.img = dump_.batch.img.to(device);
}

Scene KeptIteration::scene() {
  const IterationRecord& record = dump_.record;
  return {*model_,      *weights_, dump_.batch,          fire_drill_, record.iter, record.loss_factor,
          dump_.config, record.lr, record.last_committed};
}

}  // namespace osprey
